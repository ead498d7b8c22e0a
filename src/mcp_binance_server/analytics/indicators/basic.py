"""Basic indicators over a series. Each line is as long as its input, with None while warming up."""

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
    """MACD line, signal line, and histogram: the difference of both."""

    macd: Line
    signal: Line
    histogram: Line


@dataclass(frozen=True, slots=True)
class Bollinger:
    """A moving average with bands above and below it."""

    lower: Line
    middle: Line
    upper: Line


@dataclass(frozen=True, slots=True)
class Stochastic:
    """Position of the close in the range of the last bars (%K), and its average (%D)."""

    k: Line
    d: Line


@dataclass(frozen=True, slots=True)
class Adx:
    """Strength of a trend (ADX), and its two directional indicators (+DI, -DI)."""

    adx: Line
    plus_di: Line
    minus_di: Line


def closes(candles: Sequence[Candle]) -> list[float]:
    """Return the closing prices as floats."""
    return [float(candle.close) for candle in candles]


def latest(line: Line) -> float | None:
    """Return the value at the last bar, or None while warming up."""
    return line[-1] if line else None


def sma(values: Sequence[float], n: int) -> Line:
    """Return the simple moving average (SMA) of n values."""
    # Equal to talipp's SMA to the last digit.
    if len(values) < n:
        return [None] * len(values)
    average = sum(values[:n]) / n
    line: Line = [*([None] * (n - 1)), average]
    for gone, come in zip(values, values[n:], strict=False):
        average -= (gone - come) / n
        line.append(average)
    return line


def ema(values: Sequence[float], n: int) -> Line:
    """Return the exponential moving average (EMA), seeded with the first SMA like TA-Lib."""
    if len(values) < n:
        return [None] * len(values)
    average, weight = sum(values[:n]) / n, 2.0 / (n + 1.0)
    line: Line = [*([None] * (n - 1)), average]
    for value in values[n:]:
        average = weight * value + (1.0 - weight) * average
        line.append(average)
    return line


def rsi(values: Sequence[float], n: int) -> Line:
    """Return the RSI with Wilder's smoothing. A series without moves has 50; talipp would return 100."""
    moves = [after - before for before, after in pairwise(values)]
    gains = wilder([max(move, 0.0) for move in moves], n)
    losses = wilder([max(-move, 0.0) for move in moves], n)
    strengths = [_strength(gain, loss) for gain, loss in zip(gains, losses, strict=True)]
    return after(values, strengths)


def true_ranges(candles: Sequence[Candle]) -> list[float]:
    """Return the true ranges from the second bar on. They include the gap before each bar."""
    return [float(max(bar.high, before.close) - min(bar.low, before.close)) for before, bar in pairwise(candles)]


def atr(candles: Sequence[Candle], n: int) -> Line:
    """Return the average true range (ATR) with Wilder's smoothing from the second bar, like TA-Lib.

    Plain talipp also counts the range of the first bar.
    """
    return after(candles, wilder(true_ranges(candles), n))


def macd(values: Sequence[float], fast: int = 12, slow: int = 26, signal: int = 9) -> Macd:
    """Return the MACD: the fast EMA minus the slow EMA.

    TA-Lib starts both EMAs at the first bar of the slow EMA, so early bars differ.
    """
    both = [
        (a, b) for a, b in zip(ema(values, fast), ema(values, slow), strict=True) if a is not None and b is not None
    ]
    distances = [quick - late for quick, late in both]
    signals = ema(distances, signal)
    left = [None if late is None else at - late for at, late in zip(distances, signals, strict=True)]
    return Macd(after(values, list(distances)), after(values, signals), after(values, left))


def bollinger(values: Sequence[float], n: int = 20, deviations: float = 2.0) -> Bollinger:
    """Return Bollinger bands: population standard deviations around the SMA."""
    middle = sma(values, n)
    widths = [deviations * _spread(values[end - n : end]) for end in range(n, len(values) + 1)]
    around = list(zip((at for at in middle if at is not None), widths, strict=True))
    lower, upper = [at - width for at, width in around], [at + width for at, width in around]
    return Bollinger(after(values, list(lower)), middle, after(values, list(upper)))


def _spread(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum([(each - mean) ** 2 for each in values]) / len(values))


def stochastic(candles: Sequence[Candle], n: int = 14, smooth: int = 3) -> Stochastic:
    """Return the fast stochastic: position of the close in n bars (%K) and its average (%D). A flat range is 50."""
    places: list[float] = []
    for end in range(n, len(candles) + 1):
        bars = candles[end - n : end]
        low, high = min(bar.low for bar in bars), max(bar.high for bar in bars)
        places.append(float(100 * (bars[-1].close - low) / (high - low)) if high > low else 50.0)
    return Stochastic(after(candles, list(places)), after(candles, sma(places, smooth)))


def adx(candles: Sequence[Candle], n: int = 14) -> Adx:
    """Return Wilder's average directional index (ADX).

    talipp and TA-Lib use different seeds. They agree after about 200 bars.
    """
    rows = library().ADX(n, n, bars_of(candles)).output_values
    return Adx(column(rows, "adx"), column(rows, "plus_di"), column(rows, "minus_di"))


def obv(candles: Sequence[Candle], *, first: int = 0, anchor: Anchor | None = None) -> Line:
    """Return on-balance volume (OBV), starting at bar `first`.

    Rising bars add their volume and falling bars subtract it. The first bar of a market counts as rising. With an
    anchor the sum restarts in each period.
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
