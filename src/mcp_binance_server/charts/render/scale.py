"""From a value to a pixel: linear, logarithmic, in percent of the first bar, or with that bar at 100."""

from dataclasses import dataclass
from math import exp, log

from mcp_binance_server.charts.render.spec import Scale


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps low to `bottom` and high to `top`; a logarithmic one maps ratios to distances."""

    low: float
    high: float
    top: float
    bottom: float
    logarithmic: bool = False
    inverted: bool = False

    def y(self, value: float) -> float:
        """Return the pixel row of a value; far outside it is held near the pane, so that paths stay drawable."""
        if self.logarithmic:
            part = log(max(value, self.low * 1e-6) / self.low) / log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        part = min(max(part, -20.0), 21.0)
        if self.inverted:
            part = 1 - part
        return self.bottom - part * (self.bottom - self.top)

    def row(self, value: float) -> int:
        """Return the nearest whole pixel row."""
        return round(self.y(value))

    def value(self, y: float) -> float:
        """Return the value at a pixel row."""
        part = (self.bottom - y) / (self.bottom - self.top)
        if self.inverted:
            part = 1 - part
        if self.logarithmic:
            return self.low * exp(part * log(self.high / self.low))
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True, slots=True)
class AxisUnit:
    """How the price axis speaks: in prices, in percent from the first bar's close, or with that close at 100."""

    scale: Scale
    first: float

    def shown(self, price: float) -> float:
        if self.scale == "percent":
            return (price / self.first - 1) * 100
        return price / self.first * 100 if self.scale == "indexedTo100" else price

    def price(self, shown: float) -> float:
        if self.scale == "percent":
            return (shown / 100 + 1) * self.first
        return shown / 100 * self.first if self.scale == "indexedTo100" else shown


def widened(low: float, high: float, tick: float) -> tuple[float, float]:
    """Give a flat range the height of a few ticks or of a percent, whichever is more."""
    least = max(8 * tick, abs(high) * 1e-6)
    if high - low >= least:
        return low, high
    middle, half = (low + high) / 2, max(least, abs(high) * 0.01) / 2
    return middle - half, middle + half
