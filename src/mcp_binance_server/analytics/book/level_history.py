"""What happened at single prices of a book, told from its changes and the tape.

A trade shows in the first change of the book after it. On eleven recorded minutes of two symbols, 94 and 99 of 100
trades were at a level that changed just then.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from mcp_binance_server.analytics.book.behaviour import BookSide, LevelState
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookDelta, Trade, WrittenLevel

# The work is bounded: the prices with the highest traded value, and the largest sizes that came and went.
MOST_PRICES = 200
MOST_PASSING = 200
# What was added is gone when this share of it is; the rest may be somebody else's.
GONE_SHARE = 0.9

Place = tuple[BookSide, float]
SIDES: tuple[BookSide, BookSide] = ("bid", "ask")


class LevelHistory(NamedTuple):
    """One price that traded; it `held` when no trade on its side has printed beyond it since."""

    side: BookSide
    price: float
    states: tuple[LevelState, ...]
    value: float
    held: bool


class PassingLevel(NamedTuple):
    """Size that came to a price and went, what of it was traded, and what on the other side meanwhile."""

    side: BookSide
    price: float
    added: float
    life_ms: int
    traded: float
    opposite_traded: float


class LevelWindow(NamedTuple):
    """Everything a window tells of single prices, and how many updates and traded prices it was told from."""

    histories: tuple[LevelHistory, ...]
    passing: tuple[PassingLevel, ...]
    updates: int
    traded_prices: int
    median_value: float | None


class _Event(NamedTuple):
    time_ms: int
    displayed: float


class _Growth(NamedTuple):
    from_ms: int
    before: float
    most: float


class _Passed(NamedTuple):
    price: float
    added: float
    from_ms: int
    to_ms: int


class _Prints:
    """Trades in order of time: how much was taken between two moments, and the worst price since one."""

    __slots__ = ("_sums", "_times", "_worst")

    def __init__(self, trades: Sequence[Trade], side: BookSide) -> None:
        self._times = [trade.time_ms for trade in trades]
        self._sums = [0.0, *accumulate(float(trade.quantity) for trade in trades)]
        worst = min if side == "bid" else max
        self._worst = list(accumulate((float(trade.price) for trade in reversed(trades)), worst))[::-1]

    def taken(self, from_ms: int, until_ms: int) -> float:
        """Return the size traded at `from_ms` or later, and before `until_ms`."""
        first, last = bisect_left(self._times, from_ms), bisect_left(self._times, until_ms)
        return self._sums[last] - self._sums[first] if last > first else 0.0

    def worst_since(self, time_ms: int) -> float | None:
        at = bisect_right(self._times, time_ms)
        return self._worst[at] if at < len(self._worst) else None


class _LevelReader:
    """Follows the levels of one side through a window's changes; what came before it only tells what stood there."""

    def __init__(self, watched: Iterable[float], least: float, life_ms: int) -> None:
        self.events: dict[float, list[_Event]] = {price: [] for price in watched}
        self.passed: list[_Passed] = []
        self._least = least
        self._life_ms = life_ms
        self._known: dict[float, float] = {}
        self._growing: dict[float, _Growth] = {}

    def remember(self, levels: Sequence[WrittenLevel]) -> None:
        self._known.update((float(price), float(quantity)) for price, quantity in levels)

    def read(self, levels: Sequence[WrittenLevel], time_ms: int) -> None:
        known, growing, events, least = self._known, self._growing, self.events, self._least
        for written, quantity in levels:
            price, displayed = float(written), float(quantity)
            before = known.get(price)
            known[price] = displayed
            if price in events:
                if before is not None and not events[price]:
                    events[price].append(_Event(0, before))
                events[price].append(_Event(time_ms, displayed))
            if before is not None and (displayed - before >= least or price in growing):
                self._follow(price, before, displayed, time_ms)

    def _follow(self, price: float, before: float, displayed: float, time_ms: int) -> None:
        growth = self._growing.pop(price, None)
        if growth is None or time_ms - growth.from_ms >= self._life_ms:
            if displayed - before >= self._least:
                self._growing[price] = _Growth(time_ms, before, displayed)
            return
        added = growth.most - growth.before
        if growth.most - displayed >= GONE_SHARE * added:
            self.passed.append(_Passed(price, added, growth.from_ms, time_ms))
        else:
            self._growing[price] = _Growth(growth.from_ms, growth.before, max(growth.most, displayed))


