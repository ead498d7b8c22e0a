"""Definition of a study: inputs, plots, levels, and the function that computes its lines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from mcp_binance_server.analytics.indicators.talipp_adapter import Line
from mcp_binance_server.domain.periods import Candle

Scalar = str | float | int | bool
Lines = dict[str, Line]  # lines by plot; a line longer than the candles extends into the future
PlotKind = Literal["line", "columns", "dots"]
Unit = Literal["price", "volume", "number"]

SOURCES = ("open", "high", "low", "close", "hl2", "hlc3", "ohlc4")
LONGEST = 1000
# Multiple of the length: 1 until the first value, then 2.31 until its weight (1 - 2/(n+1))^(2.31 n) is about 0.01.
FADED = 3.31
RECURSIVE = 250  # bars after which recursive averages agree, whatever their first value


@dataclass(frozen=True, slots=True)
class Plot:
    """One line, or one series of columns.

    `colours` are the colours of columns, in the order of the catalogue.
    """

    key: str
    colour: str = ""  # empty: the next colour of the palette, so that three averages differ
    kind: PlotKind = "line"
    width: float = 1.4
    colours: tuple[str, ...] = ()
    anchored: bool = False  # interrupt the line at each restart
    looks_ahead: bool = False  # later bars change the values at closed bars


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed line at a value, such as the overbought level."""

    key: str
    value: float


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two plots. If the band has two colours, the upper plot decides which colour is used."""

    upper: str
    lower: str
    colours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input values of a study. Each has the type of its default."""

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
        """Return the prices selected by the input `source`, by default the closes."""
        return _SOURCE[str(self.values.get("source", "close"))](candles)


@dataclass(frozen=True, slots=True)
class Study:
    """One study of the local renderer. `name` is its API name."""

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
    centred: bool = False  # the pane always shows zero
    undrawn: tuple[str, ...] = ()  # inputs of the catalogue that the local renderer ignores
    anchored: bool = False  # restarts each day; on bars of a day or longer it restarts each month
    running: bool = False  # a running sum that starts at the first bar shown


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
    """Return a warm-up rule: the sum of these lengths in bars."""
    return lambda inputs: sum(inputs.whole(key) for key in keys)


def exponential(given: Inputs) -> int:
    """Return the warm-up of an exponential average. After it, its first value weighs less than 1 %."""
    return max(RECURSIVE, ceil(FADED * given.whole("length")))


def recursive(*keys: str) -> Callable[[Inputs], int]:
    """Return the warm-up rule of a recursive study: five times its longest length, and at least 250 bars."""
    return lambda inputs: max(RECURSIVE, 5 * max(inputs.whole(key) for key in keys))


def shifted(line: Line, by: int) -> Line:
    """Move a line by this many bars. Positive moves it right, into the future, and negative moves it left."""
    if by >= 0:
        return [*([None] * by), *line]
    return [*line[-by:], *([None] * min(-by, len(line)))]
