"""The ground a drawing stands on: times and prices become pixels, notes and tags wait for their place."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mcp_binance_server.charts.render.canvas import Point
from mcp_binance_server.charts.render.colours import Colour
from mcp_binance_server.charts.render.fonts import width_of
from mcp_binance_server.charts.render.marks import Note, Tag
from mcp_binance_server.charts.render.options import OverrideReader
from mcp_binance_server.charts.render.spec import Anchor
from mcp_binance_server.charts.render.stage import Stage


@dataclass(frozen=True, slots=True)
class Sketch:
    """Draws at once, except for texts: those are collected and find their place when all lines are there."""

    stage: Stage
    options: OverrideReader
    write: Callable[[float], str]  # a price as the axis writes it
    notes: list[Note] = field(default_factory=list[Note])
    tags: list[Tag] = field(default_factory=list[Tag])
    time_tags: list[tuple[float, int, Colour]] = field(default_factory=list[tuple[float, int, Colour]])

    def x(self, time_ms: int) -> float:
        return self.stage.grid.x(place_of(self.stage.bars.times, self.stage.bars.step_ms, time_ms))

    def y(self, price: float) -> float:
        return self.stage.axis.y(price)

    def point(self, anchor: Anchor) -> Point:
        return self.x(anchor.time_ms or 0), self.y(anchor.price or 0.0)

    def visible(self, price: float) -> bool:
        return self.stage.area.top <= self.y(price) <= self.stage.area.bottom

    def note(
        self, text: str, around: Sequence[Point], *, ink: Colour, plate: Colour | None = None, in_order: bool = False
    ) -> None:
        """Ask for a text with its middle at the first of these points that is free."""
        size = self.options.number("fontSize", 12, 8, 60)
        half = width_of(text, size) / 2
        places = tuple((x - half, y + size * 0.36) for x, y in around)
        border = None if plate else ink.faded(0.5)
        self.notes.append(
            Note(text, size, ink, plate or self.stage.theme.paper, places, border=border, in_order=in_order)
        )


def place_of(times: Sequence[int], step_ms: int, time_ms: int) -> float:
    """Return where a moment lies among bars: 2.5 is between the third and the fourth; outside, bars go on evenly."""
    step = max(step_ms, 1)
    if time_ms <= times[0]:
        return max((time_ms - times[0]) / step, -10_000.0)
    if time_ms >= times[-1]:
        return len(times) - 1 + min((time_ms - times[-1]) / step, 10_000.0)
    before = bisect_right(times, time_ms) - 1
    return before + (time_ms - times[before]) / (times[before + 1] - times[before])
