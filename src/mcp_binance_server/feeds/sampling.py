"""Samples of a live book: quotes, depth and statistics per second."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mcp_binance_server.analytics.book.cost import CHEAP_BPS
from mcp_binance_server.analytics.book.grid import BookSide, PriceGrid
from mcp_binance_server.analytics.book.standing import Levels
from mcp_binance_server.analytics.flow.book_events import QuoteState, change
from mcp_binance_server.analytics.market.minute import NEAR_BPS, WIDE_BPS, WIDE_TICKS, BookMoment
from mcp_binance_server.feeds.book import LocalBook

# Used until a symbol's tick and lot size are known: bands are then in basis points only.
NO_GRID = PriceGrid(0.0, 0.0)
# Enough levels to reach beyond the band even in a sparse book. So the last level within 2 bps is known.
LEAST_LEVELS = 200
# The size of a snapshot. Further levels are only partly known.
MOST_LEVELS = 1_000
_BPS = 10_000
# Tolerance, so that float rounding does not decide about a level at the edge.
_ROUNDING = 1e-12

HOUR_SECONDS = 3_600


class SeenQuote(NamedTuple):
    """A best bid and ask, and the exchange's time at its arrival."""

    time_ms: int
    state: QuoteState


class Quotes:
    """Best bids and asks within `span_ms`, and each change's contribution to the order flow imbalance."""

    __slots__ = ("_last_id", "_quotes", "_span_ms")

    def __init__(self, *, span_ms: int, most: int) -> None:
        self._span_ms = span_ms
        self._quotes: deque[SeenQuote] = deque(maxlen=most)
        self._last_id = -1

    def __len__(self) -> int:
        return len(self._quotes)

    def add(self, update_id: int, state: QuoteState, time_ms: int) -> float | None:
        """Add a quote and return its contribution. Return None for the first or a repeated quote."""
        if update_id <= self._last_id:
            return None
        self._last_id = update_id
        before = self._quotes[-1].state if self._quotes else None
        self._quotes.append(SeenQuote(time_ms, state))
        while self._quotes[0].time_ms < time_ms - self._span_ms:
            self._quotes.popleft()
        return None if before is None else change(before, state)

    def clear(self) -> None:
        """Remove all quotes, because no window may include a gap."""
        self._quotes.clear()
        self._last_id = -1

    def since(self, from_ms: int) -> list[SeenQuote]:
        return [each for each in self._quotes if each.time_ms >= from_ms]

    def mid_before(self, time_ms: int) -> float | None:
        """Return the mid price before a time.

        A trade at that time affects only later quotes.
        """
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


class SideNear(NamedTuple):
    """One side within the wide band as floats, best first. It has at least the best price."""

    prices: list[float]
    sizes: list[float]


class BookSample(NamedTuple):
    """Measurements of a book with two sides. Depths are base quantities."""

    moment: BookMoment
    spread_bps: float
    cheap: "CheapSample"
    sizes: "SizesNear"


class SizesNear(NamedTuple):
    """Both sides within the wide band."""

    bids: SideNear
    asks: SideNear

    def levels(self) -> tuple[Levels, Levels]:
        """Return prices and sizes of both sides, best first."""
        return [*zip(*self.bids, strict=True)], [*zip(*self.asks, strict=True)]


class CheapSample(NamedTuple):
    """Quantity within 2 bps of the mid, and at the best price, of the thinner side. The unit is the quote asset."""

    within: float
    touch: float
    truncated: bool


class _SideSample(NamedTuple):
    near: float
    wide: float
    cheap: float
    is_cheap_to_the_end: bool
    levels: SideNear


def sample(book: LocalBook, *, grid: PriceGrid = NO_GRID) -> BookSample | None:
    """Measure a book. Return None if a side is empty."""
    touch = book.touch()
    if touch is None:
        return None
    bid, ask = touch
    mid = (bid + ask) / 2
    reach = grid.band(mid, WIDE_BPS, WIDE_TICKS)
    bids, asks = book.near(mid - reach, mid + reach, LEAST_LEVELS, MOST_LEVELS)
    below, above = _side(book, "bid", bids, mid, grid), _side(book, "ask", asks, mid, grid)
    moment = BookMoment(mid, ask - bid, below.near, above.near, below.wide, above.wide)
    within, truncated = min((mid * side.cheap, side.is_cheap_to_the_end) for side in (below, above))
    cheap = CheapSample(within, mid * min(below.levels.sizes[0], above.levels.sizes[0]), truncated)
    return BookSample(moment, moment.spread / mid * _BPS, cheap, SizesNear(below.levels, above.levels))


def _side(book: LocalBook, side: BookSide, prices: list[float], mid: float, grid: PriceGrid) -> _SideSample:
    """Measure one side. Sizes are read only within the wide band, which includes all levels within 2 bps of the mid."""
    cheap = _within(prices, mid, mid * (CHEAP_BPS / _BPS + _ROUNDING))
    near = _within(prices, mid, grid.band(mid, NEAR_BPS))
    wide = _within(prices, mid, grid.band(mid, WIDE_BPS, WIDE_TICKS))
    inside = prices[: max(1, wide)]
    sizes = book.sizes_at(side, inside)
    return _SideSample(
        sum(sizes[:near]), sum(sizes[:wide]), sum(sizes[:cheap]), cheap == len(prices), SideNear(inside, sizes)
    )


def _within(prices: list[float], mid: float, reach: float) -> int:
    """Count the prices within a distance of the mid. The prices must be sorted, best first."""
    return bisect_right(prices, reach, key=lambda price: abs(price - mid))


class Second(NamedTuple):
    """Statistics of one second: the book at its end, and its events.

    Depths are base quantities within 10 and 50 bps of the mid, or within some ticks if that is wider. `ofi` is the
    order flow imbalance of the quote events. `touch` is the sum over these events of the mean size at the best prices.
    `lean` is the bid's share of that size at the end.
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
    """The newest seconds, oldest first. Columns of eight bytes make an hour a third of a megabyte."""

    __slots__ = ("_columns", "_most")

    def __init__(self, most: int = HOUR_SECONDS) -> None:
        self._most = most
        self._columns = tuple(array("d") for _ in Second._fields)

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, second: Second) -> None:
        for column, value in zip(self._columns, second, strict=True):
            column.append(value)
        # Trim rarely, because it moves the whole array.
        if len(self) >= self._most + self._most // 4:
            for column in self._columns:
                del column[: -self._most]

    def clear(self) -> None:
        for column in self._columns:
            del column[:]

    def since(self, from_ms: int) -> list[Second]:
        """Return the seconds that ended at or after a time."""
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
