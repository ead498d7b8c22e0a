"""Mapping of times and prices to the canvas."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from mcp_binance_server.charts.render.canvas import Canvas, Point, width_of
from mcp_binance_server.charts.render.layout import Box, Grid, text_scale
from mcp_binance_server.charts.render.look import Colour, OverrideReader, Theme
from mcp_binance_server.charts.render.marks import Note, Tag
from mcp_binance_server.charts.render.scale import Axis
from mcp_binance_server.charts.render.spec import Anchor
from mcp_binance_server.domain.periods import Candle

HOUR_MS = 3_600_000
FONT = 12.0  # font size of drawings


@dataclass(frozen=True, slots=True)
class Columns:
    """A series of bars as columns: each list has one value per bar."""

    times: list[int]
    opens: list[float]
    highs: list[float]
    lows: list[float]
    closes: list[float]
    volumes: list[float]

    def __len__(self) -> int:
        return len(self.times)

    def last(self, bars: int) -> "Columns":
        """Return the newest bars, as many as `bars` says."""
        return Columns(
            self.times[-bars:], self.opens[-bars:], self.highs[-bars:], self.lows[-bars:], self.closes[-bars:],
            self.volumes[-bars:],
        )  # fmt: skip

    def merged(self, edges: Sequence[int]) -> "Columns":
        """Merge the bars between consecutive edges into one bar each."""
        spans = list(pairwise(edges))
        return Columns(
            times=[self.times[first] for first, _ in spans],
            opens=[self.opens[first] for first, _ in spans],
            highs=[max(self.highs[first:end]) for first, end in spans],
            lows=[min(self.lows[first:end]) for first, end in spans],
            closes=[self.closes[end - 1] for _, end in spans],
            volumes=[sum(self.volumes[first:end]) for first, end in spans],
        )

    def rose(self, bar: int) -> bool:
        return self.closes[bar] >= self.opens[bar]

    @property
    def step_ms(self) -> int:
        """Median time between two bars. Gaps of a halted market do not change it."""
        steps = [after - before for before, after in pairwise(self.times)]
        return int(median(steps)) if steps else HOUR_MS


def columns_of(candles: Sequence[Candle]) -> Columns:
    """Convert candles to columns."""
    return Columns(
        times=[each.open_time_ms for each in candles],
        opens=[float(each.open) for each in candles],
        highs=[float(each.high) for each in candles],
        lows=[float(each.low) for each in candles],
        closes=[float(each.close) for each in candles],
        volumes=[float(each.volume) for each in candles],
    )


def heikin_ashi(bars: Columns) -> Columns:
    """Convert to Heikin-Ashi bars: averaged bars, which keep their colour during a trend."""
    opens, highs, lows, closes = list[float](), list[float](), list[float](), list[float]()
    for opened, high, low, close in zip(bars.opens, bars.highs, bars.lows, bars.closes, strict=True):
        mean = (opened + high + low + close) / 4
        start = (opens[-1] + closes[-1]) / 2 if opens else (opened + close) / 2
        opens.append(start)
        closes.append(mean)
        highs.append(max(high, start, mean))
        lows.append(min(low, start, mean))
    return Columns(bars.times, opens, highs, lows, closes, bars.volumes)


@dataclass(frozen=True, slots=True)
class Stage:
    """One pane while it is drawn. `area` is the part below the legend, where lines can be drawn."""

    canvas: Canvas
    theme: Theme
    grid: Grid
    bars: Columns
    axis: Axis
    area: Box


def shared_columns(stage: Stage) -> Stage:
    """Merge bars on the same pixel column into one bar, so that no bar hides another."""
    centres = stage.grid.centres[: len(stage.bars)]
    if stage.grid.slot >= 1:
        return stage
    firsts = [bar for bar, x in enumerate(centres) if not bar or x != centres[bar - 1]]
    grid = replace(stage.grid, centres=[centres[bar] for bar in firsts])
    return replace(stage, grid=grid, bars=stage.bars.merged([*firsts, len(stage.bars)]))


@dataclass(frozen=True, slots=True)
class Sketch:
    """A drawing in progress.

    Shapes are drawn at once. Texts are collected and placed after all lines are drawn.
    """

    stage: Stage
    options: OverrideReader
    write: Callable[[float], str]  # formats a price like the axis
    notes: list[Note] = field(default_factory=list[Note])
    tags: list[Tag] = field(default_factory=list[Tag])
    time_tags: list[tuple[float, int, Colour]] = field(default_factory=list[tuple[float, int, Colour]])

    def x(self, time_ms: int) -> float:
        return self.stage.grid.x(place_of(self.stage.bars.times, self.stage.bars.step_ms, time_ms))

    def y(self, price: float) -> float:
        return self.stage.axis.y(price)

    def point(self, anchor: Anchor) -> Point:
        return self.x(anchor.time_ms or 0), self.y(anchor.price or 0.0)

    def visible(self, price: float) -> bool:
        return self.stage.area.top <= self.y(price) <= self.stage.area.bottom

    def note(
        self, text: str, around: Sequence[Point], *, ink: Colour, plate: Colour | None = None, in_order: bool = False
    ) -> None:
        """Request a label. Its middle is placed at one of the points `around`."""
        size = words_size(self.options, text_scale(self.stage.canvas.width))
        half = width_of(text, size) / 2
        places = tuple((x - half, y + size * 0.36) for x, y in around)
        border = None if plate else ink.faded(0.5)
        self.notes.append(
            Note(text, size, ink, plate or self.stage.theme.paper, places, border=border, in_order=in_order)
        )


def words_size(options: OverrideReader, scale: float = 1.0) -> float:
    """Return the font size of a drawing's text."""
    return options.number("fontSize", FONT * scale, 8, 60)


def place_of(times: Sequence[int], step_ms: int, time_ms: int) -> float:
    """Return the fractional bar index of a time: 2.5 lies between the third and the fourth bar.

    Before the first and after the last bar the spacing is even.
    """
    step = max(step_ms, 1)
    if time_ms <= times[0]:
        return max((time_ms - times[0]) / step, -10_000.0)
    if time_ms >= times[-1]:
        return len(times) - 1 + min((time_ms - times[-1]) / step, 10_000.0)
    before = bisect_right(times, time_ms) - 1
    return before + (time_ms - times[before]) / (times[before + 1] - times[before])
