"""Order books as they stand now: measured, priced, level by level, and how well each is kept."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.book.metrics import AmountUnit, Taker
from mcp_binance_server.analytics.book.report import BookReport, BookView, CostReport, cost_of, describe_book
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.book import LevelCounts
from mcp_binance_server.feeds.feed import FeedCounts, SymbolFeed
from mcp_binance_server.services.live.service import LiveService

Status = Literal["ok", "degraded", "error"]

# A hundred levels a side are the most that the cheapest depth call gives; what a live book holds costs nothing.
CHEAP_LEVELS = 100
DEEP_LEVELS = 1_000


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """How one symbol's stream is doing."""

    symbol: Symbol
    status: Status
    state: str
    age_ms: int | None
    lag_ms: int
    readers: int
    levels: LevelCounts
    last_update_id: int
    counts: FeedCounts


@dataclass(frozen=True, slots=True)
class HubHealth:
    """Every stream, the connections they share, and the weight spent this minute."""

    feeds: tuple[FeedHealth, ...]
    most: int
    connections: int
    reconnects: int
    weight_used: int
    weight_limit: int
    at_ms: int
    streams_off: bool


@dataclass(frozen=True, slots=True)
class OrderBookService:
    """What the order-book tools ask."""

    live: LiveService

    async def metrics(self, text: str) -> tuple[BookView, BookReport]:
        """Describe the book of the symbol a caller wrote; the first time from a hundred levels, then from all known."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, DEEP_LEVELS if watch.live else CHEAP_LEVELS)
        return view, describe_book(view.snapshot, thresholds=view.thresholds)

    async def levels(self, text: str, count: int) -> BookView:
        """Return the best levels of both sides."""
        async with self.live.watching(text) as watch:
            return await self.live.book(watch, count)

    async def cost(self, text: str, amount: Decimal, side: Taker, unit: AmountUnit) -> tuple[BookView, CostReport]:
        """Price a market order; when a hundred levels cannot fill it, a thousand are asked for."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, DEEP_LEVELS if watch.live else CHEAP_LEVELS)
            report = cost_of(view.snapshot, float(amount), side, unit)
            if not report.walk.complete and not view.is_live:
                view = await self.live.book(watch, DEEP_LEVELS)
                report = cost_of(view.snapshot, float(amount), side, unit)
        return view, report

    async def health(self) -> HubHealth:
        """Report on every watched symbol."""
        hub, budget = self.live.hub, self.live.client.caller.budget
        now_ms = self.live.time.now_ms()
        sockets = hub.sockets() if hub else []
        dead_ms = self.live.thresholds.dead_ms
        return HubHealth(
            feeds=tuple(_health(each.feed, each.readers, now_ms, dead_ms) for each in hub.watched()) if hub else (),
            most=hub.most if hub else 0,
            connections=sum(socket.is_open for socket in sockets),
            reconnects=sum(socket.counts.lost for socket in sockets),
            weight_used=await budget.used(),
            weight_limit=budget.limit,
            at_ms=now_ms,
            streams_off=hub is None,
        )


def _health(feed: SymbolFeed, readers: int, now_ms: int, dead_ms: int) -> FeedHealth:
    age_ms = feed.age_ms(now_ms) if feed.book_ms else None
    status: Status = "degraded"
    if feed.is_live and age_ms is not None:
        status = "ok" if age_ms <= dead_ms and not feed.is_late(dead_ms) else "degraded"
    elif feed.state == "closed" or (age_ms is not None and age_ms > 6 * dead_ms):
        status = "error"
    return FeedHealth(
        symbol=feed.symbol,
        status=status,
        state=feed.state,
        age_ms=age_ms,
        lag_ms=feed.lag_ms,
        readers=readers,
        levels=feed.book.level_counts,
        last_update_id=feed.book.last_update_id,
        counts=feed.counts,
    )
