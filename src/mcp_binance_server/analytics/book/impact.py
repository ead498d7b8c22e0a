"""How prices answer to trading: impact per volume, illiquidity, and what the spread really costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean

from mcp_binance_server.analytics.book.metrics import BPS, Taker
from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

REALISED_HORIZON_MS = 5000
_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class KyleLambda:
    """The move of the mid per unit of signed volume; without `distinguishable` it may as well be 0."""

    value: float | None
    standard_error: float | None
    t: float | None
    r_squared: float | None
    n: int
    distinguishable: bool = False
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Amihud:
    """The mean absolute return per unit of quote volume, over the bars that had volume."""

    value: float | None
    per_million: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class SpreadParts:
    """What a trade paid against the mid, split into what its maker kept and how far the mid went on."""

    effective: float
    effective_bps: float
    realised: float | None
    impact: float | None
    horizon_ms: int = REALISED_HORIZON_MS
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class RollSpread:
    """The spread that the bounce between bid and ask implies; undefined while prices trend."""

    value: float | None
    autocovariance: float | None
    n: int
    why_null: WhyNull | None = None


def kyle_lambda(
    signed_volumes: Sequence[float],
    moves: Sequence[float],
    *,
    minimum: int = DEFAULTS.kyle_min_n,
    thresholds: Thresholds = DEFAULTS,
) -> KyleLambda:
    """Fit moves of the mid to signed volume by least squares, one pair for each second."""
    n = len(signed_volumes)
    if n < max(minimum, 3):  # a line through two points has no error left to judge it by
        return KyleLambda(None, None, None, None, n, why_null="insufficient_events")
    middle_volume, middle_move = fmean(signed_volumes), fmean(moves)
    pairs = [(v - middle_volume, move - middle_move) for v, move in zip(signed_volumes, moves, strict=True)]
    sxx = sum(x * x for x, _ in pairs)
    if sxx <= _ROUNDING * sum(v * v for v in signed_volumes):
        return KyleLambda(None, None, None, None, n, why_null="no_flow_variance")
    slope = sum(x * y for x, y in pairs) / sxx
    syy = sum(y * y for _, y in pairs)
    residual = sum((y - slope * x) ** 2 for x, y in pairs)
    error = sqrt(residual / (n - 2) / sxx)
    t = slope / error if error else None
    clear = slope > 0 and (t is None or t >= thresholds.kyle_min_t)
    return KyleLambda(slope, error, t, 1 - residual / syy if syy else None, n, clear)


def amihud(returns: Sequence[float], quote_volumes: Sequence[float], *, minimum: int = DEFAULTS.amihud_min_n) -> Amihud:
    """Relate returns to the volume that moved them; a bar without volume says nothing and is skipped."""
    ratios = [abs(move) / volume for move, volume in zip(returns, quote_volumes, strict=True) if volume > 0]
    if len(ratios) < max(minimum, 1):
        return Amihud(None, None, len(ratios), "insufficient_bars")
    mean = fmean(ratios)
    return Amihud(mean, mean * 1e6, len(ratios))


def spread_parts(price: float, side: Taker, mid: float, later_mid: float | None) -> SpreadParts:
    """Split the cost of one trade by the mid before it and the mid a horizon later, once that is known."""
    sign = 1 if side == "buy" else -1
    effective = 2 * sign * (price - mid)
    if later_mid is None:
        return SpreadParts(effective, effective / mid * BPS, None, None, why_null="collecting")
    return SpreadParts(effective, effective / mid * BPS, 2 * sign * (price - later_mid), 2 * sign * (later_mid - mid))


def roll_spread(changes: Sequence[float]) -> RollSpread:
    """Read a spread off the mean product of neighbouring price changes, which is negative when prices bounce."""
    n = len(changes)
    if n < 2:
        return RollSpread(None, None, n, "insufficient_events")
    autocovariance = fmean(before * after for before, after in pairwise(changes))
    if autocovariance >= 0:
        return RollSpread(None, autocovariance, n, "autocov_not_negative")
    return RollSpread(2 * sqrt(-autocovariance), autocovariance, n)
