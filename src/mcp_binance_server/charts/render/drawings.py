"""The drawings we can draw ourselves, by name, and whether a request for one makes sense."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

from mcp_binance_server.charts.render.line_drawings import (
    arrow,
    arrow_down,
    arrow_up,
    horizontal_line,
    rectangle,
    text,
    trend_line,
    vertical_line,
)  # fmt: skip
from mcp_binance_server.charts.render.options import OverrideReader
from mcp_binance_server.charts.render.plan_drawings import fib_retracement, position
from mcp_binance_server.charts.render.sketch import Sketch, place_of
from mcp_binance_server.charts.render.spec import DrawingSpec
from mcp_binance_server.charts.render.stage import Stage


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind is drawn, and what its points must have."""

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


def prices_of(drawing: DrawingSpec) -> list[float]:
    """Return every price of a drawing."""
    named = [*(point.price for point in drawing.points), drawing.target, drawing.stop]
    return [price for price in named if price is not None and isfinite(price)]


def refusal(drawing: DrawingSpec) -> str | None:
    """Say why a drawing cannot be drawn here, None when it can."""
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
    """Say whether nothing of a drawing would be seen."""
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
    """Draw each and return what waits for a place, and the overrides that changed nothing."""
    sketches: list[Sketch] = []
    warnings: list[str] = []
    for drawing in drawings:
        options = OverrideReader(drawing.override)
        sketch = Sketch(stage, options, write)
        KINDS[drawing.name].draw(sketch, drawing)
        if ignored := options.left_over():
            warnings.append(f"override_not_local: {', '.join(ignored)} of the {drawing.name} changed nothing here.")
        sketches.append(sketch)
    return sketches, warnings


def _planned(drawing: DrawingSpec) -> bool:
    entry = drawing.points[0].price
    if entry is None or drawing.target is None or drawing.stop is None:
        return False
    if drawing.name == "Long Position":
        return drawing.stop < entry < drawing.target
    return drawing.target < entry < drawing.stop
