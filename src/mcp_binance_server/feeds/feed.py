"""One symbol of the live market: its book kept in step, its tape, and what both did lately. Pure: events in by call."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from mcp_binance_server.analytics.book.cost import HELD_MS, CheapSize
from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.analytics.market.minute import SECONDS
from mcp_binance_server.analytics.market.pasts import SymbolPasts
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
from mcp_binance_server.feeds.minutes import SymbolMinutes
from mcp_binance_server.feeds.paid import MOST_PAID, PaidTrades
from mcp_binance_server.feeds.sampling import NO_GRID, Quotes, Second, Seconds, sample
from mcp_binance_server.feeds.tape import Tape

FeedState = Literal["connecting", "syncing", "live", "closed"]

HOUR_MS = 3_600_000
QUOTES_MS = 15_000
MOST_QUOTES = 4_000
MANY_SYMBOLS = 100
# A book that is silent for longer is not read on as if it still stood.
MOST_QUIET = 60
# A book held for an hour gathers levels that were never removed, because they were never part of what is known.
PRUNE_SECONDS = 60
MOST_LEVELS = 3_000
# What is known already and yet so much newer than the book: the ids have begun again, or one was far too high.
IDS_WENT_BACK_MS = 5_000
# With fewer levels left between the best price and the end of what is known, a new snapshot is asked for in time.
LEAST_KNOWN = 250


@dataclass(frozen=True, slots=True)
class Room:
    """How much one symbol may keep: the pools of a process are shared out by the most symbols it watches."""

    trades: int

    @classmethod
    def shared_by(cls, symbols: int) -> "Room":
        # Beyond a hundred symbols the books themselves take the memory.
        pool = 300_000 if symbols <= MANY_SYMBOLS else 100_000
        return cls(trades=max(500, pool // symbols))


@dataclass(slots=True)
class FeedCounts:
    """What went wrong with a symbol's stream since it was opened, and how often its book was put in step."""

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
    """A book in one of the states of its join, and the windows that the analyses read.

    Every `time_ms` is the exchange's time at which something arrived here; `book_ms` is the one at which it was sent.
    Only a live book may be shown. A window over the book's events must not reach back beyond `unbroken_ms`.
    """

    def __init__(self, symbol: Symbol, room: Room) -> None:
        self.symbol = symbol
        self.counts = FeedCounts()
        self._room = room
        self.minutes = SymbolMinutes()
        # A symbol's seconds begin at its own time, and its minutes at its own second: all books measured, or judged, in
        # the same moment would make each other late.
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
        """The book; of one that another process told the best levels."""
        if self._finished is not None:
            self._book, self._finished = self._finished(), None
        return self._book

    @property
    def _book_id(self) -> int:
        return self._book.last_update_id if self._finished is None else self._finished_id

    @property
    def pasts(self) -> SymbolPasts:
        """What the symbol's minutes are judged by; set it to go on from a past that was kept."""
        return self.minutes.pasts

    @pasts.setter
    def pasts(self, pasts: SymbolPasts) -> None:
        self.minutes.pasts = pasts

    @property
    def needs_snapshot(self) -> bool:
        """Whether the book has nothing to stand on, or soon will not: the market nears the end of what is known."""
        return self.state == "syncing" or self._is_refreshing

    @property
    def is_live(self) -> bool:
        """Whether the book may be shown: in step, and its best prices certain."""
        return self.state == "live" and self.book.knows_best

    @property
    def last_trade_ms(self) -> int | None:
        """When the newest trade was, be it kept here or by who told the finished book."""
        newest = self.tape.newest
        return self._traded_ms if self.is_finished or newest is None else newest.time_ms

    def age_ms(self, now_ms: int) -> int:
        """How long ago the exchange sent what the book was last changed by."""
        return max(0, now_ms - self.book_ms)

    def is_late(self, most_ms: int) -> bool:
        """Whether the newest event of the book had been on its way for longer than that."""
        return self.lag_ms > most_ms

    def on_depth(self, delta: BookDelta, time_ms: int) -> None:
        """Take an event of the book; after a gap or a crossed book it waits for another snapshot."""
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
        """Join a snapshot to what was buffered; anything but Joined needs another one.

        A live book goes on until the new one takes its place, so its readers see no break. A snapshot that was long on
        its way, or that another process had for a while, is `as_of_ms`.
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
            self.book_ms = sent_ms(max(time_ms if as_of_ms is None else as_of_ms, newest_ms), time_ms)
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
        """Show the best levels of a book that another process keeps, unless they are older than what was shown.

        Nothing is collected from them: no trades, no seconds, no minutes. They are put together when somebody looks.
        """
        if self.state == "closed" or last_update_id < self._book_id:
            return False
        if not self.is_finished:
            self._start_over(None)
        self.is_finished, self.state = True, "live"
        self._finished_id, self._finished = last_update_id, book
        self.book_ms, self.lag_ms, self.heard_ms = sent_ms(as_of_ms, time_ms), lag_ms, time_ms
        self._traded_ms = traded_ms
        return True

    def begin_events(self) -> None:
        """Show no finished book any longer: somebody reads what only events can tell."""
        if self.is_finished:
            self._start_over(None)
            self.state = "connecting"

    def on_trade(self, trade: Trade, time_ms: int) -> None:
        """Print a trade; one that was told already changes nothing."""
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
        """Take a state of the touch, which arrives as it changes and not ten times a second."""
        self.heard_ms = time_ms
        flow = self.quotes.add(update_id, quote, time_ms)
        if flow is not None:
            self._running.ofi += flow
            self._running.quotes += 1
            self._running.touch += quote.size

    def on_ticker(self, ticker: Ticker, time_ms: int) -> None:
        """Take the statistics of the last 24 hours, which come once a second."""
        self.heard_ms = time_ms
        self.ticker = ticker

    def on_malformed(self) -> None:
        """Take note that an event could not be read; it may have been one of the book's, so that begins anew."""
        self.counts.malformed += 1
        if self.state == "live":
            self._start_over(None)

    def on_quiet(self) -> None:
        """Take note that the stream is open and has said nothing: the book can be put in step without an event."""
        if self.state == "connecting":
            self.state = "syncing"

    def on_lost(self) -> None:
        """Take note that the connection is gone: events of every kind may have been missed."""
        self.counts.lost += 1
        self.lag_ms = 0
        self.ticker = None
        self.quotes.clear()
        self._start_over(None)
        self.state = "connecting"

    def restart(self) -> None:
        """Forget everything but the counts: something failed here, and what it left behind is not to be trusted."""
        is_closed = self.state == "closed"
        self._begin()
        self.counts.restarts += 1
        self.state = "closed" if is_closed else "syncing"

    def close(self) -> None:
        """Show nothing any more."""
        self.state = "closed"

    def _took(self, outcome: Applied, delta: BookDelta, time_ms: int) -> None:
        if outcome.is_crossed:
            self.counts.crossed += 1
            self._start_over(None)
            return
        # When it was sent: on a stream that lags, what has just arrived is old.
        self.book_ms = sent_ms(delta.event_ms, time_ms)
        running = self._running
        running.updates += delta.last_update_id - delta.first_update_id + 1
        running.additions_bid += len(delta.bids)
        running.additions_ask += len(delta.asks)

    def _turn(self, time_ms: int) -> None:
        """Write down the second that is over, before the first event of the next one."""
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
        # In seconds of which nothing was told the book stood as it was.
        for second in range(over.second, min(next_second, over.second + MOST_QUIET)):
            quiet_ms = (second - over.second) * 1000
            self.minutes.on_second(second, end_ms + quiet_ms, moment, self.book, taken.sizes)

    def _start_over(self, delta: BookDelta | None) -> None:
        """Keep the hours, which a break does not falsify, and drop what rests on an unbroken sequence."""
        self._buffer = JoinBuffer()
        if delta is not None:
            self._buffer.add(delta)
        self._is_refreshing = False
        self.is_finished = False
        self.unbroken_ms = None
        self.minutes.break_off()
        self.state = "syncing"
