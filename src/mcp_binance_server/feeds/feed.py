"""Live data of one symbol: order book, trades and their recent history. Pure: the caller passes in the events."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from mcp_binance_server.analytics.book.cost import HELD_MS, CheapSize
from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.analytics.market.minute import SECONDS
from mcp_binance_server.analytics.market.symbol_scores import SymbolScores
from mcp_binance_server.domain.market import BookDelta, BookSnapshot, Ticker, Trade
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.server_time import sent_ms
from mcp_binance_server.feeds.book import (
    NOTHING_LOADED,
    Applied,
    JoinBuffer,
    Joined,
    LocalBook,
    MissedUpdates,
    Stale,
    TooOld,
)
from mcp_binance_server.feeds.change_times import ChangeTimes
from mcp_binance_server.feeds.minutes import SymbolMinutes
from mcp_binance_server.feeds.paid import MOST_PAID, PaidTrades
from mcp_binance_server.feeds.sampling import NO_GRID, Quotes, Second, Seconds, sample
from mcp_binance_server.feeds.tape import Tape

FeedState = Literal["connecting", "syncing", "live", "closed"]

HOUR_MS = 3_600_000
QUOTES_MS = 15_000
MOST_QUOTES = 4_000
MANY_SYMBOLS = 100
# After this many seconds without an event, the book no longer counts as unchanged.
MOST_QUIET = 60
# Prune regularly: levels beyond the known range are never removed by events and add up.
PRUNE_SECONDS = 60
MOST_LEVELS = 3_000
# An event this much newer than the known data must have a new ID. If its ID is old, the exchange has reset its IDs.
IDS_WENT_BACK_MS = 5_000
# Request a new snapshot when a side has fewer known levels beyond its best price.
LEAST_KNOWN = 250


@dataclass(frozen=True, slots=True)
class FeedMemoryLimit:
    """Memory limit of one symbol: the limit of the process divided by the number of symbols it can watch."""

    trades: int

    @classmethod
    def shared_by(cls, symbols: int) -> "FeedMemoryLimit":
        # With more than a hundred symbols, most memory is needed for the books.
        pool = 300_000 if symbols <= MANY_SYMBOLS else 100_000
        return cls(trades=max(500, pool // symbols))


@dataclass(slots=True)
class FeedCounts:
    """Number of stream errors and book syncs of a symbol since it was opened."""

    gaps: int = 0
    crossed: int = 0
    malformed: int = 0
    lost: int = 0
    joins: int = 0
    restarts: int = 0


@dataclass(slots=True)
class _RunningSecond:
    second: int = -1
    updates: int = 0
    additions_bid: int = 0
    additions_ask: int = 0
    trades: int = 0
    ofi: float = 0.0
    quotes: int = 0
    touch: float = 0.0


class SymbolFeed:
    """A symbol's book with its sync state, and the recent data that the analyses read.

    Each `time_ms` is the exchange's time at the arrival of an event. `book_ms` is the exchange's time when the book's
    last change was sent. Only a live book may be shown. A time window over book events must not begin before
    `unbroken_ms`.
    """

    def __init__(self, symbol: Symbol, room: FeedMemoryLimit) -> None:
        self.symbol = symbol
        self.counts = FeedCounts()
        self._room = room
        self.minutes = SymbolMinutes()
        self.changes = ChangeTimes()
        # Shift each symbol's seconds and minutes: measuring all books at once would delay their events.
        name = symbol.encode()
        self._phase_ms = sum(name) * 100 % 1000 + 1000 * (crc32(name) % SECONDS)
        self._begin()

    def _begin(self) -> None:
        room = self._room
        self.state: FeedState = "connecting"
        self.is_finished = False
        self._traded_ms: int | None = None
        self._finished: Callable[[], LocalBook] | None = None
        self._finished_id = NOTHING_LOADED
        self._book = LocalBook()
        self.minutes.break_off()
        self.tape = Tape(span_ms=HOUR_MS, most=room.trades)
        self.quotes = Quotes(span_ms=QUOTES_MS, most=MOST_QUOTES)
        self.paid = PaidTrades(min(MOST_PAID, room.trades))
        self.seconds = Seconds()
        self.cheap: deque[CheapSize] = deque(maxlen=HELD_MS // 1000)
        self.ticker: Ticker | None = None
        self.unbroken_ms: int | None = None
        self.book_ms = 0
        self.lag_ms = 0
        self.heard_ms = 0
        self._buffer = JoinBuffer()
        self._running = _RunningSecond()
        self._is_refreshing = False

    @property
    def book(self) -> LocalBook:
        """The order book. A book from another process has only the best levels."""
        if self._finished is not None:
            self._book, self._finished = self._finished(), None
        return self._book

    @property
    def _book_id(self) -> int:
        return self._book.last_update_id if self._finished is None else self._finished_id

    @property
    def pasts(self) -> SymbolScores:
        """History of scores that each minute is compared with. Set it to continue a stored history."""
        return self.minutes.pasts

    @pasts.setter
    def pasts(self, pasts: SymbolScores) -> None:
        self.minutes.pasts = pasts

    @property
    def needs_snapshot(self) -> bool:
        """Return True if the book needs a snapshot, or will need one soon because few known levels are left."""
        return self.state == "syncing" or self._is_refreshing

    @property
    def is_live(self) -> bool:
        """Return True if the book can be shown: it is in sync and its best prices are known."""
        return self.state == "live" and self.book.knows_best

    @property
    def last_trade_ms(self) -> int | None:
        """Time of the newest trade. For a book from another process, that process reports it."""
        newest = self.tape.newest
        return self._traded_ms if self.is_finished or newest is None else newest.time_ms

    def age_ms(self, now_ms: int) -> int:
        """Return the time since the exchange sent the book's last change."""
        return max(0, now_ms - self.book_ms)

    def is_late(self, most_ms: int) -> bool:
        """Return whether the book's newest event took longer than `most_ms` to arrive."""
        return self.lag_ms > most_ms

    def on_depth(self, delta: BookDelta, time_ms: int) -> None:
        """Apply a depth event. After a gap or a crossed book, wait for a new snapshot."""
        self.heard_ms = time_ms
        self.lag_ms = max(0, time_ms - delta.event_ms)
        if self.state != "live":
            self._buffer.add(delta)
            if self.state == "connecting":
                self.state = "syncing"
            return
        if self._is_refreshing:
            self._buffer.add(delta)
        self._turn(time_ms)
        try:
            if self.book.follows(delta):
                self.minutes.on_depth(self._running.second, delta, self.book)
            outcome = self.book.apply(delta)
        except ValueError:
            self.on_malformed()
            return
        if isinstance(outcome, Applied):
            self._took(outcome, delta, time_ms)
        elif isinstance(outcome, MissedUpdates) or delta.event_ms - self.book_ms > IDS_WENT_BACK_MS:
            self.counts.gaps += 1
            self._start_over(delta)

    def on_snapshot(
        self, snapshot: BookSnapshot, *, asked: int, time_ms: int, as_of_ms: int | None = None
    ) -> Joined | TooOld | MissedUpdates:
        """Join a snapshot to the buffered events. Any result except Joined requires another snapshot.

        A live book stays readable until the new one replaces it. `as_of_ms` is the time of a snapshot that arrived
        late or that another process has kept.
        """
        book, newest_ms = LocalBook(), self._buffer.newest_ms
        outcome = self._buffer.join(snapshot, book, asked=asked)
        if not isinstance(outcome, Joined):
            return outcome
        if book.is_crossed:
            self.counts.crossed += 1
            return MissedUpdates(snapshot.last_update_id, snapshot.last_update_id)
        if self.state == "live" and book.last_update_id < self.book.last_update_id:
            return TooOld(book.last_update_id, self.book.last_update_id)
        self.counts.joins += 1
        self._book, self._finished = book, None
        self._is_refreshing = False
        if self.state != "live":
            self.state = "live"
            self.unbroken_ms = time_ms
            # A snapshot of a known book is no change: a frozen exchange sends it again and again.
            self.changes.note(
                book.last_update_id, sent_ms(max(as_of_ms or time_ms, newest_ms), time_ms), requested=True
            )
            self.book_ms = self.changes.changed_ms
            self._running = _RunningSecond(second=(time_ms + self._phase_ms) // 1000)
        return outcome

    def on_finished(
        self,
        last_update_id: int,
        book: Callable[[], LocalBook],
        *,
        time_ms: int,
        as_of_ms: int,
        lag_ms: int,
        traded_ms: int | None,
    ) -> bool:
        """Show the best levels of another process's book. Return False if they are older than the current book.

        They do not add trades, seconds or minutes. The book is built only when it is read.
        """
        if self.state == "closed" or last_update_id < self._book_id:
            return False
        if not self.is_finished:
            self._start_over(None)
        self.is_finished, self.state = True, "live"
        self._finished_id, self._finished = last_update_id, book
        self.changes.note(last_update_id, sent_ms(as_of_ms, time_ms))
        self.book_ms, self.lag_ms, self.heard_ms = self.changes.changed_ms, lag_ms, time_ms
        self._traded_ms = traded_ms
        return True

    def begin_events(self) -> None:
        """Switch from another process's book to events, because a reader needs them."""
        if self.is_finished:
            self._start_over(None)
            self.state = "connecting"

    def on_trade(self, trade: Trade, time_ms: int) -> None:
        """Add a trade to the tape. A repeated trade changes nothing."""
        self.heard_ms = time_ms
        newest = self.tape.newest
        if self.state == "live" and not self.is_finished:
            self._turn(time_ms)
        outcome = self.tape.add(trade)
        if not isinstance(outcome, Stale):
            self._running.trades += 1
            self.paid.add(trade, self.quotes.mid_before(trade.time_ms))
            if isinstance(outcome, MissedUpdates):
                self.minutes.skip()
            else:
                self.minutes.on_trade(self._running.second, trade)
        elif newest is not None and trade.time_ms - newest.time_ms > IDS_WENT_BACK_MS:
            self.tape = Tape(span_ms=HOUR_MS, most=self._room.trades)

    def on_quote(self, update_id: int, quote: QuoteState, time_ms: int) -> None:
        """Add a best bid and ask. They arrive with each change, while depth arrives ten times a second."""
        self.heard_ms = time_ms
        flow = self.quotes.add(update_id, quote, time_ms)
        if flow is not None:
            self._running.ofi += flow
            self._running.quotes += 1
            self._running.touch += quote.size

    def on_ticker(self, ticker: Ticker, time_ms: int) -> None:
        """Store the 24-hour statistics, which arrive once a second."""
        self.heard_ms = time_ms
        self.ticker = ticker

    def on_malformed(self) -> None:
        """Count a malformed event and rebuild the book, because a depth event may be missing."""
        self.counts.malformed += 1
        if self.state == "live":
            self._start_over(None)

    def on_quiet(self) -> None:
        """Handle an open but silent stream. Its book can be synced without an event."""
        if self.state == "connecting":
            self.state = "syncing"

    def on_lost(self) -> None:
        """Handle a lost connection. Events of every kind may be missing."""
        self.counts.lost += 1
        self.lag_ms = 0
        self.ticker = None
        self.quotes.clear()
        self._start_over(None)
        self.state = "connecting"

    def restart(self) -> None:
        """Reset everything except the counts, because a defect may have corrupted the state."""
        is_closed = self.state == "closed"
        self._begin()
        self.counts.restarts += 1
        self.state = "closed" if is_closed else "syncing"

    def close(self) -> None:
        """Close the feed; nothing is shown afterwards."""
        self.state = "closed"

    def _took(self, outcome: Applied, delta: BookDelta, time_ms: int) -> None:
        if outcome.is_crossed:
            self.counts.crossed += 1
            self._start_over(None)
            return
        # Use the event's own time: on a slow stream, an event is already old when it arrives.
        self.book_ms = sent_ms(delta.event_ms, time_ms)
        self.changes.note(delta.last_update_id, self.book_ms)
        running = self._running
        running.updates += delta.last_update_id - delta.first_update_id + 1
        running.additions_bid += len(delta.bids)
        running.additions_ask += len(delta.asks)

    def _turn(self, time_ms: int) -> None:
        """Record a second that has ended, before the first event of a later second is handled."""
        running, second = self._running, (time_ms + self._phase_ms) // 1000
        if second <= running.second:
            return
        self._running = _RunningSecond(second=second)
        self._write_down(running, second)
        if second // PRUNE_SECONDS != running.second // PRUNE_SECONDS:
            self.book.prune(most=MOST_LEVELS)
        if not self._is_refreshing and self.book.is_thin(LEAST_KNOWN):
            self._is_refreshing = True
            self._buffer = JoinBuffer()

    def _write_down(self, over: _RunningSecond, next_second: int) -> None:
        grid = self.minutes.grid or NO_GRID
        taken = sample(self.book, grid=grid)
        if taken is None:
            self.minutes.break_off()
            return
        end_ms = (over.second + 1) * 1000 - self._phase_ms
        self.cheap.append(CheapSize(end_ms, *taken.cheap))
        moment = taken.moment
        book = moment.mid, taken.spread_bps, moment.bid_near, moment.ask_near, moment.wide
        happened = over.updates, over.additions_bid, over.additions_ask, over.trades, over.ofi, over.quotes
        newest = self.quotes.newest
        self.seconds.add(Second(end_ms, *book, *happened, over.touch, newest.state.lean if newest else 0.5))
        # Without events the book did not change, so the quiet seconds have the same measurements.
        for second in range(over.second, min(next_second, over.second + MOST_QUIET)):
            quiet_ms = (second - over.second) * 1000
            self.minutes.on_second(second, end_ms + quiet_ms, moment, self.book, taken.sizes)

    def _start_over(self, delta: BookDelta | None) -> None:
        """Reset the data that needs an unbroken sequence of events.

        The data of the last hour stays valid and is kept.
        """
        self._buffer = JoinBuffer()
        if delta is not None:
            self._buffer.add(delta)
        self._is_refreshing = False
        self.is_finished = False
        self.unbroken_ms = None
        self.changes.break_off()
        self.minutes.break_off()
        self.state = "syncing"
