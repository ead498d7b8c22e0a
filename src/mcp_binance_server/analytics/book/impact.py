"""Price response to trading: price impact (Kyle), illiquidity (Amihud), effective and realised spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean, median
from typing import NamedTuple

from mcp_binance_server.analytics.book.metrics import BPS, Taker
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.periods import Candle

REALISED_HORIZON_MS = 5000
# Minimum number of trades for a median.
PAID_TRADES = 100
_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class KyleLambda:
    """Price impact: the move of the mid per unit of signed volume.

    If not `distinguishable`, the impact does not differ significantly from 0.
    """

    value: float | None
    standard_error: float | None
    t: float | None
    r_squared: float | None
    n: int
    distinguishable: bool = False
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Amihud:
    """Illiquidity: the mean of absolute return over quote volume, for the bars with volume."""

    value: float | None
    per_million: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class IlliquidityRank:
    """Daily illiquidity of a symbol: its mean, its value on the last whole day, and the rank of that day."""

    mean: Amihud
    last_day: float | None
    rank: float | None


@dataclass(frozen=True, slots=True)
class SpreadParts:
    """The spread paid by one trade, split into two parts.

    The maker kept the realised part. The impact part is the later move of the mid.
    """

    effective: float
    effective_bps: float
    realised: float | None
    impact: float | None
    horizon_ms: int = REALISED_HORIZON_MS
    why_null: WhyNull | None = None


class MidTrade(NamedTuple):
    """A trade with the mid before it, and the mid one horizon later if known."""

    price: float
    side: Taker
    mid: float
    later_mid: float | None


@dataclass(frozen=True, slots=True)
class PaidSpread:
    """Median effective spread of the trades in a window, in bps, next to the quoted spread."""

    effective_bps: float | None
    realised_bps: float | None
    impact_bps: float | None
    quoted_bps: float | None
    n: int
    horizon_ms: int = REALISED_HORIZON_MS
    why_null: WhyNull | None = None


def kyle_lambda(
    signed_volumes: Sequence[float],
    moves: Sequence[float],
    *,
    minimum: int = DEFAULTS.kyle_min_n,
    thresholds: Thresholds = DEFAULTS,
) -> KyleLambda:
    """Fit moves of the mid to signed volume by least squares. Each interval gives one pair."""
    n = len(signed_volumes)
    if n < max(minimum, 3):  # with two points the error of the slope cannot be estimated
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
    """Compute the mean illiquidity of bars. Bars without volume are skipped."""
    ratios = [abs(move) / volume for move, volume in zip(returns, quote_volumes, strict=True) if volume > 0]
    if len(ratios) < max(minimum, 1):
        return Amihud(None, None, len(ratios), "insufficient_bars")
    mean = fmean(ratios)
    return Amihud(mean, mean * 1e6, len(ratios))


def illiquidity(days: Sequence[Candle], *, minimum: int = DEFAULTS.amihud_min_n) -> IlliquidityRank:
    """Compute the illiquidity of whole days, oldest first.

    The first day only provides the previous close for the second day.
    """
    moves = [abs(float(day.close) / float(before.close) - 1) for before, day in pairwise(days)]
    volumes = [float(day.quote_volume) for day in days[1:]]
    mean = amihud(moves, volumes, minimum=minimum)
    ratios = [move / volume * 1e6 for move, volume in zip(moves, volumes, strict=True) if volume > 0]
    if mean.value is None or not volumes[-1]:
        return IlliquidityRank(mean, None, None)
    return IlliquidityRank(mean, ratios[-1], sum(each <= ratios[-1] for each in ratios) / len(ratios))


def spread_parts(price: float, side: Taker, mid: float, later_mid: float | None) -> SpreadParts:
    """Split the spread paid by one trade. The parts need the mid one horizon later."""
    sign = 1 if side == "buy" else -1
    effective = 2 * sign * (price - mid)
    if later_mid is None:
        return SpreadParts(effective, effective / mid * BPS, None, None, why_null="collecting")
    return SpreadParts(effective, effective / mid * BPS, 2 * sign * (price - later_mid), 2 * sign * (later_mid - mid))


def paid_spread(trades: Sequence[MidTrade], quoted_bps: Sequence[float], *, minimum: int = PAID_TRADES) -> PaidSpread:
    """Return the median spreads of trades.

    The realised and the impact part need `minimum` trades that are at least one horizon old.
    """
    if len(trades) < minimum:
        return PaidSpread(None, None, None, None, len(trades), why_null="insufficient_events")
    parts = [(each.mid, spread_parts(each.price, each.side, each.mid, each.later_mid)) for each in trades]
    realised = [part.realised / mid * BPS for mid, part in parts if part.realised is not None]
    impact = [part.impact / mid * BPS for mid, part in parts if part.impact is not None]
    enough = len(realised) >= minimum
    return PaidSpread(
        median(part.effective_bps for _, part in parts),
        median(realised) if enough else None,
        median(impact) if enough else None,
        median(quoted_bps) if quoted_bps else None,
        len(trades),
    )
