"""Order book events at single prices within a minute: suspected iceberg orders, and large size that came and went.

Books without order ids show only the net change of a message. Other orders in the same tenth of a second distort this
change. Many events are missed, and the intent behind an event is unknown.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide, PriceGrid

# Tolerance for equal sizes, as a share of the size and at least one lot.
ALIKE = 0.005
# One refill can consist of several peaks of an iceberg order.
MOST_PEAKS = 3
LEAST_EQUAL = 2
MOST_REFILLED = 3

# Smallest share of its side from which a size is tracked. A size came and went if it was withdrawn within seconds,
# nearly untraded.
LEAST_SHARE = 0.01
LIFE_MS = 3_000
GONE_SHARE = 0.9
TRADED_SHARE = 0.05
MOST_PASSED = 5
# Memory limit in case of a faulty feed: no market adds this many large sizes in a minute.
MOST_FOLLOWED = 2_000

_ROUNDING = 1e-9

Place = tuple[BookSide, float]


class Refilled(NamedTuple):
    """A price with repeated refills of equal size. Each refill came in a message that also traded there."""

    score: float
    side: BookSide
    price: float
    refills: int
    peak: float
    executed: float
    beyond_displayed: float


class PassedSize(NamedTuple):
    """Large size that appeared at a price and was withdrawn, as a share of its side."""

    share: float
    side: BookSide
    price: float
    life_ms: int


class _Place:
    __slots__ = ("added", "beyond", "executed", "shown")

    def __init__(self) -> None:
        self.added: list[float] = []
        self.executed = self.shown = self.beyond = 0.0


class Refills:
    """Counter of equal net additions at traded prices, adapted from Frey and Sandås (2009) to book messages.

    An iceberg order shows its next peak when the current one is filled. That peak is after - before + traded, if no
    other order changed.
    """

    __slots__ = ("_lot", "_places")

    def __init__(self, grid: PriceGrid) -> None:
        self._lot = grid.lot
        self._places: dict[Place, _Place] = {}

    def add(self, side: BookSide, price: float, traded: float, before: float, after: float) -> None:
        """Record a price that traded in a message. `before` and `after` are its displayed sizes."""
        place = self._places.get((side, price))
        if place is None:
            place = self._places[side, price] = _Place()
        place.executed += traded
        place.shown = max(place.shown, before, after)
        if not before:
            return
        place.beyond += max(0.0, traded - before)
        net = after - before + traded
        if net > self._lot / 2:
            place.added.append(net)

    def largest(self) -> tuple[Refilled, ...]:
        """Return the prices with the most refills of equal size."""
        found = [
            refilled
            for (side, price), place in self._places.items()
            if len(place.added) >= LEAST_EQUAL and (refilled := self._judge(side, price, place)) is not None
        ]
        return tuple(nlargest(MOST_REFILLED, found))

    def _judge(self, side: BookSide, price: float, place: _Place) -> Refilled | None:
        ordered = sorted(place.added)
        refills, peak = max((self._alike(ordered, each), -each) for each in {*ordered})
        if not refills:
            return None
        # Break ties by executed over displayed size. The tie-breaker is below 1, so it never outweighs a refill.
        rank = refills + min(0.9, place.executed / (10 * place.shown))
        return Refilled(rank, side, price, refills, -peak, place.executed, place.beyond)

    def _alike(self, ordered: list[float], peak: float) -> int:
        """Count additions of this size and of its small multiples.

        Return 0 unless two additions have exactly this size.
        """
        slack = max(self._lot, ALIKE * peak) * (1 + _ROUNDING)
        counts = [
            bisect_right(ordered, peaks * peak + slack) - bisect_left(ordered, peaks * peak - slack)
            for peaks in range(1, MOST_PEAKS + 1)
        ]
        # If the peak is only a few lots, every size is a multiple of it.
        is_coarse = 2 * slack >= peak
        return 0 if counts[0] < LEAST_EQUAL else counts[0] if is_coarse else sum(counts)


class _Growth(NamedTuple):
    from_ms: int
    before: float
    most: float
    traded: float


class Passing:
    """Tracker of large additions on both sides. Tracking ends with a withdrawal, a trade, or the maximum age."""

    __slots__ = ("_found", "_growing", "_totals")

    def __init__(self, totals: Mapping[BookSide, float]) -> None:
        """Set the reference sizes: those near the best price of each side at the start of the minute."""
        self._totals = totals
        self._growing: dict[Place, _Growth] = {}
        self._found: list[PassedSize] = []

    def least(self, side: BookSide) -> float:
        """Return the minimum size of an addition that is tracked."""
        return LEAST_SHARE * self._totals[side]

    def follows(self, side: BookSide, price: float) -> bool:
        return (side, price) in self._growing

    def read(self, place: Place, time_ms: int, before: float, after: float, traded: float) -> None:
        """Process a changed level. The caller can skip levels that are neither large nor tracked."""
        side, price = place
        growth = self._growing.get(place)
        if growth is None:
            if after - before >= self.least(side) and len(self._growing) < MOST_FOLLOWED:
                self._growing[place] = _Growth(time_ms, before, after, 0.0)
            return
        traded += growth.traded
        grown = growth.most - growth.before
        if time_ms - growth.from_ms > LIFE_MS:
            del self._growing[place]
        elif growth.most - after >= GONE_SHARE * grown:
            if traded < TRADED_SHARE * grown:
                share = grown / self._totals[side]
                self._found.append(PassedSize(share, side, price, time_ms - growth.from_ms))
            del self._growing[place]
        else:
            self._growing[place] = _Growth(growth.from_ms, growth.before, max(growth.most, after), traded)

    def largest(self) -> tuple[PassedSize, ...]:
        return tuple(nlargest(MOST_PASSED, self._found))


def came_and_went(passed: Iterable[PassedSize]) -> float:
    """Return the score: the sum of the second to fifth largest shares. A single large share is ordinary."""
    return sum(each.share for each in [*passed][1:])
