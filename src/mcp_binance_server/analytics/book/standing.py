"""Large standing size: size that stays in the book, and is unusual for its distance from the best price."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import neg
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import SIDES, BookSide, PriceGrid

# Bin width in basis points, and at least one tick.
BIN_BPS = 0.5
MOST_BINS = 128
# Minutes in the mean that defines the usual size at a distance.
MOST_MINUTES = 480
# Tolerance: float rounding must not move a price across the edge of its bin.
_ROUNDING = 1e-6

Levels = Sequence[tuple[float, float]]


class StandingBin(NamedTuple):
    """Minimum size of a bin over all samples, and the price of its largest level in the last sample."""

    side: BookSide
    distance: int
    size: float
    price: float


class StandingSize(NamedTuple):
    """A bin with standing size.

    The score is its excess over the usual size at this distance, divided by the rest of its side.
    """

    score: float
    side: BookSide
    price: float
    size: float
    share: float
    distance: int


@dataclass(frozen=True, slots=True)
class StandingBook:
    """Standing sizes of both sides in bins of width `step`, and the total of each side in the last sample."""

    bins: tuple[StandingBin, ...]
    totals: Mapping[BookSide, float]
    step: float


def bin_edges(price: float, step: float) -> tuple[float, float]:
    """Return the edges of the bin of a price. The upper edge is excluded."""
    at = _bin(price, step)
    return (at - _ROUNDING) * step, (at + 1 - _ROUNDING) * step


def _bin(price: float, step: float) -> int:
    return int(price / step + _ROUNDING)


class StandingReader:
    """Sampler of a book that keeps the minimum size of each bin."""

    __slots__ = ("_best", "_least", "_tick", "_totals", "_width")

    def __init__(self, grid: PriceGrid) -> None:
        self._tick = grid.tick
        self._width = 0
        self._least: dict[BookSide, dict[int, float]] = {}
        self._totals: dict[BookSide, float] = {}
        self._best: dict[BookSide, Levels] = {}

    def look(self, bids: Levels, asks: Levels) -> None:
        """Sample both sides, best level first. Both sides must have levels."""
        if not self._width:
            mid = (bids[0][0] + asks[0][0]) / 2
            self._width = max(1, round(mid * BIN_BPS / 10_000 / self._tick))
        step = self._tick * self._width
        for side, levels in zip(SIDES, (bids, asks), strict=True):
            bins = _binned(side, levels, step)
            before = self._least.get(side)
            if before is not None:
                self._least[side] = {at: min(size, bins[at]) for at, size in before.items() if at in bins}
            else:
                self._least[side] = bins
            self._totals[side] = sum(bins.values())
            self._best[side] = levels

    def book(self) -> StandingBook | None:
        """Return the sizes that were present in all samples, or None without samples."""
        if not self._totals:
            return None
        step = self._tick * self._width
        bins = list[StandingBin]()
        for side in SIDES:
            levels = self._best[side]
            touch, largest = _bin(levels[0][0], step), dict[int, tuple[float, float]]()
            for price, size in levels:
                at = _bin(price, step)
                if at in self._least[side] and size > largest.get(at, (0.0, 0.0))[0]:
                    largest[at] = size, price
            for at, size in self._least[side].items():
                distance = abs(at - touch)
                if distance < MOST_BINS:
                    bins.append(StandingBin(side, distance, size, largest[at][1]))
        return StandingBook(tuple(bins), self._totals, step)


def _binned(side: BookSide, levels: Levels, step: float) -> dict[int, float]:
    """Sum the sizes of each bin. Levels are sorted, so the end of a bin is found by bisection."""
    bins = dict[int, float]()
    prices, sizes = zip(*levels, strict=True)
    begin = 0
    while begin < len(prices):
        at = _bin(prices[begin], step)
        if side == "bid":
            end = bisect_right(prices, -(at - _ROUNDING) * step, begin + 1, key=neg)
        else:
            end = bisect_left(prices, (at + 1 - _ROUNDING) * step, begin + 1)
        bins[at] = sum(sizes[begin:end])
        begin = end
    return bins


class StandingProfile:
    """Mean size at each distance from the best price, over the minutes of one symbol. Depth depends on the distance."""

    __slots__ = ("_means", "minutes")

    def __init__(self) -> None:
        self.minutes = 0
        self._means: dict[BookSide, array[float]] = {side: array("f", bytes(4 * MOST_BINS)) for side in SIDES}

    def usual(self, side: BookSide, distance: int) -> float:
        return self._means[side][distance]

    def add(self, book: StandingBook) -> None:
        """Add a minute. A distance without standing size counts as 0."""
        self.minutes = min(MOST_MINUTES, self.minutes + 1)
        held = {(each.side, each.distance): each.size for each in book.bins}
        for side, means in self._means.items():
            for distance, mean in enumerate(means):
                means[distance] = mean + (held.get((side, distance), 0.0) - mean) / self.minutes

    def sizes(self, book: StandingBook, least: float) -> list[StandingSize]:
        """Return the standing sizes of at least `least`, by their excess over the usual size, largest first."""
        found = [
            StandingSize(
                (each.size - self.usual(each.side, each.distance)) / max(book.totals[each.side] - each.size, _NOTHING),
                each.side,
                each.price,
                each.size,
                each.size / book.totals[each.side],
                each.distance,
            )
            for each in book.bins
            if each.size >= least
        ]
        return sorted(found, reverse=True)

    def series(self) -> "array[float]":
        """Return the number of minutes and the means of both sides as one row for storage."""
        return array("d", [self.minutes, *self._means["bid"], *self._means["ask"]])

    def restore(self, row: Sequence[float]) -> None:
        """Restore the row that `series` returned."""
        if len(row) != 1 + 2 * MOST_BINS:
            raise ValueError(f"a profile has {1 + 2 * MOST_BINS} values, not {len(row)}")
        self.minutes = max(0, min(MOST_MINUTES, int(row[0])))
        self._means = {"bid": array("f", row[1 : 1 + MOST_BINS]), "ask": array("f", row[1 + MOST_BINS :])}


_NOTHING = 1e-12
