"""Live market of one symbol for paper orders: its book, each trade exactly once, and missed trades."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.market import PriceLevel, Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.feed import MOST_LEVELS, SymbolFeed
from mcp_binance_server.trading.paper.matcher import SymbolMatcher

# Time without events, in ms, after which the book is compared with the exchange's book before an order uses it.
QUIET_MS = 5_000
# Most missed trades to fetch: https://developers.binance.com/docs/binance-spot-api-docs/rest-api
MOST_MISSED = 50_000
PRINTS_A_TURN = 500
# The exchange has restarted its trade IDs if a trade has a lower ID and is newer by at least this time, in ms.
IDS_WENT_BACK_MS = 5_000
# Largest age of the reference price in ms: for an order that arrives, and for a stop that waits.
ARRIVAL_MS, STOP_MS = 1_000, 10_000
# Pause in ms before the next query for the price range of a symbol that had none.
NO_RANGE_MS = 300_000
NOTHING = Quantity(Decimal(0))


@dataclass(eq=False)
class Bell:
    """Wake-up event for one waiter. A ring before the wait is not lost."""

    clock: Clock
    _rung: anyio.Event = field(default_factory=anyio.Event)

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, most_ms: float) -> None:
        """Wait for a ring, at most this time."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._time_out, most_ms, tasks.cancel_scope)
            await self._rung.wait()
            tasks.cancel_scope.cancel()
        self._rung = anyio.Event()

    async def _time_out(self, most_ms: float, waiter: anyio.CancelScope) -> None:
        await self.clock.sleep_until_ms(self.clock.monotonic_ms() + most_ms)
        waiter.cancel()


@dataclass(frozen=True, slots=True)
class FeedBook:
    """Book of a feed for paper trading, with exact quantities, up to the known levels."""

    feed: SymbolFeed

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        """Return the known levels of a side, best price first."""
        book, is_bids = self.feed.book, side == "BUY"
        edge = book.known_to.bid if is_bids else book.known_to.ask
        bids, asks = book.written_top(MOST_LEVELS)
        for price, quantity in bids if is_bids else asks:
            level = PriceLevel(Price(Decimal(price)), Quantity(Decimal(quantity)))
            if edge is not None and (level.price < edge if is_bids else level.price > edge):
                return
            yield level

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        """Return the displayed quantity at a price, or None if it is unknown."""
        book, is_bids = self.feed.book, side == "BUY"
        if (written := book.written_at("bid" if is_bids else "ask", float(price))) is not None:
            return Quantity(Decimal(written))
        edge = book.known_to.bid if is_bids else book.known_to.ask
        is_known = edge is None or (price >= edge if is_bids else price <= edge)
        return NOTHING if is_known else None


@dataclass(eq=False)
class PaperSymbol:
    """Matcher of one symbol, driven by the symbol's feed.

    Trade IDs are aggregate trade IDs in the stream and in queries.
    """

    matcher: SymbolMatcher
    feed: SymbolFeed
    client: SpotClient
    time: ServerTime
    _has_begun: bool = False
    _was_in_step: bool = False
    _range_ms: float = float("-inf")
    """Time of the last reading of the price range."""
    _has_range: bool = True

    async def meet(self) -> frozenset[str]:
        """Match new trades and the book with the orders, while the feed is reliable. Return the accounts with changes.

        Raises:
            LeaseLost: another process matches now.
            AppError: missed trades could not be queried, or nothing can be recorded.
        """
        if not self.feed.is_live or self.feed.is_late(QUIET_MS):
            self._was_in_step = False
            return frozenset()
        await self._read_range()
        changed = frozenset[str]() if self._has_begun else await self._begin()
        newest = self.feed.tape.newest
        if not self.matcher.is_watching:
            if newest is not None:
                self.matcher.skip_to(newest)
        elif newest is not None:
            changed |= await self._print(newest)
        self._was_in_step = True
        if await self._stands():
            changed |= await self.matcher.meet((), self.time.now_ms())
        return changed

    async def _read_range(self) -> None:
        """Read the price range for an order that is about to arrive, and for stops, which trade when triggered."""
        now_ms, arrival_ms = self.time.now_ms(), self.matcher.next_arrival_ms
        is_due = arrival_ms is not None and arrival_ms <= now_ms
        if not is_due and not self.matcher.has_stops:
            return
        pause_ms = NO_RANGE_MS if not self._has_range else ARRIVAL_MS if is_due else STOP_MS
        if now_ms - self._range_ms < pause_ms:
            return
        self._range_ms = now_ms
        with suppress(AppError):  # the last known range stays valid
            reference = await self.client.ranged_reference(self.feed.symbol)
            self.matcher.reference_is(reference)
            self._has_range = reference.rule is not None

    async def _begin(self) -> frozenset[str]:
        """Find the end of the tape. Match the trades since the orders were last matched."""
        last = (await self.client.aggregate_trades(self.feed.symbol, 1)).value
        changed = frozenset[str]()
        if last and self.matcher.is_watching:
            changed = await self._catch_up(last[-1])
            self.matcher.last_was(last[-1])
        elif last:
            self.matcher.skip_to(last[-1])
        self._has_begun = True
        return changed

    async def _print(self, newest: Trade) -> frozenset[str]:
        changed = frozenset[str]()
        while (trades := self.feed.tape.after(self._seen, PRINTS_A_TURN)) or self._went_back(newest):
            if not trades or trades[-1].trade_id - self._seen != len(trades):
                return changed | await self._catch_up(newest)
            # The book was out of sync when these trades arrived, so the book at that time is unknown.
            changed |= await self.matcher.meet(trades, self.time.now_ms(), is_replay=not self._was_in_step)
        return changed

    async def _catch_up(self, newest: Trade) -> frozenset[str]:
        if newest.trade_id - self._seen > MOST_MISSED or self._went_back(newest):
            return await self.matcher.expire_unwatched(newest, self.time.now_ms())
        changed = frozenset[str]()
        while self._seen < newest.trade_id:
            page = (await self.client.aggregate_trades_after(self.feed.symbol, self._seen)).value
            if not page or page[0].trade_id != self._seen + 1:
                break  # this host does not have the trades yet, so query again in the next turn
            changed |= await self.matcher.meet(page, self.time.now_ms(), is_replay=True)
        return changed

    @property
    def _seen(self) -> int:
        return self.matcher.seen.tape_id if self.matcher.seen else -1

    def _went_back(self, newest: Trade) -> bool:
        seen = self.matcher.seen
        return seen is not None and newest.trade_id < seen.tape_id and newest.time_ms > seen.at_ms + IDS_WENT_BACK_MS

    async def _stands(self) -> bool:
        """Return True if an order can arrive: the book is recent, or equal to the exchange's book."""
        now_ms, arrival_ms = self.time.now_ms(), self.matcher.next_arrival_ms
        if now_ms - self.feed.heard_ms <= QUIET_MS or arrival_ms is None or arrival_ms > now_ms:
            return True
        told = (await self.client.depth(self.feed.symbol, 5)).value
        return told.last_update_id == self.feed.book.last_update_id
