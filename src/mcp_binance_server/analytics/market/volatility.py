"""Volatility of a price: from closes, from ranges, per year, and as a class."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log, sqrt
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.metric import Measured, WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.domain.periods import Candle

YEAR_MINUTES = 365 * 24 * 60
DAY_MINUTES = 24 * 60
CLASSES = ("Stable", "Low volatility", "Medium volatility", "Medium-high volatility", "High volatility")
NOT_MEASURED = "Volatility not measured"
# Margin at an edge between classes, as a share of the edge. It is the standard error of 90 fat-tailed days.
EDGE_MARGIN = 0.10
HIGH_CLASSES = frozenset(CLASSES[3:])
_DEFAULT_CLASS = {"BTC": CLASSES[4], "ETH": CLASSES[3], "BNB": CLASSES[2]} | dict.fromkeys(STABLECOINS, CLASSES[0])

Basis = Literal["measured", "default", "none"]


class LogBar(NamedTuple):
    """Logarithms of high, low and close of a bar over its open."""

    high: float
    low: float
    close: float


@dataclass(frozen=True, slots=True)
class RealisedVolatility:
    """Realised variance and volatility (sum of squared log returns and its root), and standard deviation per bar."""

    variance: float | None
    root: float | None
    stdev: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class AssetVolatility:
    """Annual volatility with its class, and the basis of the class.

    `near` is the neighbouring class if the value is within a tenth of the edge between both.
    """

    annual: float | None
    label: str
    basis: Basis
    n: int
    near: str | None = None


def log_returns(closes: Sequence[float]) -> list[float]:
    """Return the log returns of closes."""
    return [log(after / before) for before, after in pairwise(closes)]


def simple_returns(closes: Sequence[float]) -> list[float]:
    """Return the relative changes of closes. Weighted sums of them are the returns of a portfolio."""
    return [after / before - 1 for before, after in pairwise(closes)]


def realised_volatility(closes: Sequence[float]) -> RealisedVolatility:
    """Compute volatility from closes. In bars under a minute the bid-ask bounce counts as moves."""
    returns = log_returns(closes)
    if len(returns) < 2:
        return RealisedVolatility(None, None, None, len(returns), "insufficient_bars")
    total = sum(each * each for each in returns)
    return RealisedVolatility(total, sqrt(total), stdev(returns), len(returns))


def annualise(per_bar: float, bar_minutes: float) -> float:
    """Scale a standard deviation per bar to a year of 24-hour trading."""
    return per_bar * sqrt(YEAR_MINUTES / bar_minutes)


def garman_klass(candles: Sequence[Candle]) -> Measured:
    """Estimate the variance per bar with the Garman-Klass estimator, the default range estimator."""
    return _mean_variance(
        [garman_klass_term(bar.high - bar.low, bar.close) for bar in _log_bars(candles)], "garman_klass"
    )


def garman_klass_term(extent: float, move: float) -> float:
    """Return one bar's term of the estimator, from its range and its move as logarithms."""
    return 0.5 * extent**2 - (2 * log(2) - 1) * move**2


def volatility_class(annual: float | None, *, edges: Sequence[float] = DEFAULTS.vol_edges) -> str:
    """Return the class of an annual volatility. A value on an edge belongs to the class above."""
    if annual is None:
        return NOT_MEASURED
    return CLASSES[sum(annual >= edge for edge in edges)]


def asset_volatility(
    asset: str, daily_closes: Sequence[float], *, thresholds: Thresholds = DEFAULTS
) -> AssetVolatility:
    """Classify an asset by its daily closes. If there are too few, use the table of well-known assets.

    The returns are simple, like those of a portfolio. A class changes only if the value passes the edge by a tenth,
    about its standard error at 90 days.
    """
    returns = simple_returns(daily_closes)
    if len(returns) >= thresholds.vol_min_n:
        annual, edges = annualise(stdev(returns), DAY_MINUTES), thresholds.vol_edges
        # No state is stored. The present class is found by replaying these closes day by day in rolling windows.
        # A comparison with only the class of the day before would make the margin useless.
        first, *later = _rolling_yearly(returns, thresholds.vol_min_n)
        place = CLASSES.index(volatility_class(first, edges=edges))
        for value in (*later, annual):
            place = _kept(place, value, edges)
        near = _across(place, annual, edges)
        return AssetVolatility(
            annual, CLASSES[place], "measured", len(returns), None if near is None else CLASSES[near]
        )
    default = _DEFAULT_CLASS.get(asset)
    return AssetVolatility(None, default or NOT_MEASURED, "default" if default else "none", len(returns))


def _rolling_yearly(returns: Sequence[float], n: int) -> list[float]:
    totals = list(accumulate(returns, initial=0.0))
    squares = list(accumulate((each * each for each in returns), initial=0.0))
    found: list[float] = []
    for end in range(n, len(returns) + 1):
        total, square = totals[end] - totals[end - n], squares[end] - squares[end - n]
        found.append(annualise(sqrt(max(0.0, square - total * total / n) / (n - 1)), DAY_MINUTES))
    return found


def _kept(place: int, annual: float, edges: Sequence[float]) -> int:
    risen = sum(annual >= edge * (1 + EDGE_MARGIN) for edge in edges)
    fallen = sum(annual >= edge * (1 - EDGE_MARGIN) for edge in edges)
    return min(max(place, risen), fallen)


def _across(place: int, annual: float, edges: Sequence[float]) -> int | None:
    """Return the class beyond the nearest edge, if the value is within the margin of that edge."""
    sides = [(edges[at], other) for at, other in ((place - 1, place - 1), (place, place + 1)) if 0 <= at < len(edges)]
    near = [(abs(annual / edge - 1), other) for edge, other in sides if edge and abs(annual / edge - 1) < EDGE_MARGIN]
    return min(near)[1] if near else None


def _mean_variance(terms: Sequence[float], method: str) -> Measured:
    if not terms:
        return Measured(value=None, unit="ratio", n=0, method=method, why_null="insufficient_bars")
    return Measured(value=fmean(terms), unit="ratio", n=len(terms), method=method)


def _log_bars(candles: Sequence[Candle]) -> list[LogBar]:
    return [
        LogBar(
            log(float(each.high) / float(each.open)),
            log(float(each.low) / float(each.open)),
            log(float(each.close) / float(each.open)),
        )
        for each in candles
    ]
