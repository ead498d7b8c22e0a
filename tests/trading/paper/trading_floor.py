"""Orders on paper on a live market that a test moves: simulated streams, the real file, and the feed between them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import anyio

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side, TimeInForce, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.paper_feed import PaperFeed
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import MatchingRight
from mcp_binance_server.trading.paper.store import PaperStore
from support.stepped import LiveMarket, live_market

ValueT = TypeVar("ValueT")

BTC = Symbol("BTCUSDT")
START = {"USDT": Decimal(1_000_000), "BTC": Decimal(10)}
LATENCY_MS = 150


async def nothing_sent() -> None:
    """Stand in for the desk's mark that an order leaves."""


@dataclass
class TradingFloor:
    """A live market, an account on paper, and what the feed has told about it."""

    market: LiveMarket
    store: PaperStore
    told: list[str] = field(default_factory=list[str])
    right: MatchingRight | None = None

    @property
    def hub(self) -> Hub:
        hub = self.market.app.context.live.hub
        assert hub is not None
        return hub

    @property
    def exchange(self) -> PaperExchange:
        time = self.market.app.context.live.time
        return PaperExchange(self.store, START, LATENCY_MS, time.now_ms)

    def feed(self, owner: str = "me", hub: Hub | None = None) -> PaperFeed:
        context = self.market.app.context

        async def tell(accounts: frozenset[str]) -> None:
            self.told += sorted(accounts)

        return PaperFeed(
            hub or self.hub,
            context.live.client,
            context.market.directory,
            self.exchange,
            context.live.time,
            self.market.clock,
            tell,
            owner=owner,
            right=self.right,
        )

    def broker(self, feed: PaperFeed | None = None, account: str = "paper") -> PaperBroker:
        async def pair_of(_symbol: Symbol) -> Pair:
            return Pair("BTC", "USDT")

        venue = Venue("mainnet", "paper", simulated=True)
        wake = (lambda: None) if feed is None else feed.wake
        return PaperBroker(account, self.exchange, pair_of, venue, self.market.clock, wake)

    async def run(self, seconds: float, *, is_silent: bool = False) -> None:
        """Let simulated time pass, slowly enough for the file's thread; the exchange may say nothing meanwhile."""
        wake = (lambda: None) if is_silent else self.market.exchange.hub.wake
        for _ in range(round(seconds * 20)):
            await self.market.clock.run(50, wake, step_ms=50)
            await asyncio.sleep(0.004)  # noqa: TID251 - the thread is real

    async def until(self, done: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
        """Let time pass until something is so."""
        for _ in range(round(seconds * 10)):
            if await done():
                return
            await self.run(0.1)
        raise AssertionError("it did not come to pass")

    async def answered(self, ask: Awaitable[ValueT]) -> ValueT:
        """Ask, and let time pass until there is an answer."""
        answers: list[ValueT] = []

        async def asked() -> None:
            answers.append(await ask)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked)
            while not answers:
                await self.run(0.05)
        return answers[0]

    async def in_step(self) -> None:
        """Let time pass until the book of the one symbol can be relied on."""

        async def is_live() -> bool:
            feed = self.hub.peek(BTC)
            return feed is not None and feed.is_live

        await self.until(is_live)

    def touch(self, side: Side) -> Price:
        feed = self.hub.peek(BTC)
        assert feed is not None
        level = feed.book.best_bid if side == "BUY" else feed.book.best_ask
        assert level is not None
        return level.price


def order(
    name: str,
    side: Side,
    price: Decimal,
    quantity: str = "0.01",
    *,
    kind: Kind = "LIMIT",
    force: TimeInForce = "GTC",
    stop: Decimal | None = None,
) -> WrittenOrder:
    amounts = Quantity(Decimal(quantity)), Price(price.quantize(Decimal("0.01")))
    return WrittenOrder(name, BTC, side, kind, force, *amounts, None if stop is None else Price(stop))


@asynccontextmanager
async def trading_floor(folder: Path) -> AsyncGenerator[TradingFloor]:
    """Open a live market and a file for orders on paper."""
    async with live_market() as market, opened_store(folder) as store:
        yield TradingFloor(market, store)
