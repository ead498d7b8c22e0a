"""What becomes of a large size that stood: it is traded into, or withdrawn before that."""

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.standing import StandingSize, bin_edges

# What stands nearer to the touch is met by trades more often; bins are half a basis point, or a tick.
NEAR_BINS = 20
# A size has left when less than this share of it stands, and was traded when so much of what left was.
HALF = 0.5
MOST_FOLLOWED = 8
MOST_OUTCOMES = 100
LEAST_OUTCOMES = 5

# What stands between two prices of a side, the upper one excluded; None where that is not known.
SizeBetween = Callable[[BookSide, float, float], float | None]


class LeftSize(NamedTuple):
    """A size that has left, where it stood, and whether most of it was traded."""

    is_near: bool
    was_traded: bool


class TradedInto(NamedTuple):
    """How many of the sizes that left were traded into; the long run counts near and far ones."""

    k: int
    n: int
    long_run: float


class StandingOutcomes:
    """What became of the newest sizes that left, those near the touch apart from the others; a byte each."""

    __slots__ = ("_far", "_near")

    def __init__(self) -> None:
        self._near: array[int] = array("b")
        self._far: array[int] = array("b")

    def add(self, left: LeftSize) -> None:
        """Take one; the oldest of its kind makes room."""
        row = self._near if left.is_near else self._far
        row.append(left.was_traded)
        del row[:-MOST_OUTCOMES]

    def like(self, distance: int) -> TradedInto | None:
        """Count those that stood as near as this many bins, or as far; None while hardly any has left."""
        row = self._near if distance < NEAR_BINS else self._far
        if len(row) < LEAST_OUTCOMES:
            return None
        both = len(self._near) + len(self._far)
        return TradedInto(sum(row), len(row), (sum(self._near) + sum(self._far)) / both)

    def series(self) -> dict[str, "array[float]"]:
        """Return both rows, oldest first, to be kept."""
        return {"left_near": array("d", self._near), "left_far": array("d", self._far)}

    def restore(self, near: Sequence[float], far: Sequence[float]) -> None:
        """Take back what `series` returned."""
        self._near, self._far = (array("b", map(bool, row[-MOST_OUTCOMES:])) for row in (near, far))


class _FollowedSize:
    __slots__ = ("fresh", "gone", "high", "is_near", "low", "side", "size", "traded")

    def __init__(self, found: StandingSize, step: float) -> None:
        self.side: BookSide = found.side
        self.low, self.high = bin_edges(found.price, step)
        self.is_near = found.distance < NEAR_BINS
        self.size = found.size
        # A message that shows a trade comes up to a second after it or before it: the newest trades always count.
        self.fresh = self.traded = 0.0
        self.gone: float | None = None


class FollowedSizes:
    """Large sizes that stand, until each has left; whoever missed a trade or a message clears them."""

    __slots__ = ("_followed",)

    def __init__(self) -> None:
        self._followed: list[_FollowedSize] = []

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, found: StandingSize, step: float) -> None:
        """Follow a size of a bin of width `step`; one that is followed already may only have grown."""
        for each in self._followed:
            if each.side == found.side and each.low <= found.price < each.high:
                if found.size > each.size:
                    each.size, each.traded = found.size, 0.0
                return
        self._followed.append(_FollowedSize(found, step))
        del self._followed[:-MOST_FOLLOWED]

    def on_trade(self, side: BookSide, price: float, quantity: float) -> None:
        """Take a trade that took from a side."""
        for each in self._followed:
            if each.side == side and each.low <= price < each.high:
                each.fresh += quantity

    def on_second(self, between: SizeBetween) -> list[LeftSize]:
        """Look at each size and return those that have left; where the book is not known any more none has."""
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
        """Forget them all: what became of them will not be known."""
        self._followed = []
