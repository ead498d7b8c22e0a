"""Outcomes of large standing sizes: traded into, or withdrawn before a trade."""

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.standing import StandingSize, bin_edges

# Bins from the touch that count as near, where sizes trade more often. A bin is half a basis point or a tick.
NEAR_BINS = 20
# A size has left if less than this share remains. It was traded if at least this share of the removal was traded.
HALF = 0.5
MOST_FOLLOWED = 8
MOST_OUTCOMES = 100
LEAST_OUTCOMES = 5

# Size between two prices of a side, the upper one excluded; None if unknown.
SizeBetween = Callable[[BookSide, float, float], float | None]


class LeftSize(NamedTuple):
    """A size that has left: whether it was near the touch, and whether most of it was traded."""

    is_near: bool
    was_traded: bool


class TradedInto(NamedTuple):
    """The number of departed sizes that were traded into. `long_run` is the rate over near and far sizes."""

    k: int
    n: int
    long_run: float


class StandingOutcomes:
    """Outcomes of the newest departed sizes, near and far from the touch in separate rows; one byte each."""

    __slots__ = ("_far", "_near")

    def __init__(self) -> None:
        self._near: array[int] = array("b")
        self._far: array[int] = array("b")

    def add(self, left: LeftSize) -> None:
        """Add one outcome. The oldest of its kind is dropped when the row is full."""
        row = self._near if left.is_near else self._far
        row.append(left.was_traded)
        del row[:-MOST_OUTCOMES]

    def like(self, distance: int) -> TradedInto | None:
        """Return the outcomes of sizes in the distance class, near or far, of this many bins; None below five."""
        row = self._near if distance < NEAR_BINS else self._far
        if len(row) < LEAST_OUTCOMES:
            return None
        both = len(self._near) + len(self._far)
        return TradedInto(sum(row), len(row), (sum(self._near) + sum(self._far)) / both)

    def series(self) -> dict[str, "array[float]"]:
        """Return both rows, oldest first, for storage."""
        return {"left_near": array("d", self._near), "left_far": array("d", self._far)}

    def restore(self, near: Sequence[float], far: Sequence[float]) -> None:
        """Restore the rows that `series` returned."""
        self._near, self._far = (array("b", map(bool, row[-MOST_OUTCOMES:])) for row in (near, far))


class _FollowedSize:
    __slots__ = ("fresh", "gone", "high", "is_near", "low", "side", "size", "traded")

    def __init__(self, found: StandingSize, step: float) -> None:
        self.side: BookSide = found.side
        self.low, self.high = bin_edges(found.price, step)
        self.is_near = found.distance < NEAR_BINS
        self.size = found.size
        # The book message of a trade arrives up to a second before or after it, so the newest trades always count.
        self.fresh = self.traded = 0.0
        self.gone: float | None = None


class FollowedSizes:
    """Large standing sizes, tracked until each has left. The caller clears them after a missed trade or message."""

    __slots__ = ("_followed",)

    def __init__(self) -> None:
        self._followed: list[_FollowedSize] = []

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, found: StandingSize, step: float) -> None:
        """Follow a size in a bin of width `step`. A size that is already followed is only updated if it has grown."""
        for each in self._followed:
            if each.side == found.side and each.low <= found.price < each.high:
                if found.size > each.size:
                    each.size, each.traded = found.size, 0.0
                return
        self._followed.append(_FollowedSize(found, step))
        del self._followed[:-MOST_FOLLOWED]

    def on_trade(self, side: BookSide, price: float, quantity: float) -> None:
        """Record a trade against a side."""
        for each in self._followed:
            if each.side == side and each.low <= price < each.high:
                each.fresh += quantity

    def on_second(self, between: SizeBetween) -> list[LeftSize]:
        """Check each size and return those that have left. A size in a book that is no longer known is dropped."""
        left, standing = list[LeftSize](), list[_FollowedSize]()
        for each in self._followed:
            newest, each.fresh = each.fresh, 0.0
            each.traded += newest
            if each.gone is not None:
                left.append(LeftSize(each.is_near, each.traded >= HALF * each.gone))
                continue
            now = between(each.side, each.low, each.high)
            if now is None:
                continue
            if now >= each.size:
                each.traded = newest
            elif now < HALF * each.size:
                each.gone = each.size - now
            standing.append(each)
        self._followed = standing
        return left

    def clear(self) -> None:
        """Drop all sizes: their outcomes will not be known."""
        self._followed = []
