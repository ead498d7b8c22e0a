"""Boxes, and the division of a picture into panes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, ceil, floor, pi

TEXT_WIDTH = 1200  # up to this width in pixels texts have their usual size
EDGE = 4  # pixels left of the first bar
LEAST_AXIS = 66
OWN_PANE = 0.24
ALL_PANES = 0.6
MOST_PANES = 5
SMALLEST_PANE, SMALLEST_MAIN = 40, 100
TWO, THREE, WIDEST = 2.0, 3.0, 41
NARROWED = 0.2


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, by its edges."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def meets(self, other: "Box", gap: float = 0.0) -> bool:
        """Return True if the boxes overlap, or if the distance between them is below `gap`."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.top < other.bottom + gap
            and other.top < self.bottom + gap
        )

    def within(self, other: "Box") -> "Box":
        """Return the intersection of both boxes. An empty intersection has no width or height."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Box(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    def crossed_by(self, start: tuple[float, float], end: tuple[float, float]) -> bool:
        """Return True if a line enters the box (Liang-Barsky clipping)."""
        (x0, y0), (x1, y1) = start, end
        if max(x0, x1) <= self.left or min(x0, x1) >= self.right:
            return False
        if max(y0, y1) <= self.top or min(y0, y1) >= self.bottom:
            return False
        enters, leaves = 0.0, 1.0
        for step, near, far in ((x1 - x0, self.left - x0, self.right - x0), (y1 - y0, self.top - y0, self.bottom - y0)):
            if step:
                first, second = sorted((near / step, far / step))
                enters, leaves = max(enters, first), min(leaves, second)
        return enters < leaves or (x0, y0) == (x1, y1)

    def holds(self, other: "Box") -> bool:
        """Return True if this box contains the other one."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def stacked(wanted: Sequence[float], weights: Sequence[float], height: float, top: float, bottom: float) -> list[float]:
    """Move labels of equal height apart. Heavier labels move less.

    `wanted` are their centres. The caller must not pass more labels than fit.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    groups: list[tuple[float, float, int]] = []  # top edge, weight and number of labels in a group that touches
    for index in order:
        start, weight, count = wanted[index] - height / 2, weights[index], 1
        while groups and start < groups[-1][0] + groups[-1][2] * height:
            above, load, members = groups.pop()
            start = (above * load + (start - members * height) * weight) / (load + weight)
            weight, count = weight + load, count + members
        groups.append((start, weight, count))
    heights = [count * height for _, _, count in groups]
    starts = _between([start for start, _, _ in groups], heights, top, bottom)
    centres = [
        start + height * (place + 0.5)
        for start, (_, _, count) in zip(starts, groups, strict=True)
        for place in range(count)
    ]
    return [centre for _, centre in sorted(zip(order, centres, strict=True))]


def _between(starts: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    # Go down from the top border, then up from the bottom border: a label pushed by a border can push its neighbour.
    free, downwards = top, list[float]()
    for start, height in zip(starts, heights, strict=True):
        downwards.append(max(start, free))
        free = downwards[-1] + height
    limit, upwards = bottom, list[float]()
    for start, height in zip(reversed(downwards), reversed(heights), strict=True):
        upwards.append(min(start, limit - height))
        limit = upwards[-1]
    return upwards[::-1]


@dataclass(frozen=True, slots=True)
class Grid:
    """Pixel columns of the bars.

    The centre of a bar is in the middle of a pixel, so the width of a body is odd, or two pixels.
    """

    centres: list[float]
    slot: float
    body: int
    left: float

    def left_of(self, centre: float) -> int:
        """Return the left edge of the body around a centre, in whole pixels."""
        return floor(centre) - (self.body - 1) // 2

    def x(self, place: float) -> float:
        """Return the x coordinate of a position.

        It can lie between bars, before the first bar or after the last one.
        """
        return self.left + self.slot * (place + 0.5)


@dataclass(frozen=True, slots=True)
class Layout:
    """Division of the picture into panes and axes."""

    plot_right: int
    axis_top: int
    panes: tuple[Box, ...]
    grid: Grid


def lay_out(
    width: int, height: int, *, axis_width: float, axis_height: int, bars: int, future: int, panes: int,
    main_height: int | None = None,
) -> Layout:  # fmt: skip
    """Divide the height among the panes and the width among the bars."""
    right = width - max(LEAST_AXIS, ceil(axis_width))
    bottom = height - axis_height
    heights = _heights(bottom, panes, main_height)
    tops = [sum(heights[:index]) for index in range(len(heights))]
    boxes = tuple(
        Box(0, top + (1 if index else 0), right, top + size)
        for index, (top, size) in enumerate(zip(tops, heights, strict=True))
    )
    return Layout(right, bottom, boxes, _columns(right, bars, future))


def text_scale(width: float) -> float:
    """Return the factor of all texts. A wide picture is shown smaller, so its texts grow with its width."""
    return max(1.0, width / TEXT_WIDTH)


def panes_that_fit(height: int, wanted: int) -> int:
    """Return how many of the wanted study panes fit into a height."""
    room = min(height - SMALLEST_MAIN, floor(height * ALL_PANES))
    return min(wanted, MOST_PANES, max(0, room // SMALLEST_PANE))


def body_width(slot: float) -> int:
    """Return the width of a candle body in pixels. From two pixels per bar on it is wider than the wick."""
    if slot < THREE:
        return 2 if slot >= TWO else 1
    # As on TradingView, the body fills nearly all of a narrow slot and four fifths of a wide one.
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
    # Free columns right of the last bar make the current price easy to see.
    margin = max(future, min(4.0, bars * 0.04))
    slot = (right - EDGE) / (bars + margin)
    slot = min(slot, (right - EDGE) / 12)  # limits the width of a candle if there is only one bar
    # Few bars are aligned right, at the current time.
    left = right - slot * (bars + margin)
    centres = [floor(left + slot * (bar + 0.5)) + 0.5 for bar in range(bars + future)]
    return Grid(centres, slot, body_width(slot), left)
