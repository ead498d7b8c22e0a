"""How much a price moves: from closes, from ranges, per year, and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from statistics import fmean, stdev, variance
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.envelope import Measured, WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.domain.periods import Candle

YEAR_MINUTES = 365 * 24 * 60
DAY_MINUTES = 24 * 60
CLASSES = ("Stable", "Low volatility", "Medium volatility", "Medium-high volatility", "High volatility")
NOT_MEASURED = "Volatility not measured"
HIGH_CLASSES = frozenset(CLASSES[3:])
_DEFAULT_CLASS = {"BTC": CLASSES[4], "ETH": CLASSES[3], "BNB": CLASSES[2]} | dict.fromkeys(STABLECOINS, CLASSES[0])

Basis = Literal["measured", "default", "none"]


class LogBar(NamedTuple):
    """High, low and close of a bar as logarithms over its open."""

    high: float
    low: float
    close: float


@dataclass(frozen=True, slots=True)
class RealisedVolatility:
    """Sum of squares, its root and the standard deviation of log returns, all per bar."""

    variance: float | None
    root: float | None
    stdev: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class YangZhang:
    """A variance per bar and the weight its open-to-close part had in it."""

    variance: float | None
    k: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class AssetVolatility:
    """A volatility per year and its class, and whether the class was measured."""

    annual: float | None
    label: str
    basis: Basis
    n: int


def log_returns(closes: Sequence[float]) -> list[float]:
    """Return the logarithm of each close over the one before."""
    return [log(after / before) for before, after in pairwise(closes)]


def realised_volatility(closes: Sequence[float]) -> RealisedVolatility:
    """Measure the moves between closes; bars under a minute count the bounce between bid and ask as moves."""
    returns = log_returns(closes)
    if len(returns) < 2:
        return RealisedVolatility(None, None, None, len(returns), "insufficient_bars")
    total = sum(each * each for each in returns)
    return RealisedVolatility(total, sqrt(total), stdev(returns), len(returns))


def annualise(per_bar: float, bar_minutes: float) -> float:
    """Scale a standard deviation per bar to a year of a market that never closes."""
    return per_bar * sqrt(YEAR_MINUTES / bar_minutes)


def parkinson(candles: Sequence[Candle]) -> Measured:
    """Estimate the variance per bar from highs and lows; understates when a bar has few trades."""
    return _mean_variance([(bar.high - bar.low) ** 2 / (4 * log(2)) for bar in _log_bars(candles)], "parkinson")


def garman_klass(candles: Sequence[Candle]) -> Measured:
    """Estimate the variance per bar from all four prices: the default range estimator."""
    terms = [0.5 * (bar.high - bar.low) ** 2 - (2 * log(2) - 1) * bar.close**2 for bar in _log_bars(candles)]
    return _mean_variance(terms, "garman_klass")


def rogers_satchell(candles: Sequence[Candle]) -> Measured:
    """Estimate the variance per bar free of its drift."""
    return _mean_variance(_rogers_satchell_terms(candles), "rogers_satchell")


def yang_zhang(previous_close: float, candles: Sequence[Candle]) -> YangZhang:
    """Add the gaps between bars to Rogers-Satchell; in a market that never closes the gaps are nearly nothing."""
    n = len(candles)
    if n < 3:
        return YangZhang(None, None, n, "insufficient_bars")
    before = [previous_close, *(float(candle.close) for candle in candles[:-1])]
    gaps = [log(float(candle.open) / close) for close, candle in zip(before, candles, strict=True)]
    moves = [bar.close for bar in _log_bars(candles)]
    k = 0.34 / (1.34 + (n + 1) / (n - 1))
    return YangZhang(variance(gaps) + k * variance(moves) + (1 - k) * fmean(_rogers_satchell_terms(candles)), k, n)


def volatility_class(annual: float | None, *, edges: Sequence[float] = DEFAULTS.vol_edges) -> str:
    """Name a volatility per year; an edge belongs to the class above it."""
    if annual is None:
        return NOT_MEASURED
    return CLASSES[sum(annual >= edge for edge in edges)]


def asset_volatility(
    asset: str, daily_closes: Sequence[float], *, thresholds: Thresholds = DEFAULTS
) -> AssetVolatility:
    """Class an asset by its daily closes, or by the table of well-known ones while they are too few."""
    returns = log_returns(daily_closes)
    if len(returns) >= thresholds.vol_min_n:
        annual = annualise(stdev(returns), DAY_MINUTES)
        return AssetVolatility(annual, volatility_class(annual, edges=thresholds.vol_edges), "measured", len(returns))
    default = _DEFAULT_CLASS.get(asset)
    return AssetVolatility(None, default or NOT_MEASURED, "default" if default else "none", len(returns))


def _mean_variance(terms: Sequence[float], method: str) -> Measured:
    if not terms:
        return Measured(value=None, unit="ratio", n=0, method=method, why_null="insufficient_bars")
    return Measured(value=fmean(terms), unit="ratio", n=len(terms), method=method)


def _rogers_satchell_terms(candles: Sequence[Candle]) -> list[float]:
    return [(bar.high - bar.close) * bar.high + (bar.low - bar.close) * bar.low for bar in _log_bars(candles)]


def _log_bars(candles: Sequence[Candle]) -> list[LogBar]:
    return [
        LogBar(
            log(float(each.high) / float(each.open)),
            log(float(each.low) / float(each.open)),
            log(float(each.close) / float(each.open)),
        )
        for each in candles
    ]
