"""Table of all kinds of drawings, and drawings of trade plans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import pairwise
from math import isfinite
from types import MappingProxyType

from mcp_binance_server.charts.render.canvas import width_of
from mcp_binance_server.charts.render.drawings.lines import (
    arrow,
    arrow_down,
    arrow_up,
    horizontal_line,
    rectangle,
    text,
    trend_line,
    vertical_line,
)  # fmt: skip
from mcp_binance_server.charts.render.drawings.styles import (
    GREY,
    MOVE_DASH,
    fib_levels,
    planned_prices,
    shows_value,
)
from mcp_binance_server.charts.render.layout import EDGE, Box
from mcp_binance_server.charts.render.look import Colour, OverrideReader, ink_on
from mcp_binance_server.charts.render.marks import Tag
from mcp_binance_server.charts.render.scale import moment_words
from mcp_binance_server.charts.render.spec import DrawingSpec
from mcp_binance_server.charts.render.stage import Sketch, Stage, place_of

LEAST_WIDTH = 60


def position(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw entry, target and stop of a position, labelled with gain, loss and their ratio."""
    target, stop, entry = planned = planned_prices(drawing, sketch.options, sketch.write)
    left, right = _span(sketch, drawing)
    canvas, rows = sketch.stage.canvas, {each.price: round(sketch.y(each.price)) for each in planned}
    for each in (target, stop):
        if each.fill:
            top, bottom = sorted((rows[entry.price], rows[each.price]))
            canvas.rects([(left, top, right - left, bottom - top)], each.fill)
    for each in (entry, target, stop):
        canvas.lines([(left, rows[each.price] + 0.5, right, rows[each.price] + 0.5)], each.line)
    middle = (left + right) / 2
    for each in planned:
        # Labels lie outside of the box if there is room: above for prices above the entry, else below.
        row = rows[each.price]
        away = 0 if each.price == entry.price else (-12 if row < rows[entry.price] else 12)
        half = width_of(each.words, 12) / 2 + 8
        lowest, highest = sketch.stage.area.left + half, sketch.stage.area.right - half
        columns = [min(max(x, lowest), highest) for x in (middle, left + half, right - half, left - half, right + half)]
        around = [(x, row + shift) for shift in (away, -away, 2 * away) for x in columns]
        sketch.note(each.words, around, ink=Colour(ink_on(each.plate)), plate=each.plate)
        if shows_value(sketch.options) and sketch.visible(each.price):
            sketch.tags.append(Tag(row, sketch.write(each.price), each.plate, rank=2))


def fib_retracement(sketch: Sketch, drawing: DrawingSpec) -> None:
    """Draw the Fibonacci levels between two points. Level 1 is the start of the move, level 0 its end."""
    levels = fib_levels(drawing, sketch.options, sketch.write)
    xs = sorted((sketch.x(drawing.points[0].time_ms or 0), sketch.x(drawing.points[1].time_ms or 0)))
    left, right = xs[0], max(xs[1], xs[0] + LEAST_WIDTH)
    if sketch.options.flag("extendLine", default=False):
        right = sketch.stage.area.right
    if sketch.options.flag("extendLeft", default=False):
        left = sketch.stage.area.left
    canvas = sketch.stage.canvas
    for before, level in pairwise(levels):
        if level.fill:
            top, bottom = sorted((round(sketch.y(before.price)), round(sketch.y(level.price))))
            canvas.rects([(left, top, right - left, bottom - top)], level.fill)
    ends = (*sketch.point(drawing.points[0]), *sketch.point(drawing.points[1]))
    canvas.lines([ends], GREY, 1, MOVE_DASH)
    rows = [round(sketch.y(level.price)) + 0.5 for level in levels]
    at_right = _freer_side(sketch, left, right, rows)
    for level, row in zip(levels, rows, strict=True):
        canvas.lines([(left, row, right, row)], level.ink)
        if sketch.visible(level.price):
            half = width_of(level.words, 12) / 2 + 8
            around = [(right + half, row), (left - half, row)] if at_right else [(left - half, row)]
            inside = sorted((left + half, right - half), key=lambda x: _bars_under(sketch, x, half, row))
            sketch.note(level.words, [*around, *((x, row) for x in inside)], ink=level.ink, in_order=True)


def _freer_side(sketch: Sketch, left: float, right: float, rows: list[float]) -> bool:
    """Return True if labels to the right of the levels cover fewer bars than labels to the left."""
    area, stage, reach = sketch.stage.area, sketch.stage, 120
    covered = [len(rows) * (left - reach < area.left), len(rows) * (right + reach > area.right)]
    for x, high, low in zip(stage.grid.centres, stage.bars.highs, stage.bars.lows, strict=False):
        side = 0 if left - reach < x < left else 1 if right < x < right + reach else None
        if side is not None:
            covered[side] += sum(sketch.y(high) - 8 < row < sketch.y(low) + 8 for row in rows)
    return covered[1] < covered[0]


def _bars_under(sketch: Sketch, middle: float, half: float, row: float) -> int:
    """Count the bars that a label would cover."""
    bars = sketch.stage.bars
    return sum(
        middle - half < x < middle + half and sketch.y(high) - 8 < row < sketch.y(low) + 8
        for x, high, low in zip(sketch.stage.grid.centres, bars.highs, bars.lows, strict=False)
    )


