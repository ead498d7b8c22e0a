"""Absorption: flow without a price response, as a residual of a linear fit to the symbol's own minutes.

Kyle (1985): the mid moves in proportion to net taker volume. Hasbrouck (1991) describes how long the effect lasts.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

MOST_PAIRS = 240
LEAST_PAIRS = 40
LEAST_T = 2.0
# Absorption needs flow beyond its 90th percentile, and a price that made less than half of the usual move.
LARGE_SHARE = 0.9
MOVED_SHARE = 0.5

_NOTHING = 1e-12


class MinuteFlow(NamedTuple):
    """Net taker volume (buys minus sells) of one minute, and the move of the mid."""

    flow: float
    move: float


@dataclass(frozen=True, slots=True)
class KyleLine:
    """Linear fit of moves to flows: slope, standard deviation of residuals, t-statistic, and minimum large flow."""

    slope: float
    noise: float
    t: float
    large: float

    def residual(self, minute: MinuteFlow) -> float:
        """Return the shortfall of a move from the usual move for its flow, in standard deviations.

        A move without a shortfall has 0.
        """
        flow, move = minute
        if abs(flow) < self.large or self.slope <= 0:
            return 0.0
        side = 1 if flow > 0 else -1
        usual = self.slope * abs(flow)
        return (usual - side * move) / self.noise if side * move < MOVED_SHARE * usual else 0.0


class _Sums(NamedTuple):
    n: int
    x: float
    y: float
    xx: float
    xy: float
    yy: float

    @classmethod
    def of(cls, pairs: Sequence[MinuteFlow]) -> "_Sums":
        x, y = [each.flow for each in pairs], [each.move for each in pairs]
        products = sum(a * b for a, b in zip(x, y, strict=True))
        return cls(len(pairs), sum(x), sum(y), sum(a * a for a in x), products, sum(b * b for b in y))

    def without(self, pair: MinuteFlow) -> "_Sums":
        x, y = pair
        return _Sums(self.n - 1, self.x - x, self.y - y, self.xx - x * x, self.xy - x * y, self.yy - y * y)

    def line(self, large: float) -> KyleLine:
        spread = max(self.xx - self.x * self.x / self.n, _NOTHING)
        shared = self.xy - self.x * self.y / self.n
        slope = shared / spread
        left = max(self.yy - self.y * self.y / self.n - slope * shared, 0.0)
        noise = max(sqrt(left / (self.n - 2)), _NOTHING)
        return KyleLine(slope, noise, slope * sqrt(spread) / noise, large)


class FlowAnswers:
    """Flow and move of the symbol's own minutes, oldest first."""

    __slots__ = ("_flows", "_moves")

    def __init__(self) -> None:
        self._flows: array[float] = array("f")
        self._moves: array[float] = array("f")

    def __len__(self) -> int:
        return len(self._flows)

    def add(self, minute: MinuteFlow) -> None:
        for column, value in zip((self._flows, self._moves), minute, strict=True):
            column.append(value)
            del column[:-MOST_PAIRS]

    def line(self) -> KyleLine | None:
        """Fit the line. Return None with too few minutes, or if the price does not follow the flow."""
        pairs = self._pairs()
        if len(pairs) < LEAST_PAIRS:
            return None
        line = _Sums.of(pairs).line(_large(pairs))
        return line if line.slope > 0 and line.t >= LEAST_T else None

    def residuals(self) -> list[float]:
        """Return the residual of each minute from a fit to all other minutes.

        A fit that includes the minute itself would hide an unusual minute. A minute without large flow has a residual
        of 0.
        """
        pairs = self._pairs()
        sums, large = _Sums.of(pairs), _large(pairs)
        return [0.0 if abs(each.flow) < large else sums.without(each).line(large).residual(each) for each in pairs]

    def _pairs(self) -> list[MinuteFlow]:
        return [MinuteFlow(*each) for each in zip(self._flows, self._moves, strict=True)]

    def series(self) -> "array[float]":
        """Return alternating flows and moves, for storage."""
        return array("d", [each for pair in zip(self._flows, self._moves, strict=True) for each in pair])

    def restore(self, row: Sequence[float]) -> None:
        """Restore the row that `series` returned."""
        self._flows, self._moves = array("f", row[::2][-MOST_PAIRS:]), array("f", row[1::2][-MOST_PAIRS:])


def _large(pairs: Sequence[MinuteFlow]) -> float:
    ordered = sorted(abs(each.flow) for each in pairs)
    return ordered[min(len(ordered) - 1, int(LARGE_SHARE * len(ordered)))]