def level_window(
    changes: Iterable[tuple[int, BookDelta]],
    trades: Sequence[Trade],
    from_ms: int,
    least: Mapping[BookSide, float],
    *,
    thresholds: Thresholds = DEFAULTS,
) -> LevelWindow:
    """Tell the history of the prices that traded, and the size that came and went, since a moment.

    Changes from before it may be given too: they tell what stood at a price when the window began. Size is followed
    from an addition of `least` upwards.
    """
    by_place = _by_place(trades)
    values = {place: place[1] * sum(float(each.quantity) for each in taken) for place, taken in by_place.items()}
    busiest = sorted(values, key=lambda place: -values[place])[:MOST_PRICES]
    bids, asks = (
        _LevelReader((at for of, at in busiest if of == side), least[side], thresholds.spoof_life_ms) for side in SIDES
    )
    updates = 0
    for time_ms, delta in changes:
        if time_ms < from_ms:
            bids.remember(delta.bids)
            asks.remember(delta.asks)
        else:
            updates += delta.last_update_id - delta.first_update_id + 1
            bids.read(delta.bids, delta.event_ms)
            asks.read(delta.asks, delta.event_ms)
    readers: dict[BookSide, _LevelReader] = {"bid": bids, "ask": asks}
    tape: dict[BookSide, _Prints] = {
        side: _Prints([each for each in trades if _side(each) == side], side) for side in SIDES
    }
    histories = (
        _history(place, readers[place[0]].events[place[1]], by_place[place], values[place], tape) for place in busiest
    )
    passed: list[tuple[BookSide, _Passed]] = [(side, each) for side in SIDES for each in readers[side].passed]
    passed.sort(key=lambda each: -each[1].added * each[1].price)
    return LevelWindow(
        histories=tuple(each for each in histories if each.states),
        passing=tuple(
            _passing(side, each, by_place.get((side, each.price), []), tape) for side, each in passed[:MOST_PASSING]
        ),
        updates=updates,
        traded_prices=len(by_place),
        median_value=median(values.values()) if values else None,
    )


def _side(trade: Trade) -> BookSide:
    # The buyer's order stood in the book, so a seller took from the bids.
    return "bid" if trade.buyer_is_maker else "ask"


def _by_place(trades: Sequence[Trade]) -> dict[Place, list[Trade]]:
    found: dict[Place, list[Trade]] = {}
    for trade in trades:
        found.setdefault((_side(trade), float(trade.price)), []).append(trade)
    return found


def _history(
    place: Place, events: Sequence[_Event], taken: Sequence[Trade], value: float, tape: Mapping[BookSide, _Prints]
) -> LevelHistory:
    side, price = place
    states = _states(events, _Prints(taken, side))
    worst = tape[side].worst_since(states[0].time_ms) if states else None
    held = worst is None or (worst >= price if side == "bid" else worst <= price)
    return LevelHistory(side, price, tuple(states), value, held)


def _states(events: Sequence[_Event], prints: _Prints) -> list[LevelState]:
    """Put the trades between the events they caused; more traded than went is a fall and a rise within one change."""
    if not events:
        return []
    first = events[0]
    early = prints.taken(0, first.time_ms)
    # Nobody saw what stood here first; it was at least what is left and what was taken, had nothing been added.
    states = [LevelState(0, first.displayed + early, 0.0)] if early else []
    states.append(LevelState(first.time_ms, first.displayed, early))
    for before, after in pairwise(events):
        taken = prints.taken(before.time_ms, after.time_ms)
        if taken > max(0.0, before.displayed - after.displayed) and before.displayed:
            states.append(LevelState(after.time_ms, max(0.0, before.displayed - taken), taken))
            states.append(LevelState(after.time_ms, after.displayed, 0.0))
        else:
            states.append(LevelState(after.time_ms, after.displayed, taken))
    return states


def _passing(side: BookSide, passed: _Passed, taken: Sequence[Trade], tape: Mapping[BookSide, _Prints]) -> PassingLevel:
    other: BookSide = "ask" if side == "bid" else "bid"
    from_ms, to_ms = passed.from_ms, passed.to_ms
    traded = _Prints(taken, side).taken(from_ms, to_ms)
    opposite = tape[other].taken(from_ms, to_ms)
    return PassingLevel(side, passed.price, passed.added, to_ms - from_ms, traded, opposite)
