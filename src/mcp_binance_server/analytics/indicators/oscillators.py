"""Oscillators: stochastics, CCI, MFI, Williams %R, rate of change and others."""

from collections.abc import Sequence
from itertools import pairwise

from mcp_binance_server.analytics.indicators.averages import again, extremes
from mcp_binance_server.analytics.indicators.basic import Stochastic, rsi, sma
from mcp_binance_server.analytics.indicators.talipp_adapter import Line, after, bars_of, column, library
from mcp_binance_server.domain.periods import Candle

MIDDLE = 50.0


def smoothed_stochastic(candles: Sequence[Candle], n: int, smooth: int, d: int) -> Stochastic:
    """Return the slow stochastic: position of the close in n bars, smoothed once (%K) and twice (%D)."""
    lows = extremes([float(each.low) for each in candles], n, min)
    highs = extremes([float(each.high) for each in candles], n, max)
    k = again(_places([float(each.close) for each in candles], lows, highs), smooth)
    return Stochastic(k, again(k, d))


def stochastic_rsi(values: Sequence[float], n: int, window: int, smooth: int, d: int) -> Stochastic:
    """Return the stochastic RSI: position of the RSI in its own range. A flat range is 50."""
    strength = rsi(values, n)
    known = [value for value in strength if value is not None]
    places = _places(known, extremes(known, window, min), extremes(known, window, max))
    k = again(after(values, places), smooth)
    return Stochastic(k, again(k, d))


def williams_r(candles: Sequence[Candle], n: int) -> Line:
    """Return Williams %R: distance of the close below the highest high, from -100 to 0."""
    return [None if place is None else place - 100.0 for place in smoothed_stochastic(candles, n, 1, 1).k]


def cci(candles: Sequence[Candle], n: int) -> Line:
    """Return the CCI: distance of the typical price from its average, in mean deviations. Without deviation it is 0."""
    typical = [float(each.high + each.low + each.close) / 3 for each in candles]
    line: Line = []
    for end in range(n, len(typical) + 1):
        window = typical[end - n : end]
        mean = sum(window) / n
        deviation = sum(abs(value - mean) for value in window) / n
        line.append((window[-1] - mean) / (0.015 * deviation) if deviation > abs(mean) * 1e-12 else 0.0)
    return after(candles, line)


def money_flow(candles: Sequence[Candle], n: int) -> Line:
    """Return the money flow index (MFI). Without any money flow it is 50."""
    typical = [float(each.high + each.low + each.close) / 3 for each in candles]
    money = [price * float(each.volume) for price, each in zip(typical, candles, strict=True)][1:]
    moves = [now - before for before, now in pairwise(typical)]
    gains = [flow if move > 0 else 0.0 for flow, move in zip(money, moves, strict=True)]
    losses = [flow if move < 0 else 0.0 for flow, move in zip(money, moves, strict=True)]
    line: Line = []
    for end in range(n, len(moves) + 1):
        gained, lost = sum(gains[end - n : end]), sum(losses[end - n : end])
        line.append(100.0 * gained / (gained + lost) if gained + lost else MIDDLE)
    return after(candles, line)


def rate_of_change(values: Sequence[float], n: int) -> Line:
    """Return the rate of change (ROC) over n bars in percent."""
    return after(values, [100.0 * (now / before - 1) if before else 0.0 for before, now in zip(values, values[n:])])  # noqa: B905 - the tail is shorter on purpose


def momentum(values: Sequence[float], n: int) -> Line:
    """Return the momentum: the change over n bars."""
    return after(values, [now - before for before, now in zip(values, values[n:])])  # noqa: B905 - as above


def awesome(candles: Sequence[Candle]) -> Line:
    """Return the awesome oscillator: SMA 5 minus SMA 34 of the bar middles."""
    middles = [float(each.high + each.low) / 2 for each in candles]
    return [
        None if slow is None or fast is None else fast - slow
        for fast, slow in zip(sma(middles, 5), sma(middles, 34), strict=True)
    ]


def aroon(candles: Sequence[Candle], n: int) -> tuple[Line, Line]:
    """Return the Aroon lines: recency of the highest high and the lowest low of n bars, from 0 to 100."""
    rows = library().Aroon(n, bars_of(candles)).output_values
    return column(rows, "up"), column(rows, "down")


def chaikin_money_flow(candles: Sequence[Candle], n: int) -> Line:
    """Return the Chaikin money flow over n bars, from -1 to 1."""
    flows: list[float] = []
    for each in candles:
        high, low, close = float(each.high), float(each.low), float(each.close)
        flows.append(float(each.volume) * ((close - low) - (high - close)) / (high - low) if high > low else 0.0)
    volumes = [float(each.volume) for each in candles]
    line: Line = []
    for end in range(n, len(candles) + 1):
        volume = sum(volumes[end - n : end])
        line.append(sum(flows[end - n : end]) / volume if volume else 0.0)
    return after(candles, line)


def _places(values: Sequence[float], lows: Line, highs: Line) -> Line:
    line: Line = []
    for value, low, high in zip(values, lows, highs, strict=True):
        if low is None or high is None:
            line.append(None)
        else:
            line.append(100.0 * (value - low) / (high - low) if high > low else MIDDLE)
    return line
