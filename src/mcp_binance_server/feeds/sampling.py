"""What is kept of a moving book: quotes, samples of its depth, its seconds."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mcp_binance_server.analytics.book.cost import CHEAP_BPS
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.standing import Levels
from mcp_binance_server.analytics.flow.book_events import QuoteState, change
from mcp_binance_server.analytics.market.minute import NEAR_BPS, WIDE_BPS, WIDE_TICKS, BookMoment
from mcp_binance_server.domain.market import WrittenLevel
from mcp_binance_server.feeds.book import LocalBook

# Of a symbol whose steps nobody has told yet a band is measured in basis points alone.
NO_GRID = PriceGrid(0.0, 0.0)
# Enough to reach beyond the band of a sparse book: what is cheap must be seen to end.
LEAST_LEVELS = 200
# As many as a snapshot tells; what a book holds beyond them is known only in part.
MOST_LEVELS = 1_000
_BPS = 10_000
# A level on the edge must not depend on the rounding of floats.
_ROUNDING = 1e-12

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

    def mid_before(self, time_ms: int) -> float | None:
        """Return the mid of the newest state that was here before a moment: a trade changes those after it."""
        for each in reversed(self._quotes):
            if each.time_ms < time_ms:
                return (each.state.bid + each.state.ask) / 2
        return None

    @property
    def first_ms(self) -> int | None:
        return self._quotes[0].time_ms if self._quotes else None

    @property
    def newest(self) -> SeenQuote | None:
        return self._quotes[-1] if self._quotes else None


class BookSample(NamedTuple):
    """One moment of a book with two sides; depths are base quantities."""

    moment: BookMoment
    spread_bps: float
    cheap: "CheapSample"
    sizes: "SizesNear"


class SizesNear(NamedTuple):
    """The sizes of both sides within the wide band, best first; of each at least that of the best price."""

    bids: list[float]
    asks: list[float]


class CheapSample(NamedTuple):
    """What the lesser side holds within 2 bps of the mid, and the lesser at the touch, in quote units at the mid."""

    within: float
    touch: float
    truncated: bool


class _SideSample(NamedTuple):
    near: float
    wide: float
    sizes: list[float]


def sample(book: LocalBook, *, grid: PriceGrid = NO_GRID) -> BookSample | None:
    """Read a book; None when one of its sides is empty."""
    best_bids, best_asks = book.written_top(1)
    if not best_bids or not best_asks:
        return None
    bid, ask = float(best_bids[0][0]), float(best_asks[0][0])
    mid = (bid + ask) / 2
    bids, asks = _near(book, mid, grid, LEAST_LEVELS)
    below, above = _side(bids, mid, grid), _side(asks, mid, grid)
    moment = BookMoment(mid, ask - bid, below.near, above.near, below.wide, above.wide)
    cheap, sizes = _cheap(bids, asks, mid), SizesNear(below.sizes, above.sizes)
    return BookSample(moment, moment.spread / mid * _BPS, cheap, sizes)


def _cheap(bids: list[WrittenLevel], asks: list[WrittenLevel], mid: float) -> CheapSample:
    reach = mid * (CHEAP_BPS / _BPS + _ROUNDING)
    held = list[tuple[float, bool]]()
    for levels in (bids, asks):
        inside = bisect_right(levels, reach, key=lambda level: abs(float(level[0]) - mid))
        held.append((mid * sum(float(size) for _, size in levels[:inside]), inside == len(levels)))
    within, truncated = min(held)
    return CheapSample(within, mid * min(float(bids[0][1]), float(asks[0][1])), truncated)


def levels_near(book: LocalBook, sizes: SizesNear) -> tuple[Levels, Levels]:
    """Return prices and sizes of both sides, best first; the sizes were read with the second's sample of the book."""
    bids, asks = book.best_prices(len(sizes.bids), len(sizes.asks))
    return [*zip(bids, sizes.bids, strict=True)], [*zip(asks, sizes.asks, strict=True)]


def _near(book: LocalBook, mid: float, grid: PriceGrid, least: int) -> tuple[list[WrittenLevel], list[WrittenLevel]]:
    reach = grid.band(mid, WIDE_BPS, WIDE_TICKS)
    return book.near(mid - reach, mid + reach, least, MOST_LEVELS)


def _side(levels: list[WrittenLevel], mid: float, grid: PriceGrid) -> _SideSample:
    sizes = [float(level[1]) for level in levels]
    near = _within(levels, mid, grid.band(mid, NEAR_BPS))
    wide = _within(levels, mid, grid.band(mid, WIDE_BPS, WIDE_TICKS))
    return _SideSample(sum(sizes[:near]), sum(sizes[:wide]), sizes[: max(1, wide)])


def _within(levels: list[WrittenLevel], mid: float, reach: float) -> int:
    """Count the levels within a distance of the mid, which come best first: the last one inside is searched for."""
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if abs(float(levels[middle][0]) - mid) <= reach:
            low = middle + 1
        else:
            high = middle
    return low


class Second(NamedTuple):
    """One second: the book at its end, and what happened in it.

    Depths are base quantities within 10 and 50 bps of the mid, or some ticks where these are more; `ofi` is the order
    flow imbalance of its quote events, `touch` the sum over them of the mean size at the touch, and `lean` the bid's
    share of that size at the end.
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
    touch: float = 0.0
    lean: float = 0.5


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
    time_ms, mid, spread, bid, ask, wide, updates, add_bid, add_ask, trades, ofi, quotes, touch, lean = row
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
        touch,
        lean,
    )
