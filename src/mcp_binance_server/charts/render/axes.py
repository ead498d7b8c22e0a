"""The grid behind the picture, and the labels beside and below it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.boxes import Box
from mcp_binance_server.charts.render.canvas import Canvas, Segment, text_box
from mcp_binance_server.charts.render.colours import Colour, Theme, ink_on
from mcp_binance_server.charts.render.fonts import width_of
from mcp_binance_server.charts.render.scale import Axis
from mcp_binance_server.charts.render.time_ticks import TimeLabel

CLEAR = 6.0  # between a grid line and a legend's text
MIDDLE = 0.36  # of the size: from the middle of a figure down to its base line


@dataclass(frozen=True, slots=True)
class Strip:
    """The place of an axis' labels; no line goes there."""

    canvas: Canvas
    theme: Theme
    box: Box
    size: float

    @property
    def baseline(self) -> float:
        """The base line of a text in the middle of the strip."""
        return self.box.top + self.box.height / 2 + self.size * MIDDLE


def draw_grid(
    canvas: Canvas, ink: Colour, pane: Box, *, rows: Sequence[float], columns: Sequence[float], legend: Sequence[Box]
) -> None:
    """Draw grid lines, each stopping short of the legend."""
    lines: list[Segment] = []
    for row in rows:
        beside = [box.right for box in legend if box.top - 3 < row < box.bottom + 3]
        left = max(beside) + CLEAR if beside else pane.left
        if pane.top < row < pane.bottom:
            lines.append((left, row, pane.right, row))
    for x in columns:
        above = [box.bottom for box in legend if box.left - CLEAR < x < box.right + CLEAR]
        lines.append((x, max([pane.top, *above]), x, pane.bottom))
    canvas.lines(lines, ink)


def draw_numbers(strip: Strip, axis: Axis, values: Sequence[float], write: Callable[[float], str]) -> None:
    """Write values beside the pane, those that find room."""
    for value in values:
        x, y, text = strip.box.left + 8, round(axis.y(value)) + strip.size * MIDDLE, write(value)
        box = text_box(x, y, text, strip.size)
        if strip.box.holds(box) and strip.canvas.free(box):
            strip.canvas.text(x, y, text, strip.size, strip.theme.text)


def draw_times(strip: Strip, labels: Sequence[TimeLabel], centres: Sequence[float]) -> None:
    """Write moments below their bars, those that find room."""
    for label in sorted(labels, key=lambda each: not each.strong):
        x = centres[label.bar]
        box = text_box(x, strip.baseline, label.text, strip.size, anchor="middle", bold=label.strong)
        if strip.box.left + 2 <= box.left and box.right <= strip.box.right - 2 and strip.canvas.free(box, 8):
            ink = strip.theme.strong if label.strong else strip.theme.text
            strip.canvas.text(x, strip.baseline, label.text, strip.size, ink, anchor="middle", bold=label.strong)


def draw_time_tag(strip: Strip, x: float, text: str, plate: Colour) -> None:
    """Write a moment on a plate, at its place or as near as the strip allows."""
    half = width_of(text, strip.size) / 2 + 6
    middle = min(max(x, strip.box.left + half), strip.box.right - half)
    box = Box(middle - half, strip.box.top + 3, middle + half, strip.box.bottom - 3)
    if strip.box.holds(box) and strip.canvas.free(box):
        strip.canvas.plate(box, plate)
        ink = Colour(ink_on(plate))
        strip.canvas.text(middle, strip.baseline, text, strip.size, ink, anchor="middle", plated=True)


def draw_corner(strip: Strip, text: str) -> None:
    """Write the year and the zone of the time axis into the corner below the price axis."""
    if width_of(text, strip.size) <= strip.box.width - 8:
        middle = (strip.box.left + strip.box.right) / 2
        strip.canvas.text(middle, strip.baseline, text, strip.size, strip.theme.text, anchor="middle")
