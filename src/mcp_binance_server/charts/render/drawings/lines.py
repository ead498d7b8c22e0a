"""Drawings made of lines, boxes and text."""

from math import atan2, cos, hypot, sin

from mcp_binance_server.charts.render.canvas import Point, width_of
from mcp_binance_server.charts.render.drawings.styles import (
    ARROW_WIDTH,
    arrow_ink,
    line_of,
    pointer_ink,
    shows_value,
    text_ink,
    words_ink,
    zone_of_rectangle,
)
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.marks import Tag
from mcp_binance_server.charts.render.spec import DrawingSpec
from mcp_binance_server.charts.render.stage import Sketch

FAR = 5000.0


def horizontal_line(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a horizontal line at a price, with a tag on the axis and a text above the line."""
    price, area = drawing.points[0].price or 0.0, sketch.stage.area
    line = line_of(sketch.options)
    row = round(sketch.y(price)) + (0.5 if line.width % 2 else 0.0)
    sketch.stage.canvas.lines([(area.left, row, area.right, row)], line.ink, line.width, line.dash)
    if shows_value(sketch.options) and sketch.visible(price):
        sketch.tags.append(Tag(row, sketch.write(price), line.ink.faded(1), rank=1))
    if drawing.text:
        middle = _aligned(sketch, drawing.text, area)
        columns = [middle, area.right - 120, area.left + 120, area.left + area.width / 3, area.right * 2 / 3]
        side = {"bottom": 12, "middle": 0}.get(sketch.options.word("vertLabelAlign", "top"), -12)
        around = [(x, row + shift) for shift in (side, -side or 12) for x in columns]
        sketch.note(drawing.text, around, ink=words_ink(sketch.options, line.ink))


def vertical_line(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a vertical line at a time, with a tag on the axis and a text at the top."""
    time_ms, area = drawing.points[0].time_ms or 0, sketch.stage.area
    line = line_of(sketch.options)
    x = round(sketch.x(time_ms)) + (0.5 if line.width % 2 else 0.0)
    sketch.stage.canvas.lines([(x, area.top, x, area.bottom)], line.ink, line.width, line.dash)
    if sketch.options.flag("showTime", default=True) and area.left <= x <= area.right:
        sketch.time_tags.append((x, time_ms, line.ink))
    if drawing.text:
        half = width_of(drawing.text, 12) / 2 + 10
        around = [(x + side, y) for y in (area.top + 12, area.bottom - 14) for side in (half, -half)]
        sketch.note(drawing.text, around, ink=words_ink(sketch.options, line.ink))


def trend_line(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a line between two points. Overrides can extend it."""
    start, end = _both(sketch, drawing)
    line = line_of(sketch.options)
    if sketch.options.flag("extendLeft", default=False):
        start = _beyond(end, start)
    if sketch.options.flag("extendRight", default=False):
        end = _beyond(start, end)
    sketch.stage.canvas.lines([(*start, *end)], line.ink, line.width, line.dash)
    _beside(sketch, drawing, start, end, line.ink)


def arrow(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a line with a head at its end."""
    start, end = _both(sketch, drawing)
    ink = arrow_ink(sketch.options)
    angle = atan2(end[1] - start[1], end[0] - start[0])
    neck = (end[0] - 9 * cos(angle), end[1] - 9 * sin(angle))
    wings = [(end[0] - 12 * cos(angle + side), end[1] - 12 * sin(angle + side)) for side in (0.42, -0.42)]
    sketch.stage.canvas.lines([(*start, *neck)], ink, ARROW_WIDTH)
    sketch.stage.canvas.polygon([end, *wings], ink)
    _beside(sketch, drawing, start, end, ink)


def rectangle(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a rectangle between two points, with a text inside at the top."""
    (x0, y0), (x1, y1) = _both(sketch, drawing)
    box = Box(round(min(x0, x1)) + 0.5, round(min(y0, y1)) + 0.5, round(max(x0, x1)) + 0.5, round(max(y0, y1)) + 0.5)
    zone = zone_of_rectangle(sketch.options)
    if zone.fill:
        sketch.stage.canvas.rects([(box.left, box.top, box.width, box.height)], zone.fill)
    sketch.stage.canvas.frame(box, zone.ink, zone.width)
    if drawing.text:
        seen = box.within(sketch.stage.area)
        middle = (seen.left + seen.right) / 2
        around = [(middle, y) for y in (seen.top + 12, seen.bottom - 12, seen.top - 12, seen.bottom + 12)]
        sketch.note(drawing.text, around, ink=words_ink(sketch.options, zone.ink))


def text(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw a text at a point, or near it if the point is taken."""
    x, y = sketch.point(drawing.points[0])
    ink = text_ink(sketch.options)
    around = [(x, y + shift) for shift in (0, -16, 16, -32, 32, -48, 48)]
    sketch.note(drawing.text, [*around, *((x - 60, y + shift) for _, shift in ((0, 0), (0, -20), (0, 20)))], ink=ink)


def arrow_up(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw an arrow from below that points up at a price."""
    _pointer(sketch, drawing, up=True)


def arrow_down(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw an arrow from above that points down at a price."""
    _pointer(sketch, drawing, up=False)


def _pointer(sketch: Sketch, drawing: DrawingSpec, *, up: bool) -> None:
    x, tip = sketch.point(drawing.points[0])
    away = 1 if up else -1
    tip += 3 * away
    ink = pointer_ink(sketch.options, up=up)
    outline = [(0, 0), (7, 8), (3, 8), (3, 16), (-3, 16), (-3, 8), (-7, 8)]
    sketch.stage.canvas.polygon([(x + dx, tip + dy * away) for dx, dy in outline], ink)
    if drawing.text:
        around = [(x, tip + away * far) for far in (28, 44, 60)]
        sides = [(x + side, tip + away * far) for far in (12, 28) for side in (48, -48)]
        sketch.note(drawing.text, [*around, *sides], ink=words_ink(sketch.options, ink))


def _both(sketch: Sketch, drawing: DrawingSpec) -> tuple[Point, Point]:
    return sketch.point(drawing.points[0]), sketch.point(drawing.points[1])


def _beside(sketch: Sketch, drawing: DrawingSpec, start: Point, end: Point, ink: Colour) -> None:
    if drawing.text:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        around = [(x, y + shift) for shift in (-16, 16, -32, 32) for x, y in (middle, end, start)]
        sketch.note(drawing.text, around, ink=words_ink(sketch.options, ink))


def _aligned(sketch: Sketch, words: str, area: Box) -> float:
    half = width_of(words, 12) / 2 + 12
    align = sketch.options.word("horzLabelAlign", "center")
    return {"left": area.left + half, "right": area.right - half}.get(align, (area.left + area.right) / 2)


def _beyond(origin: Point, through: Point) -> Point:
    dx, dy = through[0] - origin[0], through[1] - origin[1]
    length = hypot(dx, dy)
    return (through[0] + dx / length * FAR, through[1] + dy / length * FAR) if length else through
