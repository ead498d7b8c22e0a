"""Averages beyond the simple and the exponential one: weighted, Hull, smoothed, double, triple, adaptive."""

from collections.abc import Callable, Sequence

from mcp_binance_server.analytics.indicators import ema, sma
from mcp_binance_server.analytics.talipp_face import Line, after, library, wilder


def wma(values: Sequence[float], n: int) -> Line:
    """Average with weights that fall from n to one, the newest value the heaviest."""
    return list(library().WMA(n, list(values)).output_values)


def hma(values: Sequence[float], n: int) -> Line:
    """Average by Hull: twice the weighted average of half the length less the whole one, weighted over its root."""
    return list(library().HMA(n, list(values)).output_values) if n > 1 else list(values)


def smma(values: Sequence[float], n: int) -> Line:
    """Average by Wilder's smoothing."""
    return wilder(list(values), n)


def dema(values: Sequence[float], n: int) -> Line:
    """Take the lag of one exponential average off: twice the first less the average of it."""
    return list(library().DEMA(n, list(values)).output_values)


def tema(values: Sequence[float], n: int) -> Line:
    """Take the lag of two exponential averages off."""
    return list(library().TEMA(n, list(values)).output_values)


def alma(values: Sequence[float], n: int, offset: float, sigma: float) -> Line:
    """Average under a bell curve by Arnaud Legoux."""
    return list(library().ALMA(n, offset, sigma, list(values)).output_values)


def kama(values: Sequence[float], n: int) -> Line:
    """Average by Kaufman: fast (2) in a trend, slow (30) in a range."""
    return list(library().KAMA(n, 2, 30, list(values)).output_values)


def vwma(values: Sequence[float], volumes: Sequence[float], n: int) -> Line:
    """Average with the volumes as weights; bars without any volume have the simple average."""
    line: Line = []
    for end in range(n, len(values) + 1):
        window, weights = values[end - n : end], volumes[end - n : end]
        total = sum(weights)
        weighted = sum(value * weight for value, weight in zip(window, weights, strict=True))
        line.append(weighted / total if total else sum(window) / n)
    return after(values, line)


def again(line: Line, n: int, average: Callable[[Sequence[float], int], Line] = sma) -> Line:
    """Average a line that is still None at its start."""
    known = [value for value in line if value is not None]
    return after(line, average(known, n))


def by_name(name: str) -> Callable[[Sequence[float], int], Line]:
    """Return the average that a menu calls so: Simple or SMA, Exponential or EMA, Weighted or WMA."""
    return {"exponential": ema, "ema": ema, "weighted": wma, "wma": wma}.get(name.lower(), sma)
