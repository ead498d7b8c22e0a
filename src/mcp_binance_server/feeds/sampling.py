"""What is kept of a moving book: quotes, samples of its depth, its seconds."""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from mcp_binance_server.analytics.book.report import WallCandidate, wall_places
from mcp_binance_server.analytics.flow.book_events import QuoteState, change
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookDelta, WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.feeds.book import LocalBook

NEAR_BPS, WIDE_BPS = 10, 50
# Enough to know what is large for a side; parsing all levels of 400 books every second would take most of a core.
WALL_LEVELS = 200
# As many as a snapshot tells; what a book holds beyond them is known only in part.
MOST_LEVELS = 1_000
_BPS = 10_000

HOUR_SECONDS = 3_600


class SeenQuote(NamedTuple):
    """A state of the touch, and when it arrived by the exchange's time."""

    time_ms: int
    state: QuoteState


class Quotes:
    """States of the touch of at most `span_ms`, and what each change added to the order flow imbalance."""

    __slots__ = ("_last_id", "_quotes", "_span_ms")

    def __init__(self, *, span_ms: int, most: int) -> None:
        self._span_ms = span_ms
        self._quotes: deque[SeenQuote] = deque(maxlen=most)
        self._last_id = -1

    def __len__(self) -> int:
        return len(self._quotes)

    def add(self, update_id: int, state: QuoteState, time_ms: int) -> float | None:
        """Keep a state and return what it changed; None for the first, and for one that was told already."""
        if update_id <= self._last_id:
            return None
        self._last_id = update_id
        before = self._quotes[-1].state if self._quotes else None
        self._quotes.append(SeenQuote(time_ms, state))
        while self._quotes[0].time_ms < time_ms - self._span_ms:
            self._quotes.popleft()
        return None if before is None else change(before, state)

    def clear(self) -> None:
        """Forget everything: a window must not reach across a gap."""
        self._quotes.clear()
        self._last_id = -1

    def since(self, from_ms: int) -> list[SeenQuote]:
        return [each for each in self._quotes if each.time_ms >= from_ms]

    @property
    def first_ms(self) -> int | None:
        return self._quotes[0].time_ms if self._quotes else None

    @property
    def newest(self) -> SeenQuote | None:
        return self._quotes[-1] if self._quotes else None


class BookSample(NamedTuple):
    """One moment of a book with two sides; depths are base quantities."""

    mid: float
    spread_bps: float
    bid_depth: float
    ask_depth: float
    wide_depth: float
    bid_walls: tuple[WallCandidate, ...]
    ask_walls: tuple[WallCandidate, ...]


class _SideSample(NamedTuple):
    near: float
    wide: float
    walls: tuple[WallCandidate, ...]


def sample(book: LocalBook, *, thresholds: Thresholds = DEFAULTS) -> BookSample | None:
    """Read a book; None when one of its sides is empty."""
    best_bids, best_asks = book.written_top(1)
    if not best_bids or not best_asks:
        return None
    bid, ask = float(best_bids[0][0]), float(best_asks[0][0])
    mid = (bid + ask) / 2
    bids, asks = book.near(mid * (1 - WIDE_BPS / _BPS), mid * (1 + WIDE_BPS / _BPS), WALL_LEVELS, MOST_LEVELS)
    below, above = _side(bids, mid, thresholds), _side(asks, mid, thresholds)
    return BookSample(
        mid, (ask - bid) / mid * _BPS, below.near, above.near, below.wide + above.wide, below.walls, above.walls
    )


def _side(levels: list[WrittenLevel], mid: float, thresholds: Thresholds) -> _SideSample:
    sizes = [float(level[1]) for level in levels]
    walls = tuple(
        WallCandidate(Price(Decimal(levels[at][0])), Quantity(Decimal(levels[at][1])), z, share)
        for at, z, share in wall_places(sizes[:WALL_LEVELS], thresholds=thresholds)
    )
    near = _within(levels, sizes, mid, NEAR_BPS)
    return _SideSample(near, _within(levels, sizes, mid, WIDE_BPS), walls)


def _within(levels: list[WrittenLevel], sizes: list[float], mid: float, bps: float) -> float:
    """Add up the levels within a distance of the mid, which come best first: the last one inside is searched for."""
    reach = mid * bps / _BPS
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if abs(float(levels[middle][0]) - mid) <= reach:
            low = middle + 1
        else:
            high = middle
    return sum(sizes[:low])


class TimedDelta(NamedTuple):
    """A delta and when it arrived, by the exchange's time."""

    time_ms: int
    delta: BookDelta


class Changes:
    """Deltas of at most `span_ms`, and of at most `most` levels in all."""

    __slots__ = ("_changes", "_levels", "_most", "_since_ms", "_span_ms")

    def __init__(self, *, span_ms: int, most: int) -> None:
        self._span_ms = span_ms
        self._most = most
        self._changes: deque[TimedDelta] = deque()
        self._levels = 0
        self._since_ms: int | None = None

    def __iter__(self) -> Iterator[TimedDelta]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def since_ms(self) -> int | None:
        """From when on every change is here; None before the first."""
        return self._since_ms

    def add(self, time_ms: int, delta: BookDelta) -> None:
        if self._since_ms is None:
            self._since_ms = time_ms
        self._changes.append(TimedDelta(time_ms, delta))
        self._levels += len(delta.bids) + len(delta.asks)
        while self._changes and (self._levels > self._most or self._changes[0].time_ms < time_ms - self._span_ms):
            gone = self._changes.popleft()
            self._levels -= len(gone.delta.bids) + len(gone.delta.asks)
            self._since_ms = gone.time_ms + 1

    def clear(self) -> None:
        self._changes.clear()
        self._levels = 0
        self._since_ms = None


class Second(NamedTuple):
    """One second: the book at its end, and what happened in it.

    Depths are base quantities within 10 and 50 bps of the mid; `ofi` is the order flow imbalance of its quote events.
    """

    time_ms: int
    mid: float
    spread_bps: float
    bid_depth: float
    ask_depth: float
    wide_depth: float
    updates: int
    additions_bid: int
    additions_ask: int
    trades: int
    ofi: float
    quotes: int


class Seconds:
    """The newest seconds, oldest first, in columns of eight bytes: an hour of a symbol is a third of a megabyte."""

    __slots__ = ("_columns", "_most")

    def __init__(self, most: int = HOUR_SECONDS) -> None:
        self._most = most
        self._columns = tuple(array("d") for _ in Second._fields)

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, second: Second) -> None:
        for column, value in zip(self._columns, second, strict=True):
            column.append(value)
        # Cutting moves the whole array, so it is done now and then.
        if len(self) >= self._most + self._most // 4:
            for column in self._columns:
                del column[: -self._most]

    def clear(self) -> None:
        for column in self._columns:
            del column[:]

    def since(self, from_ms: int) -> list[Second]:
        """Return the seconds that ended after a moment."""
        return [_second(row) for row in zip(*self._newest(), strict=True) if row[0] >= from_ms]

    @property
    def first_ms(self) -> int | None:
        return int(self._newest()[0][0]) if len(self) else None

    def _newest(self) -> tuple["array[float]", ...]:
        return tuple(column[-self._most :] for column in self._columns)


def _second(row: Iterable[float]) -> Second:
    time_ms, mid, spread, bid, ask, wide, updates, add_bid, add_ask, trades, ofi, quotes = row
    return Second(
        int(time_ms),
        mid,
        spread,
        bid,
        ask,
        wide,
        int(updates),
        int(add_bid),
        int(add_ask),
        int(trades),
        ofi,
        int(quotes),
    )
