"""Drawings as simple shapes for a web page: lines, boxes, labels, marks and tags at times and prices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from mcp_binance_server.charts.render.drawings.styles import (
    ARROW_WIDTH,
    GREY,
    MOVE_DASH,
    DrawnLine,
    arrow_ink,
    fib_levels,
    line_of,
    planned_prices,
    pointer_ink,
    shows_value,
    text_ink,
    words_ink,
    zone_of_rectangle,
)
from mcp_binance_server.charts.render.look import Colour, OverrideReader, ink_on
from mcp_binance_server.charts.render.scale import moment_words
from mcp_binance_server.charts.render.spec import Anchor, DrawingSpec
from mcp_binance_server.charts.render.stage import FONT, words_size

Shape = dict[str, Any]
# (time, price). Without a time a start lies at the left edge and any other point at the right edge. Without a price the
# point lies at the top or the bottom.
At = tuple[int | None, float | None]


@dataclass(frozen=True, slots=True)
class DrawingContext:
    """Context of drawings: times of the bars, free columns after them, and formats of prices and times."""

    times: Sequence[int]
    step_ms: int
    future: int
    write: Callable[[float], str]
    zone: tzinfo

    @property
    def end_ms(self) -> int:
        """Time of the last free column in milliseconds."""
        return self.times[-1] + self.future * self.step_ms


def drawing_members(drawings: Sequence[DrawingSpec], ground: DrawingContext) -> tuple[list[dict[str, Any]], list[str]]:
    """Convert each drawing to shapes. Also return warnings about overrides without effect."""
    members: list[dict[str, Any]] = []
    warnings: list[str] = []
    for drawing in drawings:
        options = OverrideReader(drawing.override)
        shapes = SHAPES[drawing.name](drawing, options, ground)
        members.append({"name": drawing.name, "shapes": shapes, **({} if drawing.on_top else {"behind": True})})
        if ignored := options.left_over():
            warnings.append(f"override_not_local: {', '.join(ignored)} of the {drawing.name} had no local effect.")
    return members, warnings


def _horizontal(drawing: DrawingSpec, options: OverrideReader, ground: DrawingContext) -> list[Shape]:
    price, line = drawing.points[0].price or 0.0, line_of(options)
    shapes = [_line((None, price), (None, price), line)]
    if shows_value(options):
        shapes.append(_tag(price, line.ink, ground))
    align = options.word("horzLabelAlign", "center")
    time_ms = {"left": ground.times[0], "right": ground.times[-1]}.get(align)
    side = {"bottom": "below", "middle": "centre"}.get(options.word("vertLabelAlign", "top"), "above")
    return shapes + _words(drawing.text, (time_ms, price), words_ink(options, line.ink), side, options)


def _vertical(drawing: DrawingSpec, options: OverrideReader, ground: DrawingContext) -> list[Shape]:
    time_ms, line = drawing.points[0].time_ms or 0, line_of(options)
    shapes = [_line((time_ms, None), (time_ms, None), line)]
    if options.flag("showTime", default=True) and ground.times[0] <= time_ms <= ground.end_ms:
        words, ink = moment_words(time_ms, ground.zone), Colour(ink_on(line.ink))
        # The label lies at the bottom of the pane, near the time axis.
        shapes.append(_label(words, (time_ms, None), ink, "above", OverrideReader({}), plate=line.ink))
    return shapes + _words(drawing.text, (time_ms, None), words_ink(options, line.ink), "below", options)


def _trend(drawing: DrawingSpec, options: OverrideReader, _ground: DrawingContext) -> list[Shape]:
    line = line_of(options)
    left, right = (options.flag(f"extend{side}", default=False) for side in ("Left", "Right"))
    extend = "both" if left and right else "left" if left else "right" if right else None
    shape = _line(_at(drawing.points[0]), _at(drawing.points[1]), line)
    return [shape | ({"extend": extend} if extend else {}), *_beside(drawing, options, line.ink)]


def _arrow(drawing: DrawingSpec, options: OverrideReader, _ground: DrawingContext) -> list[Shape]:
    line = DrawnLine(arrow_ink(options), ARROW_WIDTH, "")
    shape = _line(_at(drawing.points[0]), _at(drawing.points[1]), line)
    return [shape | {"head": True}, *_beside(drawing, options, line.ink)]


def _rectangle(drawing: DrawingSpec, options: OverrideReader, _ground: DrawingContext) -> list[Shape]:
    zone = zone_of_rectangle(options)
    first, last = drawing.points[:2]
    box: Shape = {"is": "box", "from": _at(first), "to": _at(last), "colour": zone.ink.css, "width": zone.width}
    top = (_middle_ms(first, last), max(first.price or 0.0, last.price or 0.0))
    return [
        box | ({"fill": zone.fill.css} if zone.fill else {}),
        *_words(drawing.text, top, words_ink(options, zone.ink), "below", options),
    ]


def _text(drawing: DrawingSpec, options: OverrideReader, _ground: DrawingContext) -> list[Shape]:
    return _words(drawing.text, _at(drawing.points[0]), text_ink(options), "centre", options)


def _mark(drawing: DrawingSpec, options: OverrideReader, _ground: DrawingContext) -> list[Shape]:
    up = drawing.name == "Arrow Mark Up"
    ink = pointer_ink(options, up=up)
    written = words_ink(options, ink)
    shape: Shape = {"is": "mark", "at": _at(drawing.points[0]), "up": up, "colour": ink.css}
    if drawing.text:
        shape |= {"text": drawing.text} | ({"text_colour": written.css} if written != ink else {})
    return [shape]


def _position(drawing: DrawingSpec, options: OverrideReader, ground: DrawingContext) -> list[Shape]:
    target, stop, entry = planned_prices(drawing, options, ground.write)
    start_ms = drawing.points[0].time_ms
    left_ms = ground.times[-1] if start_ms is None else start_ms
    right_ms = drawing.points[1].time_ms if len(drawing.points) > 1 else None
    middle_ms = (left_ms + (max(ground.end_ms, left_ms) if right_ms is None else right_ms)) // 2
    shapes: list[Shape] = [
        {"is": "box", "from": (left_ms, entry.price), "to": (right_ms, each.price), "fill": each.fill.css}
        for each in (target, stop)
        if each.fill
    ]
    for each in (entry, target, stop):
        shapes.append(_line((left_ms, each.price), (right_ms, each.price), DrawnLine(each.line, 1, "")))
        side = "centre" if each is entry else "above" if each.price > entry.price else "below"
        ink = Colour(ink_on(each.plate))
        shapes.append(_label(each.words, (middle_ms, each.price), ink, side, options, plate=each.plate))
        if shows_value(options):
            shapes.append(_tag(each.price, each.plate, ground))
    return shapes


def _fib(drawing: DrawingSpec, options: OverrideReader, ground: DrawingContext) -> list[Shape]:
    levels = fib_levels(drawing, options, ground.write)
    first, last = drawing.points[:2]
    left_ms, right_ms = sorted((first.time_ms or 0, last.time_ms or 0))
    left = None if options.flag("extendLeft", default=False) else left_ms
    right = None if options.flag("extendLine", default=False) else right_ms
    shapes: list[Shape] = [
        {"is": "box", "from": (left, before.price), "to": (right, level.price), "fill": level.fill.css}
        for before, level in pairwise(levels)
        if level.fill
    ]
    shapes.append(_line(_at(first), _at(last), DrawnLine(GREY, 1, MOVE_DASH)))
    # Labels lie at the end of the levels, or inside if the levels reach the edge.
    side = "left" if right is None else "right"
    for level in levels:
        shapes.append(_line((left, level.price), (right, level.price), DrawnLine(level.ink, 1, "")))
        shapes.append(_label(level.words, (right, level.price), level.ink, side, options))
    return shapes


SHAPES = MappingProxyType({
    "Horizontal Line": _horizontal,
    "Vertical Line": _vertical,
    "Trend Line": _trend,
    "Arrow Marker": _arrow,
    "Rectangle": _rectangle,
    "Text": _text,
    "Arrow Mark Up": _mark,
    "Arrow Mark Down": _mark,
    "Long Position": _position,
    "Short Position": _position,
    "Fib Retracement": _fib,
})  # fmt: skip


def _line(start: At, end: At, line: DrawnLine) -> Shape:
    dash = {"dash": [int(each) for each in line.dash.split()]} if line.dash else {}
    return {"is": "line", "from": start, "to": end, "colour": line.ink.css, "width": line.width, **dash}


def _label(text: str, at: At, ink: Colour, side: str, options: OverrideReader, *, plate: Colour | None = None) -> Shape:
    size = words_size(options)
    standing = {**({"plate": plate.css} if plate else {}), **({"size": size} if size != FONT else {})}
    return {"is": "label", "at": at, "text": text, "colour": ink.css, "side": side, **standing}


def _words(text: str, at: At, ink: Colour, side: str, options: OverrideReader) -> list[Shape]:
    return [_label(text, at, ink, side, options)] if text else []


def _tag(price: float, ink: Colour, ground: DrawingContext) -> Shape:
    return {"is": "tag", "price": price, "text": ground.write(price), "colour": ink.hex}


def _beside(drawing: DrawingSpec, options: OverrideReader, ink: Colour) -> list[Shape]:
    first, last = drawing.points[:2]
    middle = (_middle_ms(first, last), ((first.price or 0.0) + (last.price or 0.0)) / 2)
    return _words(drawing.text, middle, words_ink(options, ink), "above", options)


def _middle_ms(first: Anchor, last: Anchor) -> int:
    return ((first.time_ms or 0) + (last.time_ms or 0)) // 2


def _at(point: Anchor) -> At:
    return point.time_ms, point.price
