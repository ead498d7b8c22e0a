"""Definition of a study: inputs with defaults, plots with colours, levels, and the rule that computes its lines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from mcp_binance_server.analytics.indicators.talipp_adapter import Line
from mcp_binance_server.domain.periods import Candle

Scalar = str | float | int | bool
Lines = dict[str, Line]  # by plot; a line longer than the candles reaches into the future
PlotKind = Literal["line", "columns", "dots"]
Unit = Literal["price", "volume", "number"]

SOURCES = ("open", "high", "low", "close", "hl2", "hlc3", "ohlc4")
LONGEST = 1000
FADED = 3.31  # lengths: one for the first value, and (1 - 2/(n+1)) to the power of 2.31 n is a hundredth
RECURSIVE = 250  # bars after which averages that never forget agree, whatever their start


@dataclass(frozen=True, slots=True)
class Plot:
    """One line or row of columns; `colours` are those of columns, in the order of the catalogue."""

    key: str
    colour: str = ""  # empty: the next of the palette, so that three averages differ in colour
    kind: PlotKind = "line"
    width: float = 1.4
    colours: tuple[str, ...] = ()
    anchored: bool = False  # the line is interrupted at each restart
    looks_ahead: bool = False  # its values at closed bars depend on later bars


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed line at a value, such as overbought."""

    key: str
    value: float


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two plots; with two colours, the upper plot decides the colour."""

    upper: str
    lower: str
    colours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The values a study is computed with, each of the type of its default."""

    values: Mapping[str, Scalar]

    def whole(self, key: str) -> int:
        return int(self.values[key])

    def number(self, key: str) -> float:
        return float(self.values[key])

    def text(self, key: str) -> str:
        return str(self.values[key])

    def flag(self, key: str) -> bool:
        return bool(self.values[key])

    def source(self, candles: Sequence[Candle]) -> list[float]:
        """Return the prices named by the input `source`, or the closes without it."""
        return _SOURCE[str(self.values.get("source", "close"))](candles)


@dataclass(frozen=True, slots=True)
class Study:
    """One entry of the table, with its name on the wire."""

    name: str
    title: str
    plots: tuple[Plot, ...]
    lines: Callable[[Sequence[Candle], Inputs], Lines]
    warm_up: Callable[[Inputs], int]
    inputs: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    overlay: bool = False
    levels: tuple[Level, ...] = ()
    bands: tuple[Band, ...] = ()
    bounds: tuple[float, float] | None = None
    unit: Unit = "number"
    centred: bool = False  # zero is always in view
    undrawn: tuple[str, ...] = ()  # inputs of the catalogue without effect in our picture
    anchored: bool = False  # restarts with each day, or with each month on bars of a day and longer
    running: bool = False  # a sum, shown from the first bar shown on


_SOURCE: dict[str, Callable[[Sequence[Candle]], list[float]]] = {
    "open": lambda candles: [float(each.open) for each in candles],
    "high": lambda candles: [float(each.high) for each in candles],
    "low": lambda candles: [float(each.low) for each in candles],
    "close": lambda candles: [float(each.close) for each in candles],
    "hl2": lambda candles: [float(each.high + each.low) / 2 for each in candles],
    "hlc3": lambda candles: [float(each.high + each.low + each.close) / 3 for each in candles],
    "ohlc4": lambda candles: [float(each.open + each.high + each.low + each.close) / 4 for each in candles],
}


def window(*keys: str) -> Callable[[Inputs], int]:
    """Return a warm-up rule: as many bars as these lengths together."""
    return lambda inputs: sum(inputs.whole(key) for key in keys)


def exponential(given: Inputs) -> int:
    """Return the warm-up of an exponential average: until its start weighs less than a hundredth."""
    return max(RECURSIVE, ceil(FADED * given.whole("length")))


def recursive(*keys: str) -> Callable[[Inputs], int]:
    """Return a warm-up rule for a study that never forgets: five times its longest length, at least 250 bars."""
    return lambda inputs: max(RECURSIVE, 5 * max(inputs.whole(key) for key in keys))


def shifted(line: Line, by: int) -> Line:
    """Move a line this many bars to the right, into the future, or to the left."""
    if by >= 0:
        return [*([None] * by), *line]
    return [*line[-by:], *([None] * min(-by, len(line)))]
