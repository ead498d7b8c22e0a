"""Outcomes of large standing sizes: traded into, or withdrawn."""

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.standing import StandingSize, bin_edges

# Distance from the best price, in bins, that counts as near. Sizes there trade more often. A bin is half a basis point,
# or one tick if that is wider.
NEAR_BINS = 20
# A size is gone if less than this share remains. It was traded if at least this share of the removal was traded.
HALF = 0.5
MOST_FOLLOWED = 8
MOST_OUTCOMES = 100
LEAST_OUTCOMES = 5

# Size of a side between two prices, the upper one excluded. None means unknown.
SizeBetween = Callable[[BookSide, float, float], float | None]


class LeftSize(NamedTuple):
    """A standing size that is gone: whether it was near the best price, and whether most of it was traded."""

    is_near: bool
    was_traded: bool


class TradedInto(NamedTuple):
    """Of `n` sizes that are gone, `k` were traded into. `long_run` is the rate for near and far sizes together."""

    k: int
    n: int
    long_run: float


class StandingOutcomes:
    """Newest outcomes of standing sizes.

    Sizes near the best price and far from it have separate rows, with one byte per outcome.
    """

    __slots__ = ("_far", "_near")

    def __init__(self) -> None:
        self._near: array[int] = array("b")
        self._far: array[int] = array("b")

    def add(self, left: LeftSize) -> None:
        """Add one outcome. If the row is full, its oldest outcome is dropped."""
        row = self._near if left.is_near else self._far
        row.append(left.was_traded)
        del row[:-MOST_OUTCOMES]

    def like(self, distance: int) -> TradedInto | None:
        """Return the outcomes of near or of far sizes, depending on a distance in bins.

        Return None for fewer than five.
        """
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
        # The book message of a trade arrives up to a second before or after it. So the newest trades always count.
        self.fresh = self.traded = 0.0
        self.gone: float | None = None


class FollowedSizes:
    """Tracker of large standing sizes until they are gone. The caller clears it after a missed trade or message."""

    __slots__ = ("_followed",)

    def __init__(self) -> None:
        self._followed: list[_FollowedSize] = []

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, found: StandingSize, step: float) -> None:
        """Track a size in a bin of width `step`. The record of a tracked size changes only if the size has grown."""
        for each in self._followed:
            if each.side == found.side and each.low <= found.price < each.high:
                if found.size > each.size:
                    each.size, each.traded = found.size, 0.0
                return
        self._followed.append(_FollowedSize(found, step))
        del self._followed[:-MOST_FOLLOWED]

    def on_trade(self, side: BookSide, price: float, quantity: float) -> None:
        """Record a trade that filled orders of a side."""
        for each in self._followed:
            if each.side == side and each.low <= price < each.high:
                each.fresh += quantity

    def on_second(self, between: SizeBetween) -> list[LeftSize]:
        """Check all sizes and return those that are gone. Sizes in an unknown part of the book are dropped."""
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
        """Drop all sizes, because their outcomes can no longer be observed."""
        self._followed = []
