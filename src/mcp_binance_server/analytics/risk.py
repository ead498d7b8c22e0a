"""Statistics of returns: tail losses, correlation, beta, and who carries how much of the risk."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS

# A daily deviation of a billionth is rounding, not risk.
_NO_VARIANCE = 1e-18


@dataclass(frozen=True, slots=True)
class TailRisk:
    """What the worst of n days lost: VaR is the least and ES the mean of the k worst; a negative loss is a gain."""

    var: float | None
    es: float | None
    k: int
    n: int
    level: int
    method: Literal["historical_ceil_k"] = "historical_ceil_k"
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Correlation:
    """How far two assets move together, from -1 to 1, and how much one moves for each move of the other."""

    rho: float | None
    beta: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class RiskContribution:
    """The deviation of the whole and each asset's part of it; the parts add up to it and one may be negative."""

    sigma: float | None
    contributions: tuple[float, ...]
    shares: tuple[float, ...]
    why_null: WhyNull | None = None


def portfolio_returns(weights: Sequence[float], returns: Sequence[Sequence[float]]) -> list[float]:
    """Return what the portfolio would have earned each day with today's weights."""
    return [
        sum(weight * move for weight, move in zip(weights, moves, strict=True)) for moves in zip(*returns, strict=True)
    ]


def tail_risk(returns: Sequence[float], level: int = DEFAULTS.var_level, minimum: int = DEFAULTS.var_min_n) -> TailRisk:
    """Read value at risk and expected shortfall off the sorted returns."""
    n = len(returns)
    k = -(-n * (100 - level) // 100)  # ceil in integers: 100 * (1 - 0.95) is more than 5 in floats
    if n < minimum or not k:
        return TailRisk(None, None, k, n, level, why_null="insufficient_history")
    worst = sorted(returns)[:k]
    return TailRisk(-worst[-1], -fmean(worst), k, n, level)


def correlate(asset: Sequence[float], reference: Sequence[float], *, minimum: int = DEFAULTS.corr_min_n) -> Correlation:
    """Measure Pearson's correlation, and beta as covariance over the variance of the reference."""
    n = len(asset)
    if n < minimum:
        return Correlation(None, None, n, "insufficient_history")
    (spread, together), (_, of_reference) = covariances((asset, reference))
    if of_reference <= _NO_VARIANCE:
        return Correlation(None, None, n, "zero_variance")
    if spread <= _NO_VARIANCE:
        return Correlation(None, together / of_reference, n, "zero_variance")
    rho = together / sqrt(spread * of_reference)
    return Correlation(max(-1.0, min(1.0, rho)), together / of_reference, n)


def covariances(returns: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the sample covariance of every pair."""
    size = len(returns)
    matrix = [[0.0] * size for _ in range(size)]
    centred = [[move - middle for move in moves] for moves, middle in ((each, fmean(each)) for each in returns)]
    for row in range(size):
        for column in range(row, size):
            products = sum(left * right for left, right in zip(centred[row], centred[column], strict=True))
            matrix[row][column] = matrix[column][row] = products / (len(centred[row]) - 1)
    return matrix


def risk_contributions(weights: Sequence[float], matrix: Sequence[Sequence[float]]) -> RiskContribution:
    """Split the deviation of the whole by asset: weight times marginal risk."""
    marginal = [sum(each * weight for each, weight in zip(row, weights, strict=True)) for row in matrix]
    parts = [weight * each for weight, each in zip(weights, marginal, strict=True)]
    total = sum(parts)
    if total <= _NO_VARIANCE:
        return RiskContribution(None, (), (), "zero_variance")
    sigma = sqrt(total)
    return RiskContribution(sigma, tuple(part / sigma for part in parts), tuple(part / total for part in parts))