def _span(sketch: Sketch, drawing: DrawingSpec) -> tuple[float, float]:
    area = sketch.stage.area
    start = drawing.points[0].time_ms
    left = sketch.x(sketch.stage.bars.times[-1] if start is None else start)
    end = drawing.points[1].time_ms if len(drawing.points) > 1 else None
    right = sketch.x(end) if end is not None else max(left + LEAST_WIDTH * 2, area.right - EDGE)
    seen = Box(min(left, right), 0, max(left, right), 1)
    return round(max(seen.left, area.left)), round(max(min(seen.right, area.right), seen.left + LEAST_WIDTH))


@dataclass(frozen=True, slots=True)
class Kind:
    """Draw function of one kind of drawing, and its requirements on points and text."""

    draw: Callable[[Sketch, DrawingSpec], None]
    points: int
    times: bool = True
    prices: bool = True
    worded: bool = False


KINDS = MappingProxyType({
    "Horizontal Line": Kind(horizontal_line, 1, times=False),
    "Vertical Line": Kind(vertical_line, 1, prices=False),
    "Trend Line": Kind(trend_line, 2),
    "Arrow Marker": Kind(arrow, 2),
    "Rectangle": Kind(rectangle, 2),
    "Text": Kind(text, 1, worded=True),
    "Arrow Mark Up": Kind(arrow_up, 1),
    "Arrow Mark Down": Kind(arrow_down, 1),
    "Long Position": Kind(position, 1, times=False),
    "Short Position": Kind(position, 1, times=False),
    "Fib Retracement": Kind(fib_retracement, 2),
})  # fmt: skip


POSITIONS = frozenset(name for name, kind in KINDS.items() if kind.draw is position)


def levels_in_words(drawing: DrawingSpec, write: Callable[[float], str], zone: tzinfo) -> str:
    """Return what a drawing shows: the levels of a retracement or position, or its text, prices and times."""
    options = OverrideReader(drawing.override)
    if drawing.name in POSITIONS:
        target, stop, entry = planned_prices(drawing, options, write)
        return ", ".join(each.words for each in (entry, target, stop))
    if drawing.name == "Fib Retracement":
        return ", ".join(each.words for each in fib_levels(drawing, options, write))
    points = [
        " ".join(
            [
                *([] if each.price is None else [write(each.price)]),
                *([] if each.time_ms is None else [moment_words(each.time_ms, zone)]),
            ]
        )
        for each in drawing.points
    ]
    return ", ".join(filter(None, [drawing.text, " to ".join(points)]))


def prices_of(drawing: DrawingSpec) -> list[float]:
    """Return every price of a drawing."""
    named = [*(point.price for point in drawing.points), drawing.target, drawing.stop]
    return [price for price in named if price is not None and isfinite(price)]


def refusal(drawing: DrawingSpec) -> str | None:
    """Return the reason why the renderer cannot draw a drawing, or None."""
    kind = KINDS.get(drawing.name)
    if kind is None:
        return f"drawing_not_local: the local renderer has no {drawing.name}; it was left out."
    points = drawing.points[: kind.points]
    whole = len(points) == kind.points and all(
        (not kind.times or point.time_ms is not None)
        and (not kind.prices or (point.price is not None and isfinite(point.price) and point.price > 0))
        for point in points
    )
    if not whole or (kind.worded and not drawing.text.strip()):
        return f"drawing_needs_points: {drawing.name} lacks a time, a price or its text; it was left out."
    if kind.draw is position and not _planned(drawing):
        return f"drawing_inconsistent: target and stop of the {drawing.name} are not on opposite sides of its entry."
    return None


def out_of_view(drawing: DrawingSpec, stage: Stage) -> bool:
    """Return True if every part of a drawing is out of view."""
    area, axis = stage.area, stage.axis
    rows = [axis.y(price) for price in prices_of(drawing)]
    xs = [
        stage.grid.x(place_of(stage.bars.times, stage.bars.step_ms, point.time_ms))
        for point in drawing.points
        if point.time_ms is not None
    ]
    beside = bool(xs) and (max(xs) < area.left or min(xs) > area.right)
    return beside or (bool(rows) and (max(rows) < area.top or min(rows) > area.bottom))


def draw(
    stage: Stage, drawings: Sequence[DrawingSpec], write: Callable[[float], str]
) -> tuple[list[Sketch], list[str]]:
    """Draw all drawings.

    Return the sketches, whose labels are still to be placed, and warnings about overrides without effect.
    """
    sketches: list[Sketch] = []
    warnings: list[str] = []
    for drawing in drawings:
        options = OverrideReader(drawing.override)
        sketch = Sketch(stage, options, write)
        KINDS[drawing.name].draw(sketch, drawing)
        if ignored := options.left_over():
            warnings.append(f"override_not_local: {', '.join(ignored)} of the {drawing.name} had no local effect.")
        sketches.append(sketch)
    return sketches, warnings


def _planned(drawing: DrawingSpec) -> bool:
    entry = drawing.points[0].price
    if entry is None or drawing.target is None or drawing.stop is None:
        return False
    if drawing.name == "Long Position":
        return drawing.stop < entry < drawing.target
    return drawing.target < entry < drawing.stop
