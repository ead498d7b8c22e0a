"""Current books, streamed or requested, with their age."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.impact import IlliquidityRank, illiquidity
from mcp_binance_server.analytics.book.metrics import AmountUnit, Taker
from mcp_binance_server.analytics.book.report import (
    BookReport,
    BookView,
    CostReport,
    NoFeed,
    cost_of,
    describe_book,
    quiet_after_ms,
)
from mcp_binance_server.analytics.metric import Unknown
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.price_reading import PriceReading, read_price
from mcp_binance_server.domain.reference_price import ANY_RANGE, TakerRange
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.book import LevelCounts
from mcp_binance_server.feeds.change_times import ChangeTimes
from mcp_binance_server.feeds.feed import FeedCounts, SymbolFeed
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.readers import FINISHED_LEVELS, Need
from mcp_binance_server.services.live.microprices import Microprices
from mcp_binance_server.services.market.service import MarketService

Status = Literal["ok", "degraded", "error"]

# Levels per side, as many as the cheapest depth call returns. The levels of a live book cost nothing.
CHEAP_LEVELS = 100
DEEP_LEVELS = 1_000
# 90 whole days and the current day. The portfolio requests the same number of candles, so that both share an answer.
DAILY_ROWS = 91


@dataclass(frozen=True, slots=True)
class Watch:
    """A symbol in use by a reader: its rules, and its feed if there is one."""

    rules: SymbolRules
    feed: SymbolFeed | None
    no_feed: NoFeed | None
    now_ms: int
    thresholds: Thresholds = DEFAULTS
    lag_ms: int = 0

    @property
    def unknown(self) -> Unknown:
        """Reason why measures that need a stream are missing."""
        return Unknown("stream_late" if self.no_feed == "late" else "upstream_unavailable")

    @property
    def live(self) -> SymbolFeed | None:
        """The feed, or None while its book is unreliable or older than `dead_ms`."""
        feed = self.feed
        if feed is None or not feed.is_live:
            return None
        return feed if feed.age_ms(self.now_ms) <= self.thresholds.dead_ms else None

    @property
    def is_frozen(self) -> bool:
        """Whether the stream has left the book unchanged for too long to be judged."""
        feed = self.feed
        if feed is None or feed.changes.update_id is None:
            return False
        silent_ms = self.now_ms - feed.changes.changed_ms
        return silent_ms > quiet_after_ms(self.thresholds.dead_ms, feed.changes.usual_gap_ms)


class Quoted(NamedTuple):
    """The reference price, and the spread between bid and ask. `reading` is None if nothing was traded."""

    reading: PriceReading | None
    spread: Price | None

    @property
    def price(self) -> Price | None:
        return None if self.reading is None else self.reading.price


@dataclass(frozen=True, slots=True)
class LiveService:
    """Feeds for readers of the live market. Without streams, each book is requested.

    Its thresholds apply to every analysis of the live market.
    """

    market: MarketService
    client: SpotClient
    time: ServerTime
    network: Network
    hub: Hub | None
    thresholds: Thresholds = DEFAULTS
    _changes: dict[Symbol, ChangeTimes] = field(default_factory=dict[Symbol, ChangeTimes], repr=False)

    @asynccontextmanager
    async def watching(self, text: str, *, wait_ms: int = 0, needs: Need = "events") -> AsyncGenerator[Watch]:
        """Keep the feed of a symbol open while the context is open. Wait up to `wait_ms` for its first book."""
        rules = await self.market.rules(text)
        if self.hub is None or not rules.is_trading:
            yield Watch(rules, None, "off", self.time.now_ms(), self.thresholds)
            return
        with self.hub.reading(rules.symbol, needs=needs) as opened:
            if opened is not None:
                opened.minutes.measure_in(PriceGrid.of(rules))
            if opened is not None and wait_ms:
                await self.hub.wait_until_live(rules.symbol, wait_ms)
            # Another party may have taken the place during the wait.
            feed = None if opened is None or opened.state == "closed" else opened
            if feed is not None and feed.is_late(self.thresholds.dead_ms):
                yield Watch(rules, None, "late", self.time.now_ms(), self.thresholds, feed.lag_ms)
                return
            yield Watch(rules, feed, None if feed else "full", self.time.now_ms(), self.thresholds)

    async def book(self, watch: Watch, levels: int) -> BookView:
        """Return the symbol's book: the local copy if it is fresh, otherwise a snapshot requested now."""
        feed = watch.live
        if feed is not None:
            return self._live_view(watch.rules, feed, levels)
        symbol = watch.rules.symbol
        reading = await self.client.depth(symbol, levels)
        changes = watch.feed.changes if watch.feed else self._changes.setdefault(symbol, ChangeTimes())
        changes.note(reading.value.last_update_id, reading.at_ms, requested=True)
        return BookView(
            rules=watch.rules,
            snapshot=reading.value,
            is_live=False,
            as_of_ms=changes.changed_ms,
            age_ms=max(0, self.time.now_ms() - changes.changed_ms),
            gaps=0,
            no_feed=watch.no_feed,
            lag_ms=watch.lag_ms,
            thresholds=self.thresholds,
            usual_gap_ms=changes.usual_gap_ms,
        )

    async def quoted(self, watch: Watch) -> Quoted:
        """Return the last trade, or the mid price if that trade is outdated. It is streamed or requested now."""
        feed = watch.live
        newest = feed.tape.newest if feed else None
        if feed is None or newest is None:
            view = await self.market.priced(watch.rules.symbol)
            bid, ask = view.ticker.bid, view.ticker.ask
            return Quoted(view.reading, Price(ask - bid) if bid and ask > bid else None)
        best_bid, best_ask = feed.book.best_bid, feed.book.best_ask
        reading = read_price(
            newest.price,
            newest.time_ms,
            bid=best_bid.price if best_bid else None,
            ask=best_ask.price if best_ask else None,
            tick=watch.rules.tick,
            at_ms=max(feed.book_ms, newest.time_ms),
        )
        return Quoted(reading, Price(best_ask.price - best_bid.price) if best_bid and best_ask else None)

    def _live_view(self, rules: SymbolRules, feed: SymbolFeed, levels: int) -> BookView:
        counts = feed.counts
        return BookView(
            rules=rules,
            snapshot=feed.book.top(levels),
            is_live=True,
            as_of_ms=feed.book_ms,
            age_ms=feed.age_ms(self.time.now_ms()),
            gaps=counts.gaps + counts.lost,
            thresholds=self.thresholds,
            usual_gap_ms=feed.changes.usual_gap_ms,
        )


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """State of one symbol's stream."""

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
    """All streams, their shared connections, and the request weight spent this minute."""

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
    """Queries of the order-book tools."""

    live: LiveService
    _microprices: Microprices = field(default_factory=Microprices, repr=False)

    async def metrics(self, text: str) -> tuple[BookView, BookReport]:
        """Describe the book of a symbol in the caller's spelling.

        Without a live book it has a hundred levels; a live book has all known levels.

        Raises:
            RateLimited: a partial answer would only cause more requests.
        """
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, DEEP_LEVELS if watch.live else CHEAP_LEVELS)
            fitted = watch.unknown
            if watch.feed is not None:
                fitted = await self._microprices.of(watch.rules, watch.feed, self.live.time.now_ms())
        report = describe_book(view.snapshot)
        return view, replace(report, microprice=fitted, illiquidity=await self._illiquidity(view.rules.symbol))

    async def _illiquidity(self, symbol: Symbol) -> IlliquidityRank | Unknown:
        """Measure illiquidity over the whole days of three months. The current day is excluded."""
        try:
            days = (await self.live.client.daily_candles(symbol, DAILY_ROWS)).value
        except RateLimited:
            raise
        except AppError:
            return Unknown("upstream_unavailable")
        return illiquidity(days[:-1], minimum=self.live.thresholds.amihud_min_n)

    async def levels(self, text: str, count: int) -> BookView:
        """Return the best levels of both sides."""
        async with self.live.watching(text, needs="book" if count <= FINISHED_LEVELS else "events") as watch:
            return await self.live.book(watch, count)

    async def cost(self, text: str, amount: Decimal, side: Taker, unit: AmountUnit) -> tuple[BookView, CostReport]:
        """Price a market order inside the price range; if a hundred levels cannot fill it, request a thousand."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, DEEP_LEVELS if watch.live else CHEAP_LEVELS)
            within = await self._taker_range(view.rules.symbol, side)
            report = cost_of(view.snapshot, float(amount), side, unit, within)
            if not report.walk.complete and report.expires_beyond is None and not view.is_live:
                view = await self.live.book(watch, DEEP_LEVELS)
                report = cost_of(view.snapshot, float(amount), side, unit, within)
        return view, report

    async def _taker_range(self, symbol: Symbol, side: Taker) -> TakerRange:
        """Return the price range of the exchange; no range if it cannot be read."""
        try:
            reference = await self.live.client.ranged_reference(symbol)
        except RateLimited:
            raise
        except AppError:
            return ANY_RANGE
        return reference.taker_range("BUY" if side == "buy" else "SELL")

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
