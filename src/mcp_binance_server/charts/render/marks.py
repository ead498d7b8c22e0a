"""Labels that a drawing or a value wants in the picture, before anyone knows whether there is room."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.boxes import Box, stacked
from mcp_binance_server.charts.render.canvas import Canvas, text_box
from mcp_binance_server.charts.render.colours import Colour, ink_on
from mcp_binance_server.charts.render.fonts import width_of

PAD = 4.0


@dataclass(frozen=True, slots=True)
class Tag:
    """A value on the axis, on a plate of its own; lower ranks go first when there is no room for all."""

    y: float
    text: str
    plate: Colour
    rank: int = 1


@dataclass(frozen=True, slots=True)
class Note:
    """A text in the plot, on a plate, at one of its places (left edge, base line): the one that covers fewest lines."""

    text: str
    size: float
    ink: Colour
    plate: Colour
    places: tuple[tuple[float, float], ...]
    border: Colour | None = None
    bold: bool = False
    in_order: bool = False  # the first free place, whatever it covers


def draw_tags(canvas: Canvas, tags: Sequence[Tag], strip: Box, size: float) -> list[str]:
    """Put tags beside their values, pushed apart where they would cover each other; return those without room."""
    height = round(size + 7)
    distinct = {tag.text: tag for tag in sorted(tags, key=lambda tag: -tag.rank)}  # of equal texts the first in rank
    ranked, room = sorted(distinct.values(), key=lambda tag: tag.rank), int(strip.height // height)
    kept = ranked[:room]
    weights = [100.0 if tag.rank == 0 else 1.0 for tag in kept]  # the price stays where it is
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
    """Draw a note where it covers no text and as few lines as can be; False when every place is taken."""
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
    """Return the plate of a note whose text starts at a place."""
    box = text_box(x, y, note.text, note.size, bold=note.bold)
    return Box(round(box.left - PAD), round(box.top - 2), round(box.right + PAD), round(box.bottom + 2))


def fitting(text: str, size: float, room: float) -> float:
    """Return a size at which a text fits into the room, no larger than asked."""
    width = width_of(text, size)
    return size if width <= room else size * room / width
