"""Collector of one whole minute of a live market: prices, standing sizes, trades and moves."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from mcp_binance_server.analytics.book.events import PassedSize, Passing, Refilled, Refills
from mcp_binance_server.analytics.book.grid import SIDES, BookSide, PriceGrid
from mcp_binance_server.analytics.book.standing import Levels, StandingBook, StandingReader

SECONDS = 60
HALF_BLOCK_S = 5
HALF_BLOCKS = SECONDS // HALF_BLOCK_S
# A size is standing if it is present in all samples of the last 30 seconds of the minute. A sample is taken every few
# seconds.
STANDING_FROM_S = 30
STANDING_EVERY_S = 3
# Maximum number of trades that wait for the next book message. There are ten messages a second.
MOST_PENDING = 10_000

NEAR_BPS, WIDE_BPS = 10, 50
WIDE_TICKS = 10

# Displayed size at a price of one side before a message.
SizeBefore = Callable[[BookSide, float], float]


class BookMoment(NamedTuple):
    """A two-sided book at the end of a second. `near` is depth within 10 bps of the mid and `wide` within 50 bps.

    Both bands have a minimum width in ticks.
    """

    mid: float
    spread: float
    bid_near: float
    ask_near: float
    bid_wide: float
    ask_wide: float

    @property
    def thinner(self) -> float:
        return min(self.bid_near, self.ask_near)

    @property
    def wide(self) -> float:
        return self.bid_wide + self.ask_wide


# Prices and sizes as the exchange wrote them. Only few of a thousand levels a second need parsing.
WrittenLevels = Sequence[tuple[float | str, float | str]]
_WRITTEN_PRICE, _WRITTEN_SIZE = itemgetter(0), itemgetter(1)


class DepthMessage(NamedTuple):
    """Levels set by one book message, and its number of changes."""

    event_ms: int
    updates: int
    bids: WrittenLevels
    asks: WrittenLevels


class HalfBlock(NamedTuple):
    """Numbers of book changes and of trades in five seconds."""

    updates: int
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteFacts:
    """Facts about a minute.

    Sizes are base quantities. `flow` is taker buys minus sells. `move` is the move of the mid.
    """

    refilled: tuple[Refilled, ...]
    passed: tuple[PassedSize, ...]
    standing: StandingBook | None
    blocks: tuple[HalfBlock, ...]
    flow: float
    volume: float
    move: float
    heaviest: Mapping[BookSide, float]

    @property
    def activity(self) -> float:
        """Book changes of a usual block of the minute. An event of some seconds does not make the minute busier."""
        return float(median(each.updates for each in self.blocks)) if self.blocks else 0.0

    @property
    def trades(self) -> int:
        return sum(each.trades for each in self.blocks)


class MinuteReader:
    """Collector of the messages, trades and seconds of one minute, in order of arrival."""

    def __init__(self, grid: PriceGrid, start: BookMoment) -> None:
        """Start a minute. `start` is the book at the end of the previous minute."""
        self._reach = grid.band(start.mid, WIDE_BPS, WIDE_TICKS)
        self._first = self._last = start
        self._refills = Refills(grid)
        self._passing = Passing({"bid": start.bid_wide, "ask": start.ask_wide})
        self._least: dict[BookSide, float] = {side: self._passing.least(side) for side in SIDES}
        self._watched: dict[BookSide, set[float | str]] = {side: set() for side in SIDES}
        self._standing = StandingReader(grid)
        # Time, side of the book, price and quantity.
        self._pending: deque[tuple[int, BookSide, float, float]] = deque(maxlen=MOST_PENDING)
        self._blocks = [[0, 0] for _ in range(HALF_BLOCKS)]
        self._traded: dict[BookSide, dict[float, float]] = {side: {} for side in SIDES}
        self._bought = self._sold = 0.0

    def on_trade(self, second: int, time_ms: int, price: float, quantity: float, *, sold: bool) -> None:
        """Add a trade in the given second of the minute. A selling taker trades against the bids."""
        side: BookSide = "bid" if sold else "ask"
        self._pending.append((time_ms, side, price, quantity))
        self._blocks[_block(second)][1] += 1
        by_price = self._traded[side]
        by_price[price] = by_price.get(price, 0.0) + quantity
        if sold:
            self._sold += quantity
        else:
            self._bought += quantity

    def on_depth(self, second: int, message: DepthMessage, before: SizeBefore) -> None:
        """Process a message before it is applied to the book. It reflects the trades up to its time."""
        self._blocks[_block(second)][0] += message.updates
        taken = self._taken(message.event_ms) if self._pending else {}
        for side, levels in zip(SIDES, (message.bids, message.asks), strict=True):
            traded = taken.get(side)
            for level in self._worth_reading(side, levels):
                self._pass(side, level, message.event_ms, before, traded or {})
            if traded:
                shown = {float(price): size for price, size in levels}
                for price, quantity in traded.items():
                    was = before(side, price)
                    self._refills.add(side, price, quantity, was, float(shown.get(price, was)))

    def _worth_reading(self, side: BookSide, levels: WrittenLevels) -> WrittenLevels:
        """Return the levels that are large or tracked.

        At most one level in fifty is, so a single pass checks all levels.
        """
        least, watched = self._least[side], self._watched[side]
        if watched and not watched.isdisjoint(map(_WRITTEN_PRICE, levels)):
            return [each for each in levels if float(each[1]) >= least or each[0] in watched]
        if not levels or max(map(float, map(_WRITTEN_SIZE, levels))) < least:
            return ()
        return [each for each in levels if float(each[1]) >= least]

    def _pass(
        self,
        side: BookSide,
        level: tuple[float | str, float | str],
        event_ms: int,
        before: SizeBefore,
        traded: Mapping[float, float],
    ) -> None:
        written, watched = level[0], self._watched[side]
        price, after, was = float(written), float(level[1]), 0.0
        if written not in watched:
            # Ignore levels that are too far from the mid.
            if abs(price - self._last.mid) > self._reach:
                return
            was = before(side, price)
            if after - was < self._least[side]:
                return
        self._passing.read((side, price), event_ms, was, after, traded.get(price, 0.0))
        if self._passing.follows(side, price):
            watched.add(written)
        else:
            watched.discard(written)

    def on_second(self, second: int, moment: BookMoment, look: Callable[[], tuple[Levels, Levels]]) -> None:
        """Add the book at the end of a second. `look` is called only if the levels are needed."""
        self._last = moment
        if second >= STANDING_FROM_S and second % STANDING_EVERY_S == STANDING_EVERY_S - 1:
            self._standing.look(*look())

    def facts(self) -> MinuteFacts:
        """Return the facts of the minute."""
        return MinuteFacts(
            refilled=self._refills.largest(),
            passed=self._passing.largest(),
            standing=self._standing.book(),
            blocks=tuple(HalfBlock(*each) for each in self._blocks),
            flow=self._bought - self._sold,
            volume=self._bought + self._sold,
            move=self._last.mid - self._first.mid,
            heaviest={side: max(each, key=lambda price: each[price]) for side, each in self._traded.items() if each},
        )

    def _taken(self, event_ms: int) -> dict[BookSide, dict[float, float]]:
        taken: dict[BookSide, dict[float, float]] = {}
        pending = self._pending
        while pending and pending[0][0] <= event_ms:
            _, side, price, quantity = pending.popleft()
            by_price = taken.setdefault(side, {})
            by_price[price] = by_price.get(price, 0.0) + quantity
        return taken


def _block(second: int) -> int:
    return second // HALF_BLOCK_S


def blocks_of_ten(blocks: Sequence[HalfBlock]) -> list[HalfBlock]:
    """Return the counts of overlapping blocks of ten seconds, every five seconds."""
    return [HalfBlock(a.updates + b.updates, a.trades + b.trades) for a, b in pairwise(blocks)]
