"""Statistics that a few odd values do not move, and the turning points of a series."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean, median
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.periods import Candle

Scale = Literal["mad", "meanad", "degenerate"]
Measure = Literal["raw", "log"]

# Both make a deviation comparable with a standard deviation of normal values (Iglewicz and Hoaglin 1993).
_MAD = 0.6745
_MEAN_AD = 1.253314
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class RobustZ:
    """The deviation from the median in robust units; where the others are all equal only the plain ratio is left."""

    z: float | None
    scale: Scale
    median: float | None
    mad: float | None = None
    meanad: float | None = None
    ratio: float | None = None
    why_null: WhyNull | None = None


def robust_z(values: Sequence[float], at: int, measure: Measure = "raw", *, leave_out: bool = True) -> RobustZ:
    """Compare one of the values with the rest, or with all of them; logarithms need values above 0."""
    others = [*values[:at], *values[at + 1 :]] if leave_out else values
    return robust_z_of(values[at], others, measure)


def robust_z_of(value: float, others: Sequence[float], measure: Measure = "raw") -> RobustZ:
    """Compare a value with others."""
    if not others:
        return RobustZ(None, "degenerate", None, why_null="degenerate")
    x, sample = (log(value), [log(each) for each in others]) if measure == "log" else (value, others)
    spread, plain = _Spread.of(sample), median(others)
    unit = spread.unit
    return RobustZ(
        z=None if unit is None else (x - spread.middle) / unit,
        scale=spread.scale,
        median=spread.middle,
        mad=spread.mad,
        meanad=spread.meanad,
        ratio=value / plain if plain else None,
        why_null="degenerate" if unit is None else None,
    )


class _Spread(NamedTuple):
    middle: float
    mad: float
    meanad: float

    @classmethod
    def of(cls, sample: Sequence[float]) -> "_Spread":
        middle = median(sample)
        deviations = [abs(each - middle) for each in sample]
        return cls(middle, median(deviations), fmean(deviations))

    @property
    def scale(self) -> Scale:
        nothing = _ROUNDING * abs(self.middle)  # what is left of equal values by rounding
        return "mad" if self.mad > nothing else "meanad" if self.meanad > nothing else "degenerate"

    @property
    def unit(self) -> float | None:
        """Return the deviation that counts as one."""
        units: dict[Scale, float | None] = {
            "mad": self.mad / _MAD, "meanad": self.meanad * _MEAN_AD, "degenerate": None
        }  # fmt: skip
        return units[self.scale]


@dataclass(frozen=True, slots=True)
class Swings:
    """Which bars are swing highs and which are swing lows, by their place in the series."""

    highs: tuple[int, ...]
    lows: tuple[int, ...]


def find_swings(candles: Sequence[Candle], side: int = DEFAULTS.swing_side) -> Swings:
    """Find bars strictly above, or below, the bars on each side; the last ones can never be a swing."""
    highs: list[int] = []
    lows: list[int] = []
    for at in range(side, len(candles) - side):
        bar = candles[at]
        around = (*candles[at - side : at], *candles[at + 1 : at + 1 + side])
        if all(bar.high > other.high for other in around):
            highs.append(at)
        if all(bar.low < other.low for other in around):
            lows.append(at)
    return Swings(tuple(highs), tuple(lows))
