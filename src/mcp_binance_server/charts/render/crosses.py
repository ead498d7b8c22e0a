"""Golden and death crosses: crossings of the simple averages of 50 and 200 bars."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mcp_binance_server.charts.render.look import Colour, OverrideReader
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.stage import Sketch, Stage
from mcp_binance_server.charts.render.study_look import StudyView

SHORT, LONG = 50, 200
AVERAGE = "Moving Average"
GOLDEN, DEATH = "golden cross", "death cross"
INKS = {GOLDEN: Colour("#ff9800"), DEATH: Colour("#787b86")}
RADIUS = 4.0
AWAY = 18  # pixels between a crossing and its label


@dataclass(frozen=True, slots=True)
class Cross:
    """A crossing at a bar: golden if the short average rises above the long one, else death."""

    bar: int
    price: float
    kind: str


def crosses(request: Request) -> list[Cross]:
    """Return the crossings of SMA 50 and SMA 200 in the bars shown; none unless the chart has both."""
    short, long = _average(request, SHORT), _average(request, LONG)
    if short is None or long is None:
        return []
    return list(_crossings(_line(short), _line(long)))


def draw_crosses(stage: Stage, sketch: Sketch, found: list[Cross]) -> None:
    """Mark crossings by a dot and request their labels."""
    for each in found:
        x, y = stage.grid.centres[each.bar], stage.axis.y(each.price)
        stage.canvas.dots([(x, y)], RADIUS, INKS[each.kind])
        sketch.note(
            each.kind, [(x, y - AWAY), (x, y + AWAY), (x, y - 2 * AWAY), (x, y + 2 * AWAY)], ink=INKS[each.kind]
        )


def cross_sketch(stage: Stage, request: Request) -> Sketch:
    """Return a sketch with all crossings of a chart drawn."""
    sketch = Sketch(stage, OverrideReader({}), str)
    draw_crosses(stage, sketch, crosses(request))
    return sketch


def _average(request: Request, length: int) -> StudyView | None:
    return next(
        (
            view
            for view in request.overlays
            if view.settled.study.name == AVERAGE and view.settled.inputs.whole("length") == length
        ),
        None,
    )


def _line(view: StudyView) -> list[float | None]:
    (line,) = view.lines.values()
    return [*line]


def _crossings(short: list[float | None], long: list[float | None]) -> Iterator[Cross]:
    known = [
        (bar, one - other, one)
        for bar, (one, other) in enumerate(zip(short, long, strict=False))
        if one is not None and other is not None and one != other
    ]
    for (_, before, _), (bar, after, price) in pairwise(known):
        if (before > 0) is not (after > 0):
            yield Cross(bar, price, GOLDEN if after > 0 else DEATH)
