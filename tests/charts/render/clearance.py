"""What must never be in a picture: texts over texts, lines through texts, texts or series cut off."""

from itertools import combinations, pairwise

from mcp_binance_server.charts.render.canvas import Canvas, Stroke, Text
from mcp_binance_server.charts.render.layout import Box

ROUNDING = 0.01


def overlapping_texts(canvas: Canvas) -> list[tuple[str, str]]:
    """Return the texts that cover each other."""
    return [
        (one.text, other.text)
        for one, other in combinations(canvas.texts, 2)
        if one.box.meets(other.box, -ROUNDING)
    ]  # fmt: skip


def crossed_texts(canvas: Canvas) -> list[str]:
    """Return the texts without a plate of their own that a line goes through."""
    bare = [text for text in canvas.texts if not text.plated]
    return [text.text for text in bare if any(_crosses(stroke, text) for stroke in canvas.strokes)]


def texts_outside(canvas: Canvas) -> list[str]:
    """Return the texts that leave the picture."""
    paper = Box(0, 0, canvas.width, canvas.height)
    return [text.text for text in canvas.texts if not paper.holds(text.box)]


def strokes_cut_off(canvas: Canvas) -> list[Stroke]:
    """Return the lines that leave their pane at its top or bottom by more than half their width."""
    return [
        stroke
        for stroke in canvas.strokes
        if stroke.clip and any(y < stroke.clip.top - 1 or y > stroke.clip.bottom + 1 for _, y in stroke.points)
    ]


def _crosses(stroke: Stroke, text: Text) -> bool:
    seen = text.box.within(stroke.clip) if stroke.clip else text.box
    return (
        seen.width > ROUNDING
        and seen.height > ROUNDING
        and any(seen.crossed_by(start, end) for start, end in pairwise(stroke.points))
    )
