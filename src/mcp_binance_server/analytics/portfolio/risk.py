"""Correlations of a portfolio's assets, and the contribution of each asset to the total risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from mcp_binance_server.analytics.metric import WhyNull, Window
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

# Variance below this is rounding: it is a daily deviation of a billionth.
_NO_VARIANCE = 1e-18

DAY_MS = 86_400_000

# Daily closes by the opening time of the day.
History = Mapping[int, Price]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Correlation (rho, from -1 to 1) and beta of two assets."""

    rho: float | None
    beta: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class RiskContribution:
    """Standard deviation of the portfolio and the part of each asset in it.

    The parts add up to the deviation and can be negative. `effective` is the number of independent assets with the same
    diversification.
    """

    sigma: float | None
    contributions: tuple[float, ...]
    shares: tuple[float, ...]
    effective: float | None = None
    why_null: WhyNull | None = None


def portfolio_returns(weights: Sequence[float], returns: Sequence[Sequence[float]]) -> list[float]:
    """Return the portfolio's daily returns at today's weights."""
    return [
        sum(weight * move for weight, move in zip(weights, moves, strict=True)) for moves in zip(*returns, strict=True)
    ]


def correlate(asset: Sequence[float], reference: Sequence[float], *, minimum: int = DEFAULTS.corr_min_n) -> Correlation:
    """Compute Pearson's correlation, and beta: covariance over the variance of the reference."""
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
    """Split the standard deviation by asset: weight times marginal risk."""
    marginal = [sum(each * weight for each, weight in zip(row, weights, strict=True)) for row in matrix]
    parts = [weight * each for weight, each in zip(weights, marginal, strict=True)]
    total = sum(parts)
    if total <= _NO_VARIANCE:
        return RiskContribution(None, (), (), why_null="zero_variance")
    sigma = sqrt(total)
    # Squared diversification ratio (Choueifaty and Coignard 2008). Risk shares alone would count four coins that move
    # together as four.
    alone = sum(weight * sqrt(row[place]) for place, (weight, row) in enumerate(zip(weights, matrix, strict=True)))
    return RiskContribution(
        sigma, tuple(part / sigma for part in parts), tuple(part / total for part in parts), (alone / sigma) ** 2
    )


@dataclass(frozen=True, slots=True)
class AlignedReturns:
    """Simple daily returns of each asset on common days. `coverage` is their share of all days in the window."""

    returns: tuple[tuple[float, ...], ...]
    n: int
    coverage: float
    window: Window | None


def daily_closes(candles: Sequence[Candle], *, until_ms: int) -> dict[int, Price]:
    """Return the closes of days that ended by `until_ms`. Today's candle has no close yet."""
    return {each.open_time_ms: each.close for each in candles if each.close_time_ms <= until_ms}


def chained(first: History, second: History) -> dict[int, Price]:
    """Multiply two price histories, for an asset that is priced through another asset."""
    return {day: Price(close * second[day]) for day, close in first.items() if day in second}


def inverted(history: History) -> dict[int, Price]:
    """Invert a price history that is quoted in the opposite direction."""
    return {day: Price(1 / close) for day, close in history.items()}


def ordered_closes(history: History) -> list[float]:
    """Return the closes, oldest first."""
    return [float(history[day]) for day in sorted(history)]


def align(histories: Sequence[History]) -> AlignedReturns:
    """Return the daily returns of all assets on common days.

    The day before must be common too, so that no return spans a gap.
    """
    common = set(histories[0]).intersection(*histories[1:]) if histories else set[int]()
    days = sorted(day for day in common if day - DAY_MS in common)
    returns = tuple(
        tuple(float(history[day]) / float(history[day - DAY_MS]) - 1 for day in days) for history in histories
    )
    if not days:
        return AlignedReturns(returns, 0, 0.0, None)
    span = (max(common) - min(common)) // DAY_MS
    window = Window(min(common), max(common) + DAY_MS - 1)
    return AlignedReturns(returns, len(days), len(days) / span, window)
