"""Own pasts for tests: a symbol that learns a score at a time, and a shelf that can fail."""

import anyio.lowlevel

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed

BTC = Symbol("BTCUSDT")
MARKET = "wss://stream.test"


class LearningFeed(SymbolFeed):
    """The feed of a symbol whose minutes a test makes up."""

    def __init__(self, symbol: Symbol = BTC) -> None:
        super().__init__(symbol, FeedMemoryLimit.shared_by(20))

    @property
    def scores(self) -> list[float]:
        return self.pasts.scores["flood"].scores().tolist()

    def learn(self, *scores: float) -> None:
        for score in scores:
            self.pasts.scores["flood"].add(score)


class FailingShelf:
    """A shelf of which every use fails, or none any more."""

    market = MARKET

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.records: dict[Symbol, bytes] = {}

    async def read(self, symbol: Symbol) -> bytes | None:
        await self._use()
        return self.records.get(symbol)

    async def write(self, symbol: Symbol, record: bytes) -> None:
        await self._use()
        self.records[symbol] = record

    async def tidy(self) -> None:
        await self._use()

    async def _use(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
