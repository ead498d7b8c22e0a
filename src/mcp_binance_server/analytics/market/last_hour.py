"""Rolling columns of a market's last hour: spread, depth and moves. The present is compared with them."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

HOUR_S = 3_600
# Every fifth second is stored for health, every tenth for stress. The seconds in between hardly differ.
HEALTH_EVERY_S = 5
STRESS_EVERY_S = 10
_HEALTH_ROWS = HOUR_S // HEALTH_EVERY_S
_STRESS_ROWS = HOUR_S // STRESS_EVERY_S
_HIGH = 0.95


class StressParts(NamedTuple):
    """Lost depth, spread and distance moved, as logarithms. Higher is worse."""

    depth: float
    spread: float
    move: float


@dataclass(frozen=True, slots=True)
class StressScale:
    """Median and 95th percentile of each part."""

    middle: StressParts
    high: StressParts


@dataclass(frozen=True, slots=True)
class HealthScale:
    """Spreads and thinner sides of the hour, each sorted."""

    spreads: Sequence[float]
    depths: Sequence[float]

    def as_wide(self, spread: float) -> float:
        """Return the share of the hour in which the spread was at least as wide."""
        return (len(self.spreads) - bisect_left(self.spreads, spread)) / len(self.spreads)

    def as_thin(self, depth: float) -> float:
        """Return the share of the hour in which the side with less depth was at most as deep."""
        return bisect_right(self.depths, depth) / len(self.depths)


class LastHour:
    """Rolling columns of the last hour, in single precision.

    They follow slow changes of a book, so that these do not count as a lack of health.
    """

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
        """Add one second."""
        for column, value in zip(self._health, (relative_spread, thinner), strict=True):
            column.append(value)
            del column[:-_HEALTH_ROWS]

    def add_stress(self, parts: StressParts) -> None:
        """Add the stress parts of ten seconds."""
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
        """Return the columns for storage, interleaved row by row."""
        return {"health_seconds": _by_turns(self._health), "stress_seconds": _by_turns(self._stress)}

    def restore(self, health: Sequence[float], stress: Sequence[float]) -> None:
        """Restore the rows that `series` returned."""
        self._health = (array("f", health[::2][-_HEALTH_ROWS:]), array("f", health[1::2][-_HEALTH_ROWS:]))
        depth, spread, move = (array("f", stress[at::3][-_STRESS_ROWS:]) for at in range(3))
        self._stress = (depth, spread, move)


def single(value: float) -> float:
    """Round to single precision. Stored values are rounded, so values compared with them must be rounded too."""
    return array("f", (value,))[0]


def _by_turns(columns: Sequence["array[float]"]) -> "array[float]":
    return array("d", [each for row in zip(*columns, strict=True) for each in row])


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
