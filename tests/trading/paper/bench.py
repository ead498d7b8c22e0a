"""A broker on paper, the matcher that its orders meet when time passes, and a market that a test prints."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Outcome, Side, TimeInForce, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import SymbolMatcher, matcher_token
from mcp_binance_server.trading.paper.tables import PaperRow
from support.clock import FakeClock
from trading.paper.displayed import Displayed, usual_book

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"XY": Decimal(1000), "AB": Decimal(10)}
LATENCY_MS = 150
STEP = Quantity(Decimal(1))


class MatchingClock(FakeClock):
    """Whoever sleeps lets the market move on: the one matcher works when time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.matcher: SymbolMatcher | None = None
        self.met_ms: list[int] = []

    async def sleep_ms(self, duration_ms: float) -> None:
        await super().sleep_ms(duration_ms)
        if self.matcher is not None:
            await self.matcher.look()
            if await self.matcher.meet((), self.now_ms()):
                self.met_ms.append(self.now_ms())


class Bench:
    """A broker, the market that its orders meet, and what its gate and its bell were asked."""

    def __init__(self, exchange: PaperExchange, clock: MatchingClock) -> None:
        self.exchange, self.clock = exchange, clock
        self.book: Displayed = usual_book()
        self.gates: list[int] = []
        self.prints = 0
        self.woken = 0

    @property
    def broker(self) -> PaperBroker:
        async def pair_of(_symbol: Symbol) -> Pair:
            return PAIR

        def wake() -> None:
            self.woken += 1

        return PaperBroker("paper", self.exchange, pair_of, Venue("mainnet", "paper", simulated=True), self.clock, wake)

    async def open_market(self) -> None:
        token = await matcher_token(self.exchange.store, "me", self.clock.now_ms())
        assert token is not None
        self.clock.matcher = SymbolMatcher(SYMBOL, PAIR, self.exchange.store, START, USUAL, token, self.book, STEP)

    async def gate(self) -> None:
        self.gates.append(len(await self.exchange.orders("paper", SYMBOL, 9)))

    async def place(
        self,
        name: str,
        side: Side,
        price: int,
        quantity: int = 2,
        *,
        kind: Kind = "LIMIT",
        force: TimeInForce = "GTC",
    ) -> Outcome:
        amounts = Quantity(Decimal(quantity)), Price(Decimal(price))
        return await self.broker.place(WrittenOrder(name, SYMBOL, side, kind, force, *amounts), self.gate)

    async def free(self) -> dict[str, Decimal]:
        return {each.asset: each.free for each in (await self.exchange.account("paper")).balances}

    async def balances(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Return what is free and what is locked."""
        return {each.asset: (each.free, each.locked) for each in (await self.exchange.account("paper")).balances}

    async def printed(self, price: int, quantity: int = 50, *, buys: bool, is_replay: bool = False) -> None:
        """Let one trade reach the orders; who took `buys`, or sells."""
        await self.met(self.trade(price, quantity, buys=buys), is_replay=is_replay)

    def trade(self, price: int, quantity: int = 50, *, buys: bool) -> Trade:
        self.prints += 1
        amounts = Price(Decimal(price)), Quantity(Decimal(quantity))
        return Trade(self.prints, *amounts, self.clock.now_ms(), not buys, self.prints, self.prints)

    async def met(self, *trades: Trade, is_replay: bool = False) -> None:
        matcher = self.matcher
        await matcher.look()
        await matcher.meet(trades, self.clock.now_ms(), is_replay=is_replay)

    @property
    def matcher(self) -> SymbolMatcher:
        assert self.clock.matcher is not None
        return self.clock.matcher

    async def row(self, name: str) -> PaperRow:
        found = await self.exchange.find("paper", SYMBOL, name)
        assert found is not None
        return found

    async def status(self, *names: str) -> list[str]:
        return [(await self.row(name)).order.status for name in names]


@asynccontextmanager
async def opened_bench(folder: Path) -> AsyncGenerator[Bench]:
    """Open a file, a broker on it, and the market."""
    clock = MatchingClock()
    async with opened_store(folder) as store:
        made = Bench(PaperExchange(store, START, LATENCY_MS, clock.now_ms), clock)
        await made.open_market()
        yield made
