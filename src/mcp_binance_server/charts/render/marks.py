"""Axes and labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.canvas import Canvas, Segment, text_box, width_of
from mcp_binance_server.charts.render.layout import Box, stacked
from mcp_binance_server.charts.render.look import Colour, Theme, ink_on
from mcp_binance_server.charts.render.scale import Axis, TimeLabel

PAD = 4.0

CLEAR = 6.0  # between a grid line and the legend
MIDDLE = 0.36  # share of the font size: from the middle of a digit down to its baseline


@dataclass(frozen=True, slots=True)
class Tag:
    """A label of a value on the axis, with its own background.

    If there is no room for all tags, lower ranks take precedence.
    """

    y: float
    text: str
    plate: Colour
    rank: int = 1


@dataclass(frozen=True, slots=True)
class Note:
    """A label inside the plot, with its own background.

    `places` are candidates (left edge, baseline). The candidate that covers the fewest lines is used.
    """

    text: str
    size: float
    ink: Colour
    plate: Colour
    places: tuple[tuple[float, float], ...]
    border: Colour | None = None
    bold: bool = False
    in_order: bool = False  # use the first free candidate, even if it covers lines


def draw_tags(canvas: Canvas, tags: Sequence[Tag], strip: Box, size: float) -> list[str]:
    """Draw tags next to their values and move overlapping ones apart. Return the texts that found no room."""
    height = round(size + 7)
    # of tags with equal texts, keep the lowest rank
    distinct = {tag.text: tag for tag in sorted(tags, key=lambda tag: -tag.rank)}
    ranked, room = sorted(distinct.values(), key=lambda tag: tag.rank), int(strip.height // height)
    kept = ranked[:room]
    weights = [100.0 if tag.rank == 0 else 1.0 for tag in kept]  # the price tag hardly moves
    wanted = [min(max(tag.y, strip.top), strip.bottom) for tag in kept]
    centres = stacked(wanted, weights, height, strip.top, strip.bottom)
    for tag, centre in zip(kept, centres, strict=True):
        top = round(centre - height / 2)
        canvas.plate(Box(strip.left + 1, top, strip.right, top + height - 1), tag.plate)
        baseline = top + height / 2 + size * 0.36 - 0.5
        fitted = fitting(tag.text, size, strip.width - 10)
        canvas.text(strip.left + 8, baseline, tag.text, fitted, Colour(ink_on(tag.plate)), plated=True)
    return [tag.text for tag in ranked[room:]]


def draw_note(canvas: Canvas, note: Note, room: Box) -> bool:
    """Draw a note at the candidate that covers no text and the fewest lines.

    Return False if all candidates are taken.
    """
    best: tuple[int, float, float] | None = None
    for x, y in note.places:
        box = plate_of(note, x, y)
        if not room.holds(box) or not canvas.free(box, 1.0):
            continue
        covered = 0 if note.in_order else canvas.crossed(box)
        if best is None or covered < best[0]:
            best = (covered, x, y)
    if best is None:
        return False
    _, x, y = best
    canvas.plate(plate_of(note, x, y), note.plate, note.border)
    canvas.text(x, y, note.text, note.size, note.ink, bold=note.bold, plated=True)
    return True


def plate_of(note: Note, x: float, y: float) -> Box:
    """Return the background box of a note whose text starts at a point."""
    box = text_box(x, y, note.text, note.size, bold=note.bold)
    return Box(round(box.left - PAD), round(box.top - 2), round(box.right + PAD), round(box.bottom + 2))


def fitting(text: str, size: float, room: float) -> float:
    """Return the largest font size, up to `size`, at which a text fits."""
    width = width_of(text, size)
    return size if width <= room else size * room / width


@dataclass(frozen=True, slots=True)
class Strip:
    """The area of the labels along an axis."""

    canvas: Canvas
    theme: Theme
    box: Box
    size: float

    @property
    def baseline(self) -> float:
        """Baseline of a text that is centred in the strip."""
        return self.box.top + self.box.height / 2 + self.size * MIDDLE


def draw_grid(
    canvas: Canvas, ink: Colour, pane: Box, *, rows: Sequence[float], columns: Sequence[float], legend: Sequence[Box]
) -> None:
    """Draw the grid. Its lines end before the legend."""
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
    """Draw the values on the axis, except those without room."""
    for value in values:
        x, y, text = strip.box.left + 8, round(axis.y(value)) + strip.size * MIDDLE, write(value)
        box = text_box(x, y, text, strip.size)
        if strip.box.holds(box) and strip.canvas.free(box):
            strip.canvas.text(x, y, text, strip.size, strip.theme.text)


def draw_times(strip: Strip, labels: Sequence[TimeLabel], centres: Sequence[float]) -> None:
    """Draw the times below their bars, except those without room."""
    for label in sorted(labels, key=lambda each: not each.strong):
        x = centres[label.bar]
        box = text_box(x, strip.baseline, label.text, strip.size, anchor="middle", bold=label.strong)
        if strip.box.left + 2 <= box.left and box.right <= strip.box.right - 2 and strip.canvas.free(box, 8):
            ink = strip.theme.strong if label.strong else strip.theme.text
            strip.canvas.text(x, strip.baseline, label.text, strip.size, ink, anchor="middle", bold=label.strong)


def draw_time_tag(strip: Strip, x: float, text: str, plate: Colour) -> None:
    """Draw the tag of a time, moved inside the strip if needed."""
    half = width_of(text, strip.size) / 2 + 6
    middle = min(max(x, strip.box.left + half), strip.box.right - half)
    box = Box(middle - half, strip.box.top + 3, middle + half, strip.box.bottom - 3)
    if strip.box.holds(box) and strip.canvas.free(box):
        strip.canvas.plate(box, plate)
        ink = Colour(ink_on(plate))
        strip.canvas.text(middle, strip.baseline, text, strip.size, ink, anchor="middle", plated=True)


def draw_corner(strip: Strip, text: str) -> None:
    """Draw the year and the time zone in the corner below the price axis."""
    if width_of(text, strip.size) <= strip.box.width - 8:
        middle = (strip.box.left + strip.box.right) / 2
        strip.canvas.text(middle, strip.baseline, text, strip.size, strip.theme.text, anchor="middle")
