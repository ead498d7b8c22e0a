"""Joint moves of a portfolio's assets, and the contribution of each to the total risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from mcp_binance_server.analytics.envelope import WhyNull, Window
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

# A daily deviation of a billionth is rounding, not risk.
_NO_VARIANCE = 1e-18

DAY_MS = 86_400_000

# Close of each day by the day's opening time.
History = Mapping[int, Price]


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation of two assets, from -1 to 1, and the move of one per move of the other."""

    rho: float | None
    beta: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class RiskContribution:
    """The deviation of the whole and each asset's part of it. The parts add up to it, and a part can be negative.

    `effective` is the number of independent assets that would spread the risk as far.
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
        return RiskContribution(None, (), (), why_null="zero_variance")
    sigma = sqrt(total)
    # The squared diversification ratio (Choueifaty and Coignard 2008): risk shares alone count four coins as four.
    alone = sum(weight * sqrt(row[place]) for place, (weight, row) in enumerate(zip(weights, matrix, strict=True)))
    return RiskContribution(
        sigma, tuple(part / sigma for part in parts), tuple(part / total for part in parts), (alone / sigma) ** 2
    )


@dataclass(frozen=True, slots=True)
class AlignedReturns:
    """Simple daily returns of each asset on common days; `coverage` is the share of the days in between."""

    returns: tuple[tuple[float, ...], ...]
    n: int
    coverage: float
    window: Window | None


def daily_closes(candles: Sequence[Candle], *, until_ms: int) -> dict[int, Price]:
    """Return the closes of days that ended by `until_ms`: today's candle has no close yet."""
    return {each.open_time_ms: each.close for each in candles if each.close_time_ms <= until_ms}


def chained(first: History, second: History) -> dict[int, Price]:
    """Multiply two histories, for a price that goes through another asset."""
    return {day: Price(close * second[day]) for day, close in first.items() if day in second}


def inverted(history: History) -> dict[int, Price]:
    """Invert a history quoted in the opposite direction."""
    return {day: Price(1 / close) for day, close in history.items()}


def ordered_closes(history: History) -> list[float]:
    """Return the closes, oldest first."""
    return [float(history[day]) for day in sorted(history)]


def align(histories: Sequence[History]) -> AlignedReturns:
    """Return each asset's change on days that all have, together with the day before: no return spans a gap."""
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
