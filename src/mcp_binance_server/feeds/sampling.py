"""What is read off a book once a second: its spread, its depth near the mid, and the levels that stand out."""

from decimal import Decimal
from typing import NamedTuple

from mcp_binance_server.analytics.book.walls import WallCandidate, wall_places
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.book import WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.feeds.book import LocalBook

NEAR_BPS, WIDE_BPS = 10, 50
# Enough to know what is large for a side; parsing all levels of 400 books every second would take most of a core.
WALL_LEVELS = 200
# As many as a snapshot tells; what a book holds beyond them is known only in part.
MOST_LEVELS = 1_000
_BPS = 10_000


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
