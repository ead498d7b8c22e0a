"""Where things stand: panes from top to bottom, the axis strips, and the column of every bar."""

from dataclasses import dataclass
from math import atan, ceil, floor, pi

from mcp_binance_server.charts.render.boxes import Box

EDGE = 4  # free pixels left of the first bar
LEAST_AXIS = 66
OWN_PANE = 0.24
ALL_PANES = 0.6
MOST_PANES = 4
SMALLEST_PANE, SMALLEST_MAIN = 40, 100
TWO, THREE, WIDEST = 2.0, 3.0, 41
NARROWED = 0.2


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns of the bars: their centres lie on the middle of a pixel, bodies are odd, or two pixels."""

    centres: list[float]
    slot: float
    body: int
    left: float

    def left_of(self, centre: float) -> int:
        """Return where the body around a centre begins, on a whole pixel."""
        return floor(centre) - (self.body - 1) // 2

    def x(self, place: float) -> float:
        """Return the pixel column of a place between bars, also before the first and after the last."""
        return self.left + self.slot * (place + 0.5)


@dataclass(frozen=True, slots=True)
class Layout:
    """The strips of the picture."""

    plot_right: int
    axis_top: int
    panes: tuple[Box, ...]
    grid: Grid


def lay_out(
    width: int, height: int, *, axis_width: float, axis_height: int, bars: int, future: int, panes: int,
    main_height: int | None = None,
) -> Layout:  # fmt: skip
    """Share the height between the price and the studies' panes, and the width between the bars."""
    right = width - max(LEAST_AXIS, ceil(axis_width))
    bottom = height - axis_height
    heights = _heights(bottom, panes, main_height)
    tops = [sum(heights[:index]) for index in range(len(heights))]
    boxes = tuple(
        Box(0, top + (1 if index else 0), right, top + size)
        for index, (top, size) in enumerate(zip(tops, heights, strict=True))
    )
    return Layout(right, bottom, boxes, _columns(right, bars, future))


def panes_that_fit(height: int, wanted: int) -> int:
    """Return how many panes besides the price find room in a height."""
    return min(wanted, MOST_PANES, max(0, (height - SMALLEST_MAIN) // SMALLEST_PANE))


def body_width(slot: float) -> int:
    """Return the pixels of a body: wider than its wick as long as a bar has two pixels of its own."""
    if slot < THREE:
        return 2 if slot >= TWO else 1
    # As on TradingView: nearly the whole slot while it is narrow, four fifths when it is wide.
    share = 1 - NARROWED * atan(max(slot, 4.0) - 4.0) / (pi / 2)
    wide = min(floor(slot * share), max(floor(slot) - 1, 3), WIDEST)
    return wide if wide % 2 else wide - 1


def _heights(bottom: int, panes: int, main_height: int | None) -> list[int]:
    if not panes:
        return [bottom]
    each = floor(bottom * OWN_PANE) if panes <= 2 else floor(bottom * ALL_PANES / panes)
    if main_height is not None:
        each = floor((bottom - min(max(main_height, SMALLEST_MAIN), bottom - panes * SMALLEST_PANE)) / panes)
    each = max(each, SMALLEST_PANE)
    return [bottom - panes * each, *[each] * panes]


def _columns(right: int, bars: int, future: int) -> Grid:
    # A few free columns right of the last bar: the eye sees where the market stands.
    margin = max(future, min(4.0, bars * 0.04))
    slot = (right - EDGE) / (bars + margin)
    slot = min(slot, (right - EDGE) / 12)  # one bar is a candle, not a wall
    # Few bars stand at the right, where the market is now.
    left = right - slot * (bars + margin)
    centres = [floor(left + slot * (bar + 0.5)) + 0.5 for bar in range(bars + future)]
    return Grid(centres, slot, body_width(slot), left)
