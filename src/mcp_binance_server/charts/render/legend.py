"""The legend: what is drawn and its last values, in rows that nothing else may cross."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.boxes import Box
from mcp_binance_server.charts.render.canvas import Canvas
from mcp_binance_server.charts.render.colours import Colour
from mcp_binance_server.charts.render.fonts import width_of

LEFT = 12
ROW = 18
TITLE_ROW = 20
GAP = 10  # between groups
CLOSE = 4  # between the words of a group


@dataclass(frozen=True, slots=True)
class Word:
    """One text of a legend."""

    text: str
    colour: Colour
    size: float = 12
    bold: bool = False

    @property
    def width(self) -> float:
        return width_of(self.text, self.size, bold=self.bold)


Group = tuple[Word, ...]  # words that stay together
Row = tuple[Group, ...]


def wrapped(groups: Sequence[Group], room: float) -> list[Row]:
    """Fill rows with groups, a new row where the next would not fit."""
    rows: list[list[Group]] = []
    used = 0.0
    for group in groups:
        width = width_of_group(group)
        if rows and used + GAP + width <= room:
            rows[-1].append(group)
            used += GAP + width
        else:
            rows.append([group])
            used = width
    return [tuple(row) for row in rows]


def cut(groups: Sequence[Group], room: float) -> Row:
    """Keep the groups that fit into one row, at least the first."""
    kept: list[Group] = []
    used = 0.0
    for group in groups:
        used += width_of_group(group) + (GAP if kept else 0)
        if kept and used > room:
            break
        kept.append(group)
    return tuple(kept)


def shortened(rows: Sequence[Row], most: int, ink: Colour) -> list[Row]:
    """Keep the first rows and say how many are left out."""
    if len(rows) <= most:
        return list(rows)
    left_out = len(rows) - most + 1
    return [*rows[: most - 1], ((Word(f"+{left_out} more", ink),),)]


def draw_legend(canvas: Canvas, rows: Sequence[Row], top: float, room: float) -> list[Box]:
    """Write rows from the top and return their boxes; a word that would leave the room is cut short."""
    boxes: list[Box] = []
    baseline = top + 2
    for row in rows:
        tallest = max(word.size for group in row for word in group)
        baseline += TITLE_ROW if tallest > 13 else ROW
        x = float(LEFT)
        for group in row:
            for word in group:
                text = _trimmed(word, LEFT + room - x)
                if text:
                    x = canvas.text(x, baseline, text, word.size, word.colour, bold=word.bold) + CLOSE
            x += GAP - CLOSE
        boxes.append(Box(LEFT, baseline - tallest, x - GAP, baseline + 4))
    return boxes


def height_of(rows: Sequence[Row]) -> float:
    """Return how far the rows reach down, with the air below them."""
    tall = sum(TITLE_ROW if max(word.size for group in row for word in group) > 13 else ROW for row in rows)
    return tall + 16 if rows else 14


def width_of_group(group: Group) -> float:
    """Return the width of words that stay together."""
    return sum(word.width for word in group) + CLOSE * (len(group) - 1)


def _trimmed(word: Word, room: float) -> str:
    text = word.text
    if width_of(text, word.size, bold=word.bold) <= room:
        return text
    while text and width_of(text + "\N{HORIZONTAL ELLIPSIS}", word.size, bold=word.bold) > room:
        text = text[:-1]
    return text + "\N{HORIZONTAL ELLIPSIS}" if text else ""
