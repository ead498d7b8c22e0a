"""Further moving averages, channels, and trailing stops."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.indicators.basic import atr, closes, ema, sma, true_ranges
from mcp_binance_server.analytics.indicators.talipp_adapter import Line, after, bars_of, column, library, wilder
from mcp_binance_server.domain.periods import Candle


def wma(values: Sequence[float], n: int) -> Line:
    """Return the weighted moving average (WMA). Weights fall from n for the newest value to 1."""
    return list(library().WMA(n, list(values)).output_values)


def hma(values: Sequence[float], n: int) -> Line:
    """Return the Hull moving average.

    Twice the WMA of half the length, minus the WMA of the full length, is smoothed over the root of the length.
    """
    return list(library().HMA(n, list(values)).output_values) if n > 1 else list(values)


def smma(values: Sequence[float], n: int) -> Line:
    """Return Wilder's smoothed moving average (SMMA)."""
    return wilder(list(values), n)


def dema(values: Sequence[float], n: int) -> Line:
    """Return the double exponential moving average (DEMA): twice the EMA minus the EMA of the EMA."""
    return list(library().DEMA(n, list(values)).output_values)


def tema(values: Sequence[float], n: int) -> Line:
    """Return the triple exponential moving average (TEMA)."""
    return list(library().TEMA(n, list(values)).output_values)


def alma(values: Sequence[float], n: int, offset: float, sigma: float) -> Line:
    """Return the Arnaud Legoux moving average (ALMA). Its weights are a Gaussian curve."""
    return list(library().ALMA(n, offset, sigma, list(values)).output_values)


def kama(values: Sequence[float], n: int) -> Line:
    """Return Kaufman's adaptive moving average (KAMA). It is fast (2) in a trend and slow (30) in a range."""
    return list(library().KAMA(n, 2, 30, list(values)).output_values)


def vwma(values: Sequence[float], volumes: Sequence[float], n: int) -> Line:
    """Return the volume-weighted moving average (VWMA). Windows without volume have the simple average."""
    line: Line = []
    for end in range(n, len(values) + 1):
        window, weights = values[end - n : end], volumes[end - n : end]
        total = sum(weights)
        weighted = sum(value * weight for value, weight in zip(window, weights, strict=True))
        line.append(weighted / total if total else sum(window) / n)
    return after(values, line)


def again(line: Line, n: int, average: Callable[[Sequence[float], int], Line] = sma) -> Line:
    """Average a line again. Its leading None values are kept."""
    known = [value for value in line if value is not None]
    return after(line, average(known, n))


def by_name(name: str) -> Callable[[Sequence[float], int], Line]:
    """Return the average by its name: Simple or SMA, Exponential or EMA, Weighted or WMA."""
    return {"exponential": ema, "ema": ema, "weighted": wma, "wma": wma}.get(name.lower(), sma)


@dataclass(frozen=True, slots=True)
class PriceChannel:
    """A middle line with a lower and an upper line."""

    lower: Line
    middle: Line
    upper: Line


@dataclass(frozen=True, slots=True)
class Ichimoku:
    """Lines of the Ichimoku cloud, not shifted: the chart shifts them in time."""

    conversion: Line
    baseline: Line
    span_a: Line
    span_b: Line


@dataclass(frozen=True, slots=True)
class TrailingStop:
    """A trailing stop: below a rising price, above a falling one."""

    rising: Line
    falling: Line


def keltner(candles: Sequence[Candle], n: int, mult: float, *, true_range: bool = True) -> PriceChannel:
    """Return Keltner channels: an EMA plus and minus a multiple of the EMA of ranges, as TradingView's ta.kc.

    With `true_range` the ranges include the gaps between bars.
    """
    middle = ema(closes(candles), n)
    ranges = true_ranges(candles) if true_range else [float(each.high - each.low) for each in candles]
    width = after(candles, ema(ranges, n))
    return PriceChannel(
        lower=_combined(lambda basis, span: basis - mult * span, middle, width),
        middle=middle,
        upper=_combined(lambda basis, span: basis + mult * span, middle, width),
    )


def donchian(candles: Sequence[Candle], n: int) -> PriceChannel:
    """Return Donchian channels: the lowest low and the highest high of n bars, and their middle."""
    lower = extremes([float(each.low) for each in candles], n, min)
    upper = extremes([float(each.high) for each in candles], n, max)
    return PriceChannel(lower=lower, middle=_combined(lambda low, high: (low + high) / 2, lower, upper), upper=upper)


def ichimoku(candles: Sequence[Candle], conversion: int, base: int, span_b: int) -> Ichimoku:
    """Return the Ichimoku lines.

    Conversion line, base line and span B are the middles of three Donchian channels. Span A is the middle of the first
    two.
    """
    first, second = donchian(candles, conversion).middle, donchian(candles, base).middle
    span_a = _combined(lambda one, other: (one + other) / 2, first, second)
    return Ichimoku(first, second, span_a, donchian(candles, span_b).middle)


def super_trend(candles: Sequence[Candle], n: int, factor: float) -> TrailingStop:
    """Return the SuperTrend: a stop at a multiple of the ATR from the middle of each bar. It only tightens.

    talipp would start it at zero.
    """
    rising: Line = []
    falling: Line = []
    lower = upper = close_before = 0.0
    up = started = False
    for candle, reach in zip(candles, atr(candles, n), strict=True):
        close, middle = float(candle.close), float(candle.high + candle.low) / 2
        if reach is not None:
            below, above = middle - factor * reach, middle + factor * reach
            lower = below if not started or below > lower or close_before < lower else lower
            upper = above if not started or above < upper or close_before > upper else upper
            up = (close >= lower if up else close > upper) if started else False
            started = True
        rising.append(lower if started and up else None)
        falling.append(upper if started and not up else None)
        close_before = close
    return TrailingStop(rising, falling)


def parabolic_sar(candles: Sequence[Candle], start: float, increment: float, most: float) -> Line:
    """Return Wilder's parabolic stop and reverse (SAR)."""
    return column(library().ParabolicSAR(start, increment, most, bars_of(candles)).output_values, "value")


def extremes(values: Sequence[float], n: int, of: Callable[[Iterable[float]], float]) -> Line:
    """Return the rolling minimum or maximum of the last n values."""
    return after(values, [of(values[end - n : end]) for end in range(n, len(values) + 1)])


def _combined(rule: Callable[[float, float], float], one: Line, other: Line) -> Line:
    return [
        None if first is None or second is None else rule(first, second)
        for first, second in zip(one, other, strict=True)
    ]
