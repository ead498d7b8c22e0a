"""Rectangles of the picture: where a text stands, where a pane ends, and how labels make room for each other."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its corners, in pixels."""

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
        """Say whether the two come closer than the gap; boxes that only touch do not meet."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.top < other.bottom + gap
            and other.top < self.bottom + gap
        )

    def within(self, other: "Box") -> "Box":
        """Return the part both have in common; it has no height or width when there is none."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Box(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    def crossed_by(self, start: tuple[float, float], end: tuple[float, float]) -> bool:
        """Say whether a line enters the box (Liang and Barsky: clip its length at each border)."""
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
        """Say whether the other lies inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def stacked(wanted: Sequence[float], weights: Sequence[float], height: float, top: float, bottom: float) -> list[float]:
    """Push centres of equal height apart; who weighs more moves less. The caller asks for no more than fit."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    groups: list[tuple[float, float, int]] = []  # top edge, weight and number of labels that touch each other
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
    # Down from the top border, then up from the bottom one: what a border pushes may push its neighbour.
    free, downwards = top, list[float]()
    for start, height in zip(starts, heights, strict=True):
        downwards.append(max(start, free))
        free = downwards[-1] + height
    limit, upwards = bottom, list[float]()
    for start, height in zip(reversed(downwards), reversed(heights), strict=True):
        upwards.append(min(start, limit - height))
        limit = upwards[-1]
    return upwards[::-1]
