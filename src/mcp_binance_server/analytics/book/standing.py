"""Large size that stands: what each distance from the touch held without a break, against what it usually holds."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import SIDES, BookSide, PriceGrid

# Prices are put in bins of this width, or of one tick.
BIN_BPS = 0.5
MOST_BINS = 128
# The mean over so many minutes is what a distance usually holds.
MOST_MINUTES = 480

Levels = Sequence[tuple[float, float]]


class StandingBin(NamedTuple):
    """The least that a bin held over the time it was watched, and the largest of its levels at the end."""

    side: BookSide
    distance: int
    size: float
    price: float


class StandingSize(NamedTuple):
    """A bin that holds more than is usual at its distance; the score is the excess over the rest of its side."""

    score: float
    side: BookSide
    price: float
    size: float
    share: float


@dataclass(frozen=True, slots=True)
class StandingBook:
    """What stood on both sides, and all that was there at the end."""

    bins: tuple[StandingBin, ...]
    totals: Mapping[BookSide, float]


class StandingReader:
    """Takes a look at the book now and then, and keeps the least that each bin held."""

    __slots__ = ("_best", "_least", "_tick", "_totals", "_width")

    def __init__(self, grid: PriceGrid) -> None:
        self._tick = grid.tick
        self._width = 0
        self._least: dict[BookSide, dict[int, float]] = {}
        self._totals: dict[BookSide, float] = {}
        self._best: dict[BookSide, Levels] = {}

    def look(self, bids: Levels, asks: Levels) -> None:
        """Take both sides, best first; neither is empty."""
        if not self._width:
            mid = (bids[0][0] + asks[0][0]) / 2
            self._width = max(1, round(mid * BIN_BPS / 10_000 / self._tick))
        step = self._tick * self._width
        for side, levels in zip(SIDES, (bids, asks), strict=True):
            bins = dict[int, float]()
            for price, size in levels:
                at = int(price / step + 1e-6)
                bins[at] = bins.get(at, 0.0) + size
            before = self._least.get(side)
            if before is not None:
                self._least[side] = {at: min(size, bins[at]) for at, size in before.items() if at in bins}
            else:
                self._least[side] = bins
            self._totals[side] = sum(bins.values())
            self._best[side] = levels

    def book(self) -> StandingBook | None:
        """Return what stood all the time; None when nobody has looked."""
        if not self._totals:
            return None
        step = self._tick * self._width
        bins = list[StandingBin]()
        for side in SIDES:
            levels = self._best[side]
            touch, largest = int(levels[0][0] / step + 1e-6), dict[int, tuple[float, float]]()
            for price, size in levels:
                at = int(price / step + 1e-6)
                if at in self._least[side] and size > largest.get(at, (0.0, 0.0))[0]:
                    largest[at] = size, price
            for at, size in self._least[side].items():
                distance = abs(at - touch)
                if distance < MOST_BINS:
                    bins.append(StandingBin(side, distance, size, largest[at][1]))
        return StandingBook(tuple(bins), self._totals)


class StandingProfile:
    """The mean size that stood at each distance from the touch, over the symbol's own minutes (depth has a shape)."""

    __slots__ = ("_means", "minutes")

    def __init__(self) -> None:
        self.minutes = 0
        self._means: dict[BookSide, array[float]] = {side: array("f", bytes(4 * MOST_BINS)) for side in SIDES}

    def usual(self, side: BookSide, distance: int) -> float:
        return self._means[side][distance]

    def add(self, book: StandingBook) -> None:
        """Take a minute; a distance at which nothing stood counts as nothing."""
        self.minutes = min(MOST_MINUTES, self.minutes + 1)
        held = {(each.side, each.distance): each.size for each in book.bins}
        for side, means in self._means.items():
            for distance, mean in enumerate(means):
                means[distance] = mean + (held.get((side, distance), 0.0) - mean) / self.minutes

    def largest(self, book: StandingBook, least: float) -> StandingSize | None:
        """Return the size that exceeds its usual most; what is less than `least` does not matter."""
        found = [
            StandingSize(
                (each.size - self.usual(each.side, each.distance)) / max(book.totals[each.side] - each.size, _NOTHING),
                each.side,
                each.price,
                each.size,
                each.size / book.totals[each.side],
            )
            for each in book.bins
            if each.size >= least
        ]
        return max(found, default=None)

    def series(self) -> "array[float]":
        """Return the minutes and both sides' means in one row, to be kept."""
        return array("d", [self.minutes, *self._means["bid"], *self._means["ask"]])

    def restore(self, row: Sequence[float]) -> None:
        """Take back what `series` returned."""
        if len(row) != 1 + 2 * MOST_BINS:
            raise ValueError(f"a profile has {1 + 2 * MOST_BINS} values, not {len(row)}")
        self.minutes = max(0, min(MOST_MINUTES, int(row[0])))
        self._means = {"bid": array("f", row[1 : 1 + MOST_BINS]), "ask": array("f", row[1 + MOST_BINS :])}


_NOTHING = 1e-12
