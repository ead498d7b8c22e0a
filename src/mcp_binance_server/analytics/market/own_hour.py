"""Columns of a market's last hour: spread, depth and moves by second, as the reference for the present."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

HOUR_S = 3_600
# Every fifth second for health, every tenth for stress: the seconds between hardly differ.
HEALTH_EVERY_S = 5
STRESS_EVERY_S = 10
_HEALTH_ROWS = HOUR_S // HEALTH_EVERY_S
_STRESS_ROWS = HOUR_S // STRESS_EVERY_S
_HIGH = 0.95


class StressParts(NamedTuple):
    """Depth lost, spread widened and distance moved, as logarithms: higher is worse."""

    depth: float
    spread: float
    move: float


@dataclass(frozen=True, slots=True)
class StressScale:
    """The median and the 95th percentile of each part."""

    middle: StressParts
    high: StressParts


@dataclass(frozen=True, slots=True)
class HealthScale:
    """The hour's relative spreads and thinner sides, each sorted."""

    spreads: Sequence[float]
    depths: Sequence[float]

    def as_wide(self, spread: float) -> float:
        """Return the share of the hour with a spread at least as wide."""
        return (len(self.spreads) - bisect_left(self.spreads, spread)) / len(self.spreads)

    def as_thin(self, depth: float) -> float:
        """Return the share of the hour whose thinner side was at most as deep."""
        return bisect_right(self.depths, depth) / len(self.depths)


class OwnHour:
    """Rolling columns of single precision: a book that slowly changes its shape is not unhealthy."""

    __slots__ = ("_health", "_stress")

    def __init__(self) -> None:
        self._health: tuple[array[float], array[float]] = (array("f"), array("f"))
        self._stress: tuple[array[float], array[float], array[float]] = (array("f"), array("f"), array("f"))

    @property
    def health_minutes(self) -> int:
        return len(self._health[0]) * HEALTH_EVERY_S // 60

    @property
    def stress_minutes(self) -> int:
        return len(self._stress[0]) * STRESS_EVERY_S // 60

    def add_health(self, relative_spread: float, thinner: float) -> None:
        """Add a second."""
        for column, value in zip(self._health, (relative_spread, thinner), strict=True):
            column.append(value)
            del column[:-_HEALTH_ROWS]

    def add_stress(self, parts: StressParts) -> None:
        """Add the parts of ten seconds."""
        for column, value in zip(self._stress, parts, strict=True):
            column.append(value)
            del column[:-_STRESS_ROWS]

    def health_scale(self) -> HealthScale:
        spreads, depths = self._health
        return HealthScale(array("f", sorted(spreads)), array("f", sorted(depths)))

    def stress_scale(self) -> StressScale:
        return StressScale(
            StressParts(*(median(column) for column in self._stress)),
            StressParts(*(_quantile(column, _HIGH) for column in self._stress)),
        )

    def series(self) -> dict[str, "array[float]"]:
        """Return the columns, interleaved by row, for storage."""
        return {"health_seconds": _by_turns(self._health), "stress_seconds": _by_turns(self._stress)}

    def restore(self, health: Sequence[float], stress: Sequence[float]) -> None:
        """Restore the rows that `series` returned."""
        self._health = (array("f", health[::2][-_HEALTH_ROWS:]), array("f", health[1::2][-_HEALTH_ROWS:]))
        depth, spread, move = (array("f", stress[at::3][-_STRESS_ROWS:]) for at in range(3))
        self._stress = (depth, spread, move)


def single(value: float) -> float:
    """Round to single precision, as the columns do: a value compared with them must be rounded alike."""
    return array("f", (value,))[0]


def _by_turns(columns: Sequence["array[float]"]) -> "array[float]":
    return array("d", [each for row in zip(*columns, strict=True) for each in row])


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
