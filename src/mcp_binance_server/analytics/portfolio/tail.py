"""Value at risk and expected shortfall of a portfolio, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean
from typing import Literal

from mcp_binance_server.analytics.confidence import redraws
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS

# Block length in days. Quiet and volatile days cluster, so days are drawn in blocks (Künsch 1989).
BLOCK_DAYS = 5
RESAMPLES = 500
# Fixed seed, so that equal days give equal intervals in every call.
_SEED = 0
# Share of simulated histories of 89 days whose range held the true value: GARCH(1,1) with t(4) shocks and a long memory
# of volatility. `tests/analytics/portfolio/test_coverage.py` measures it.
VAR_COVERAGE = (0.64, 0.75)
ES_COVERAGE = (0.39, 0.57)
_OUTSIDE = 0.025


@dataclass(frozen=True, slots=True)
class TailRange:
    """95 % bootstrap intervals of VaR and ES. They contain the true value in fewer than 95 % of cases.

    This was measured on series of 89 days. For GARCH(1,1) with t(4) shocks, VaR was inside its interval in 64 to 75 %
    of the series, and ES in 39 to 57 %. For independent normal days these shares were 90 % and 74 %.
    """

    var_low: float
    var_high: float
    es_low: float
    es_high: float


@dataclass(frozen=True, slots=True)
class TailRisk:
    """Loss on the worst days: of the k worst of n days, VaR is the smallest loss and ES the mean.

    A negative loss is a gain.
    """

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
    """Return bootstrap intervals of VaR and ES. Each resample draws blocks of days up to the original number."""
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
    return -(-n * (100 - level) // 100)  # ceil in integers, because 100 * (1 - 0.95) is more than 5 in floats


def _middle(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = int(len(ordered) * _OUTSIDE)
    return ordered[cut], ordered[-1 - cut]
