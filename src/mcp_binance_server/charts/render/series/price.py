"""The price series in the requested style."""

from collections.abc import Callable

from mcp_binance_server.charts.render.canvas import Point, Rect, Segment
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import PriceLook
from mcp_binance_server.charts.render.spec import Style
from mcp_binance_server.charts.render.stage import Columns, Stage, shared_columns

CURVES = ("line", "area", "baseline")
THIN = 0.45

_SOURCES: dict[str, Callable[[Columns, int], float]] = {
    "open": lambda bars, bar: bars.opens[bar],
    "high": lambda bars, bar: bars.highs[bar],
    "low": lambda bars, bar: bars.lows[bar],
    "hl2": lambda bars, bar: (bars.highs[bar] + bars.lows[bar]) / 2,
    "hlc3": lambda bars, bar: (bars.highs[bar] + bars.lows[bar] + bars.closes[bar]) / 3,
    "ohlc4": lambda bars, bar: (bars.opens[bar] + bars.highs[bar] + bars.lows[bar] + bars.closes[bar]) / 4,
}


def curve(bars: Columns, source: str) -> list[float]:
    """Return the price of each bar that a line connects."""
    rule = _SOURCES.get(source)
    return [rule(bars, bar) for bar in range(len(bars))] if rule else bars.closes


def base_price(bars: Columns, part: float) -> float:
    """Return the base price of a baseline.

    `part` is its position between the lowest low (0) and the highest high (1).
    """
    low, high = min(bars.lows), max(bars.highs)
    return low + part * (high - low)


def draw_price(stage: Stage, style: Style, look: PriceLook) -> None:
    """Draw the price in one of the seven styles. Bars on the same pixel column are merged into one bar."""
    if style not in CURVES:
        stage = shared_columns(stage)
    if style in CURVES:
        points = [
            (x, stage.axis.y(value))
            for x, value in zip(stage.grid.centres, curve(stage.bars, look.source), strict=False)
        ]
        if len(points) == 1:
            stage.canvas.dots(points, 3, look.line if style != "baseline" else look.body[0])
        elif style == "baseline":
            _baseline(stage, points, look)
        else:
            if style == "area":
                bottom = stage.area.bottom
                stage.canvas.fade([(points[0][0], bottom), *points, (points[-1][0], bottom)], *look.fill)
            stage.canvas.polyline(points, look.line, look.line_width)
    elif style == "bar":
        _bars(stage, look)
    else:
        _candles(stage, look, hollow=style == "hollowCandle")


def _baseline(stage: Stage, points: list[Point], look: PriceLook) -> None:
    area, base = stage.area, stage.axis.y(base_price(stage.bars, look.base))
    base = min(max(base, area.top), area.bottom)
    for above, ink, fill in zip((True, False), look.body, look.base_fill, strict=True):
        for run in _one_side(points, base, above=above):
            stage.canvas.polygon([(run[0][0], base), *run, (run[-1][0], base)], fill)
            stage.canvas.polyline(run, ink, look.line_width)
    row = round(base) + 0.5
    stage.canvas.lines([(area.left, row, area.right, row)], stage.theme.level, 1, "4 4")


def _one_side(points: list[Point], base: float, *, above: bool) -> list[list[Point]]:
    """Cut a polyline at a pixel row and return the pieces on one side of it."""
    runs: list[list[Point]] = [[]]
    before: Point | None = None
    for point in points:
        inside = (point[1] <= base) is above
        if before is not None and ((before[1] <= base) is above) is not inside:
            part = (base - before[1]) / (point[1] - before[1])
            runs[-1].append((before[0] + part * (point[0] - before[0]), base))
            if not inside:
                runs.append([])
        if inside:
            runs[-1].append(point)
        before = point
    return [run for run in runs if len(run) > 1]


def _bars(stage: Stage, look: PriceLook) -> None:
    bars, row, arm = stage.bars, stage.axis.row, max(1.5, stage.grid.body // 2 + 0.5)
    thick = stage.grid.body >= 7
    pen, shift = (2, 0.5) if thick else (1, 0.0)  # the centre of a two-pixel line lies between pixels
    for rising in (True, False):
        chosen = [(x - shift, bar) for bar, x in enumerate(stage.grid.centres[: len(bars)]) if bars.rose(bar) is rising]
        ink = look.body[not rising]
        stage.canvas.lines(_stems(stage, chosen), ink, pen)
        if stage.grid.slot >= 3:
            stage.canvas.lines(
                [_tick(x - arm, x, row(bars.opens[bar]), shift) for x, bar in chosen]
                + [_tick(x, x + arm, row(bars.closes[bar]), shift) for x, bar in chosen],
                ink,
                pen,
            )


def _tick(left: float, right: float, row: int, shift: float) -> Segment:
    return left, row + 0.5 - shift, right, row + 0.5 - shift


def _candles(stage: Stage, look: PriceLook, *, hollow: bool) -> None:
    bars, body = stage.bars, stage.grid.body
    sides: list[list[tuple[float, int]]] = [[], []]
    for bar, x in enumerate(stage.grid.centres[: len(bars)]):
        sides[not _coloured_up(bars, bar, hollow=hollow)].append((x, bar))
    if look.draw_wick:
        for chosen, ink in zip(sides, look.wick, strict=True):
            # If the body is as narrow as the wick, only its stronger colour distinguishes it.
            stage.canvas.lines(_stems(stage, chosen), ink if body > 1 else ink.faded(THIN))
    for side, chosen in enumerate(sides):
        rects = [_body(stage, x, bar) for x, bar in chosen]
        if look.draw_body:
            stage.canvas.bars(rects, look.body[side])
        if look.draw_border and look.border[side] != look.body[side] and body >= 3:
            for left, top, width, height in rects:
                frame = Box(left + 0.5, top + 0.5, left + width - 0.5, top + height - 0.5)
                stage.canvas.frame(frame, look.border[side])
        if hollow and body >= 3:
            inner = [
                (left + 1, top + 1, width - 2, height - 2)
                for (left, top, width, height), (_, bar) in zip(rects, chosen, strict=True)
                if height > 2 and bars.rose(bar)
            ]
            stage.canvas.rects(inner, stage.theme.paper)


def _coloured_up(bars: Columns, bar: int, *, hollow: bool) -> bool:
    # A hollow candle shows two comparisons: its fill compares close and open, its colour compares with the previous
    # close.
    return bars.closes[bar] >= bars.closes[bar - 1] if hollow and bar else bars.rose(bar)


def _stems(stage: Stage, chosen: list[tuple[float, int]]) -> list[Segment]:
    row, bars = stage.axis.row, stage.bars
    stems: list[Segment] = []
    for x, bar in chosen:
        top, bottom = sorted((row(bars.highs[bar]), row(bars.lows[bar])))
        stems.append((x, top, x, max(bottom, top + 1)))
    return stems


def _body(stage: Stage, x: float, bar: int) -> Rect:
    top, bottom = sorted((stage.axis.row(stage.bars.opens[bar]), stage.axis.row(stage.bars.closes[bar])))
    return stage.grid.left_of(x), top, stage.grid.body, max(1, bottom - top)
