"""A minute of a busy market that ends where it began, so that it can be played for ever."""

from dataclasses import dataclass

from mcp_binance_server.simulator.book import Level, Top
from mcp_binance_server.simulator.noise import draws

HALF = 300  # steps of 100 ms: the book walks away for half a minute, and the same way back
STEPS = 2 * HALF
MIDDLE = 25_000  # ticks
REACH = 1_200  # levels a side
WANDER = 40  # ticks the price may walk away from the middle

Side = dict[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One depth event: the new lots of each level it touches, 0 for an emptied one, and the update ids it covers."""

    bids: Side
    asks: Side
    ids: int


@dataclass(frozen=True, slots=True)
class Print:
    """One aggregate trade of the loop: `offset_ms` into the step, filled in `pieces` trades."""

    step: int
    price: int
    lots: int
    offset_ms: int
    pieces: int
    buyer_is_maker: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """The steps, the best prices after each, and the trades; the last step leaves the book as it was at first."""

    bids: Side
    asks: Side
    steps: tuple[Step, ...]
    tops: tuple[Top, ...]
    prints: tuple[Print, ...]

    def book_after(self, step: int) -> tuple[list[Level], list[Level]]:
        """Return both sides after a step, best first."""
        bids, asks = dict(self.bids), dict(self.asks)
        # The way back undoes the way out, so the book after a late step is that of an early one.
        for early in self.steps[: step + 1 if step < HALF else STEPS - 1 - step]:
            _lay(bids, early.bids)
            _lay(asks, early.asks)
        return sorted(bids.items(), reverse=True), sorted(asks.items())


def build_loop(seed: int, number: int) -> Loop:
    """Draw a loop; every step touches 8 to 12 levels, and the best bid is always below the best ask."""
    noise = draws(2 * REACH, seed, "crowd", number)
    bids = {MIDDLE - place: _size(noise[place]) for place in range(REACH)}
    asks = {MIDDLE + 1 + place: _size(noise[REACH + place]) for place in range(REACH)}
    first_bids, first_asks = dict(bids), dict(asks)
    steps, back = list[Step](), list[Step]()
    tops = [_top(bids, asks)]
    middle = MIDDLE
    for place in range(HALF):
        step, middle = _step(bids, asks, middle, draws(80, seed, "crowd", number, place))
        steps.append(step)
        before_bids = {price: bids.get(price, 0) for price in step.bids}
        back.append(Step(before_bids, {price: asks.get(price, 0) for price in step.asks}, step.ids))
        _lay(bids, step.bids)
        _lay(asks, step.asks)
        tops.append(_top(bids, asks))
    all_tops = (*tops[1:], *reversed(tops[:-1]))
    all_steps = (*steps, *reversed(back))
    return Loop(first_bids, first_asks, all_steps, all_tops, _prints(all_tops, draws(4 * STEPS, seed, "print", number)))


def _step(bids: Side, asks: Side, middle: int, noise: tuple[int, ...]) -> tuple[Step, int]:
    new_bids, new_asks = Side(), Side()
    if noise[0] % 12 == 0 and middle < MIDDLE + WANDER:
        middle += 1
        new_bids[middle], new_asks[middle] = _size(noise[1]), 0
    elif noise[0] % 12 == 1 and middle > MIDDLE - WANDER:
        new_bids[middle], new_asks[middle] = 0, _size(noise[1])
        middle -= 1
    wanted = 8 + noise[2] % 5
    for draw, size in zip(noise[4::2], noise[5::2], strict=True):
        distance = draw // 4 % 6 if draw % 4 < 2 else draw // 4 % 60
        lots = _size(size) if distance == 0 or size % 4 else 0
        side, new = (bids, new_bids) if draw % 2 else (asks, new_asks)
        price = middle - distance if draw % 2 else middle + 1 + distance
        if len(new_bids) + len(new_asks) < wanted and price not in new and side.get(price, 0) != lots:
            new[price] = lots
    touched = {price: lots for price, lots in new_asks.items() if lots != asks.get(price, 0)}
    return Step(new_bids, touched, len(new_bids) + len(touched) + noise[3] % 6), middle


def _prints(tops: tuple[Top, ...], noise: tuple[int, ...]) -> tuple[Print, ...]:
    prints: list[Print] = []
    for step in range(STEPS):
        chance, side, size, when = noise[4 * step : 4 * step + 4]
        if chance % 20 < 3:
            buyer_is_maker = side % 2 == 0
            price, lots = tops[step - 1].bid if buyer_is_maker else tops[step - 1].ask
            prints.append(Print(step, price, 2 + size % lots, when % 100, 1 + side // 2 % 2, buyer_is_maker))
    return tuple(prints)


def _lay(side: Side, changes: Side) -> None:
    for price, lots in changes.items():
        if lots:
            side[price] = lots
        else:
            side.pop(price, None)


def _top(bids: Side, asks: Side) -> Top:
    bid, ask = max(bids), min(asks)
    return Top((bid, bids[bid]), (ask, asks[ask]))


def _size(draw: int) -> int:
    return 40 + (draw >> 8) % 4_000 * (8 if draw & 0xF0 == 0 else 1)
