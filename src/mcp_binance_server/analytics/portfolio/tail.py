"""Losses of a portfolio on its worst days, and their range over redraws."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean
from typing import Literal

from mcp_binance_server.analytics.confidence import redraws
from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS

# Consecutive days are drawn together, because quiet and volatile days cluster (Künsch 1989).
BLOCK_DAYS = 5
RESAMPLES = 500
# Fixed, so that equal days give equal ranges in every call.
_SEED = 0
_OUTSIDE = 0.025


@dataclass(frozen=True, slots=True)
class TailRange:
    """The range of VaR and ES in 95 of 100 redraws; the true value lies outside more often than that.

    With 89 days of GARCH(1,1) with t(4) shocks it was inside in 64 to 75 % (VaR) and 39 to 57 % (ES) of the series,
    with independent normal days in 90 and 74 %.
    """

    var_low: float
    var_high: float
    es_low: float
    es_high: float


@dataclass(frozen=True, slots=True)
class TailRisk:
    """Loss on the worst of n days: VaR is the smallest and ES the mean of the k worst; a negative loss is a gain."""

    var: float | None
    es: float | None
    k: int
    n: int
    level: int
    method: Literal["historical_ceil_k"] = "historical_ceil_k"
    why_null: WhyNull | None = None


def tail_risk(returns: Sequence[float], level: int = DEFAULTS.var_level, minimum: int = DEFAULTS.var_min_n) -> TailRisk:
    """Compute value at risk and expected shortfall from the sorted returns."""
    n = len(returns)
    k = _worst(n, level)
    if n < minimum or not k:
        return TailRisk(None, None, k, n, level, why_null="insufficient_history")
    worst = sorted(returns)[:k]
    return TailRisk(-worst[-1], -fmean(worst), k, n, level)


def tail_range(returns: Sequence[float], level: int = DEFAULTS.var_level) -> TailRange:
    """Redraw the days in blocks, as many as there were, and return the ranges of VaR and ES."""
    n, k = len(returns), _worst(len(returns), level)
    blocks = [returns[start : start + BLOCK_DAYS] for start in range(max(1, n - BLOCK_DAYS + 1))]
    values: list[float] = []
    shortfalls: list[float] = []
    for drawn in redraws(len(blocks), -(-n // BLOCK_DAYS), _SEED, resamples=RESAMPLES):
        days = chain.from_iterable(map(blocks.__getitem__, drawn))
        worst = sorted(islice(days, n))[:k]
        values.append(-worst[-1])
        shortfalls.append(-sum(worst) / k)
    return TailRange(*_middle(values), *_middle(shortfalls))


def _worst(n: int, level: int) -> int:
    return -(-n * (100 - level) // 100)  # ceil in integers: 100 * (1 - 0.95) is more than 5 in floats


def _middle(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = int(len(ordered) * _OUTSIDE)
    return ordered[cut], ordered[-1 - cut]
