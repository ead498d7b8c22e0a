"""The lines, columns, dots and shaded bands of a study."""

from collections.abc import Sequence

from mcp_binance_server.analytics.indicators.talipp_adapter import Line, period_start, usual_anchor
from mcp_binance_server.charts.render.canvas import Point, Rect
from mcp_binance_server.charts.render.layout import Grid
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.stage import Columns, Stage, shared_columns
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView

VOLUME_ALPHA = 0.45
LEVEL_ALPHA = 0.6
LEAST_RUN = 10  # bars between two restarts of a line; with fewer, each bar gets a dash of its own


def draw_study(stage: Stage, view: StudyView) -> None:
    """Draw the plots of a study: first the bands, then columns, lines and dots in the order of the study."""
    for band, colours in view.bands:
        _band(stage, view.lines[band.upper], view.lines[band.lower], colours)
    for look in view.plots:
        if not look.visible:
            continue
        line = view.lines[look.plot.key]
        if look.kind == "columns":
            _columns(stage, look, line)
        elif look.kind == "dots":
            stage.canvas.dots([point for run in _runs(stage, line) for point in run], look.width, look.ink)
        elif look.plot.anchored and _restarts_often(stage.bars):
            half = stage.grid.slot / 2
            points = [point for run in _runs(stage, line) for point in run]
            rows = [(x - half, round(y) + 0.5, x + half, round(y) + 0.5) for x, y in points]
            stage.canvas.lines(rows, look.ink, look.width)
        else:
            for run in _runs(stage, line, anchored=look.plot.anchored):
                if len(run) == 1:
                    stage.canvas.dots(run, max(1.0, look.width * 0.8), look.ink)
                stage.canvas.polyline(run, look.ink, look.width)


def draw_levels(stage: Stage, view: StudyView) -> None:
    """Draw the dashed levels of a study. If there are two, shade the area between them."""
    rows = [round(stage.axis.y(level.value)) + 0.5 for level in view.levels]
    if view.shade and len(rows) == 2:
        top, bottom = min(rows), max(rows)
        stage.canvas.rects([(stage.area.left, top, stage.area.width, bottom - top)], view.shade)
    for level, row in zip(view.levels, rows, strict=True):
        stage.canvas.lines([(stage.area.left, row, stage.area.right, row)], level.ink.faded(LEVEL_ALPHA), 1, "3 3")


def draw_volume(stage: Stage, look: PlotLook, height: float) -> None:
    """Draw the volume at the bottom of the price pane. The tallest column is `height` pixels high."""
    stage = shared_columns(stage)
    bars, body, bottom = stage.bars, stage.grid.body, stage.area.bottom
    most = max(bars.volumes)
    if most <= 0:
        return
    for rising, colour in zip((True, False), look.colours, strict=True):
        rects: list[Rect] = []
        for bar, x in enumerate(stage.grid.centres[: len(bars)]):
            tall = max(1, round(bars.volumes[bar] / most * height)) if bars.volumes[bar] > 0 else 0
            if bars.rose(bar) is rising and tall:
                rects.append((stage.grid.left_of(x), bottom - tall, body, tall))
        stage.canvas.bars(rects, volume_ink(colour))


def volume_ink(colour: Colour) -> Colour:
    """Return the colour of the volume. It is translucent, because prices can lie behind it."""
    return colour if colour.alpha < 1 else colour.faded(VOLUME_ALPHA)


def rising_tints(bars: Columns) -> list[int | None]:
    """Return the colour index of each bar's volume: 0 for a rising bar, 1 for a falling one."""
    return [0 if bars.rose(bar) else 1 for bar in range(len(bars))]


def tints(line: Line, colours: int) -> list[int | None]:
    """Return the colour index of each column.

    Two colours distinguish rising and falling columns. Four colours also distinguish the sign.
    """
    found: list[int | None] = []
    before: float | None = None
    for value in line:
        found.append(None if value is None else _tint(value, before, colours))
        before = value
    return found


def _columns(stage: Stage, look: PlotLook, line: Line) -> None:
    zero = round(min(max(stage.axis.y(0.0), stage.area.top), stage.area.bottom))
    body = stage.grid.body
    groups: dict[int, list[Rect]] = {}
    for x, value, tint in zip(stage.grid.centres, line, tints(line, len(look.colours)), strict=False):
        if value is not None and tint is not None:
            row = stage.axis.row(value)
            top, tall = min(row, zero), max(1, abs(row - zero))
            groups.setdefault(tint, []).append((stage.grid.left_of(x), top, body, tall))
    for tint in sorted(groups):
        stage.canvas.bars(groups[tint], look.colours[tint])


def _tint(value: float, before: float | None, colours: int) -> int:
    rising = before is None or value >= before
    if colours == 4:
        return (0 if rising else 1) if value >= 0 else (2 if rising else 3)
    return 0 if rising or colours < 2 else 1


def _runs(stage: Stage, line: Line, *, anchored: bool = False) -> list[list[Point]]:
    runs: list[list[Point]] = [[]]
    breaks = new_periods(stage.bars) if anchored else set[int]()
    for bar, (x, value) in enumerate(zip(stage.grid.centres, line, strict=False)):
        if (value is None or bar in breaks) and runs[-1]:
            runs.append([])
        if value is not None:
            runs[-1].append((x, stage.axis.y(value)))
    return [run for run in runs if run]


def _restarts_often(bars: Columns) -> bool:
    """Return True if an anchored line has so few bars in a period that its pieces look like waves of the price."""
    return len(new_periods(bars)) * LEAST_RUN > len(bars)


def new_periods(bars: Columns) -> set[int]:
    """Return the bars at which an anchored line restarts: the first bar of each day or month."""
    anchor = usual_anchor(bars.step_ms)
    starts = [period_start(time_ms, anchor) for time_ms in bars.times]
    return {bar for bar in range(1, len(starts)) if starts[bar] != starts[bar - 1]}


def _band(stage: Stage, upper: Line, lower: Line, colours: Sequence[Colour]) -> None:
    for above, top, bottom in _slices(stage.grid, upper, lower, split=len(colours) > 1):
        y = stage.axis.y
        shape = [(x, y(value)) for x, value in top] + [(x, y(value)) for x, value in reversed(bottom)]
        stage.canvas.polygon(shape, colours[0] if above or len(colours) == 1 else colours[1])


def _slices(grid: Grid, upper: Line, lower: Line, *, split: bool) -> list[tuple[bool, list[Point], list[Point]]]:
    """Cut a band at gaps. With `split`, also cut it where the two lines cross and the colour changes."""
    slices: list[tuple[bool, list[Point], list[Point]]] = []
    open_slice = False
    for x, high, low in zip(grid.centres, upper, lower, strict=False):
        if high is None or low is None:
            open_slice = False
            continue
        above = high >= low
        if not open_slice:
            slices.append((above, [], []))
        elif split and slices[-1][0] is not above:
            crossing = _crossing(slices[-1][1][-1], slices[-1][2][-1], x, high, low)
            slices[-1][1].append(crossing)
            slices[-1][2].append(crossing)
            slices.append((above, [crossing], [crossing]))
        slices[-1][1].append((x, high))
        slices[-1][2].append((x, low))
        open_slice = True
    return slices


def _crossing(top: Point, bottom: Point, x: float, high: float, low: float) -> Point:
    before, now = top[1] - bottom[1], high - low
    part = before / (before - now) if before != now else 0.5
    return top[0] + part * (x - top[0]), top[1] + part * (high - top[1])
