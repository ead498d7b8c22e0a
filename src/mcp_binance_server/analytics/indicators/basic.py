"""Indicators over a series, in floats or by talipp. Each line is as long as its input, with None while warming up."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import sqrt

from mcp_binance_server.analytics.indicators.talipp_adapter import (
    Anchor,
    Line,
    after,
    bars_of,
    column,
    library,
    period_start,
    wilder,
)
from mcp_binance_server.domain.periods import Candle


@dataclass(frozen=True, slots=True)
class Macd:
    """The difference of two averages, its own average, and the difference of both."""

    macd: Line
    signal: Line
    histogram: Line


@dataclass(frozen=True, slots=True)
class Bollinger:
    """An average and the bands above and below it."""

    lower: Line
    middle: Line
    upper: Line


@dataclass(frozen=True, slots=True)
class Stochastic:
    """The position of the close in the range of the last bars, and its average."""

    k: Line
    d: Line


@dataclass(frozen=True, slots=True)
class Adx:
    """The strength of a trend and its two directions."""

    adx: Line
    plus_di: Line
    minus_di: Line


def closes(candles: Sequence[Candle]) -> list[float]:
    """Return the closing prices as floats."""
    return [float(candle.close) for candle in candles]


def latest(line: Line) -> float | None:
    """Return the value at the last bar, None while warming up."""
    return line[-1] if line else None


def sma(values: Sequence[float], n: int) -> Line:
    """Average the last n values."""
    # Equal to talipp to the last digit.
    if len(values) < n:
        return [None] * len(values)
    average = sum(values[:n]) / n
    line: Line = [*([None] * (n - 1)), average]
    for gone, come in zip(values, values[n:], strict=False):
        average -= (gone - come) / n
        line.append(average)
    return line


def ema(values: Sequence[float], n: int) -> Line:
    """Average exponentially, seeded with the simple average of the first n values as TA-Lib does."""
    if len(values) < n:
        return [None] * len(values)
    average, weight = sum(values[:n]) / n, 2.0 / (n + 1.0)
    line: Line = [*([None] * (n - 1)), average]
    for value in values[n:]:
        average = weight * value + (1.0 - weight) * average
        line.append(average)
    return line


def rsi(values: Sequence[float], n: int) -> Line:
    """Compare gains with losses by Wilder's smoothing. A series that never moved is 50, not talipp's 100."""
    moves = [after - before for before, after in pairwise(values)]
    gains = wilder([max(move, 0.0) for move in moves], n)
    losses = wilder([max(-move, 0.0) for move in moves], n)
    strengths = [_strength(gain, loss) for gain, loss in zip(gains, losses, strict=True)]
    return after(values, strengths)


def true_ranges(candles: Sequence[Candle]) -> list[float]:
    """Return the range of each bar with the gap before it, from the second bar on."""
    return [float(max(bar.high, before.close) - min(bar.low, before.close)) for before, bar in pairwise(candles)]


def atr(candles: Sequence[Candle], n: int) -> Line:
    """Smooth true ranges by Wilder from the second bar as TA-Lib does; plain talipp counts the first bar's range."""
    return after(candles, wilder(true_ranges(candles), n))


def macd(values: Sequence[float], fast: int = 12, slow: int = 26, signal: int = 9) -> Macd:
    """Subtract a slow EMA from a fast one. TA-Lib starts both at the slow one's first bar, so early bars differ."""
    both = [
        (a, b) for a, b in zip(ema(values, fast), ema(values, slow), strict=True) if a is not None and b is not None
    ]
    distances = [quick - late for quick, late in both]
    signals = ema(distances, signal)
    left = [None if late is None else at - late for at, late in zip(distances, signals, strict=True)]
    return Macd(after(values, list(distances)), after(values, signals), after(values, left))


def bollinger(values: Sequence[float], n: int = 20, deviations: float = 2.0) -> Bollinger:
    """Draw bands of population standard deviations around the simple average."""
    middle = sma(values, n)
    widths = [deviations * _spread(values[end - n : end]) for end in range(n, len(values) + 1)]
    around = list(zip((at for at in middle if at is not None), widths, strict=True))
    lower, upper = [at - width for at, width in around], [at + width for at, width in around]
    return Bollinger(after(values, list(lower)), middle, after(values, list(upper)))


def _spread(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum([(each - mean) ** 2 for each in values]) / len(values))


def stochastic(candles: Sequence[Candle], n: int = 14, smooth: int = 3) -> Stochastic:
    """Return the position of the close in n bars (fast %K) and its average (%D); a flat range is 50 as with the RSI."""
    places: list[float] = []
    for end in range(n, len(candles) + 1):
        bars = candles[end - n : end]
        low, high = min(bar.low for bar in bars), max(bar.high for bar in bars)
        places.append(float(100 * (bars[-1].close - low) / (high - low)) if high > low else 50.0)
    return Stochastic(after(candles, list(places)), after(candles, sma(places, smooth)))


def adx(candles: Sequence[Candle], n: int = 14) -> Adx:
    """Measure trend strength by Wilder; talipp and TA-Lib seed the sums differently and meet after about 200 bars."""
    rows = library().ADX(n, n, bars_of(candles)).output_values
    return Adx(column(rows, "adx"), column(rows, "plus_di"), column(rows, "minus_di"))


def obv(candles: Sequence[Candle], *, first: int = 0, anchor: Anchor | None = None) -> Line:
    """Add the volume of rising bars and subtract that of falling ones, starting at bar `first`.

    With an anchor the sum restarts with each period. The first bar of a market counts as a rising one.
    """
    line: Line = []
    total, began, close = Decimal(0), -1, Decimal(0)
    for place, candle in enumerate(candles):
        start = began if anchor is None else period_start(candle.open_time_ms, anchor)
        if place <= first or start != began:
            total, began = Decimal(0), start
        total += candle.volume * ((candle.close > close) - (candle.close < close))
        close = candle.close
        line.append(None if place < first else float(total))
    return line


def _strength(gain: float | None, loss: float | None) -> float | None:
    if gain is None or loss is None:
        return None
    return 100.0 * gain / (gain + loss) if gain + loss else 50.0
