"""The matching core against a reference without queues: it looks for the next unit, one by one, in a plain list."""

import logging
import random
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from binance_simulator.orders.matching import MatchingBook, Resting, Taker

FLOWS = 300  # in one run of all tests; --scale 34 makes it ten thousand
EVENTS = 40
MODES = ("NONE", "EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT")
PRICES = (92, 108)

Levels = list[tuple[int, int]]


class Deal(NamedTuple):
    """What one order did to another: `maker` 0 is the crowd."""

    maker: int
    price: int
    traded: int
    maker_prevented: int = 0
    taker_prevented: int = 0


@dataclass(slots=True)
class Listed:
    number: int
    owner: str
    buys: bool
    price: int
    left: int
    ahead: int


@dataclass(slots=True)
class Reference:
    """Orders in the order in which they came, and how much of the crowd is left at each price."""

    orders: list[Listed] = field(default_factory=list[Listed])
    bids: dict[int, int] = field(default_factory=dict[int, int])
    asks: dict[int, int] = field(default_factory=dict[int, int])
    shown_bids: dict[int, int] = field(default_factory=dict[int, int])
    shown_asks: dict[int, int] = field(default_factory=dict[int, int])
    used: dict[tuple[bool, int], tuple[int, int]] = field(default_factory=dict[tuple[bool, int], tuple[int, int]])
    """By side and price: what the crowd showed when some of it was taken, and what was left of that."""

    def show(self, levels: Levels, *, buys: bool) -> None:
        """Let the crowd show other levels; one that shows the same again is still what was left of it."""
        left = {price: (self.used.get((buys, price), (0, 0)), quantity) for price, quantity in levels}
        shown = {price: used[1] if used[0] == quantity else quantity for price, (used, quantity) in left.items()}
        if buys:
            self.bids, self.shown_bids = shown, dict(levels)
        else:
            self.asks, self.shown_asks = shown, dict(levels)

    def take(self, taker: Taker) -> tuple[list[Deal], int, bool]:
        """Take one unit after the other; return what happened, what is left, and whether prevention ended it."""
        left, deals = taker.quantity, list[Deal]()
        while left:
            price = self._best(taker)
            if price is None:
                break
            crowd = self.asks if taker.buys else self.bids
            order = next((one for one in self.orders if one.buys != taker.buys and one.price == price), None)
            if order is None or (order.ahead and crowd.get(price)):
                crowd[price] -= 1
                shown = (self.shown_asks if taker.buys else self.shown_bids)[price]
                self.used[not taker.buys, price] = (shown, crowd[price])
                for one in self.orders:
                    if one.buys != taker.buys and one.price == price and one.ahead:
                        one.ahead -= 1
                deals.append(Deal(0, price, 1))
                left -= 1
            elif order.owner != taker.owner or taker.mode == "NONE":
                self._lower(order, 1)
                deals.append(Deal(order.number, price, 1))
                left -= 1
            elif taker.mode == "EXPIRE_MAKER":
                deals.append(Deal(order.number, price, 0, order.left, 0))
                self._lower(order, order.left)
            elif taker.mode == "DECREMENT":
                deals.append(Deal(order.number, price, 0, 1, 1))
                self._lower(order, 1)
                left -= 1
                if not left:
                    return _merged(deals), 0, True
            else:
                lost = order.left if taker.mode == "EXPIRE_BOTH" else 0
                deals.append(Deal(order.number, price, 0, lost, left))
                self._lower(order, lost)
                return _merged(deals), 0, True
        return _merged(deals), left, False

    def strike(self, price: int, quantity: int, *, sold: bool) -> list[tuple[int, int]]:
        fills: list[tuple[int, int]] = []
        for one in [*self.orders]:
            beyond = price < one.price if one.buys else price > one.price
            if beyond or (price == one.price and one.buys is not sold):
                fills.append((one.number, one.left))
                self._lower(one, one.left)
        for _ in range(quantity):
            line = [one for one in self.orders if one.buys is sold and one.price == price]
            if not line:
                break
            if line[0].ahead:
                for one in line:
                    one.ahead = max(0, one.ahead - 1)
            else:
                fills.append((line[0].number, 1))
                self._lower(line[0], 1)
        return fills

    def meet(self) -> list[tuple[int, int]]:
        met = [one for one in self.orders if (one.price >= min(self.asks) if one.buys else one.price <= max(self.bids))]
        for one in met:
            self.orders.remove(one)
        return [(one.number, one.left) for one in met]

    def _best(self, taker: Taker) -> int | None:
        crowd = self.asks if taker.buys else self.bids
        prices = {price for price, left in crowd.items() if left}
        prices |= {one.price for one in self.orders if one.buys != taker.buys}
        reached = [price for price in prices if taker.price is None or taker.reaches(price)]
        return (min(reached) if taker.buys else max(reached)) if reached else None

    def _lower(self, order: Listed, amount: int) -> None:
        order.left -= amount
        if not order.left:
            self.orders.remove(order)


def _merged(deals: list[Deal]) -> list[Deal]:
    merged: list[Deal] = []
    for deal in deals:
        last = merged[-1] if merged else None
        if last is not None and last[:2] == deal[:2] and bool(last.traded) == bool(deal.traded):
            merged[-1] = Deal(*deal[:2], *(a + b for a, b in zip(last[2:], deal[2:], strict=True)))
        else:
            merged.append(deal)
    return merged


@dataclass(slots=True)
class Flow:
    """One random history, told to the book and to the reference alike."""

    seed: int
    book: MatchingBook = field(default_factory=MatchingBook)
    reference: Reference = field(default_factory=Reference)
    bids: Levels = field(default_factory=list[tuple[int, int]])
    asks: Levels = field(default_factory=list[tuple[int, int]])
    fills: int = 0
    preventions: int = 0

    def run(self) -> None:
        chance = random.Random(self.seed)
        self.redraw(chance)
        for number in range(1, EVENTS + 1):
            what = chance.random()
            if what < 0.7:
                self.place(number, chance)
            elif what < 0.8:
                self.cancel(chance)
            elif what < 0.92:
                self.strike(chance)
            else:
                self.redraw(chance)
            self.compare()

    def place(self, number: int, chance: random.Random) -> None:
        price = None if chance.random() < 0.1 else chance.randint(*PRICES)
        taker = Taker(chance.choice("ab"), chance.random() < 0.5, price, chance.randint(1, 12), chance.choice(MODES))
        crowd = self.asks if taker.buys else self.bids
        if chance.random() < 0.15:  # all or nothing
            before = self.standing()
            match = self.book.match(taker, crowd)
            assert self.standing() == before, "a match that is only looked at changes nothing"
            if match.traded < taker.quantity:
                return
        match = self.book.match(taker, crowd)
        self.book.commit(taker, match, crowd)

        deals, left, expired = self.reference.take(taker)

        steps = [
            Deal(
                0 if one.maker is None else one.maker.number,
                one.price,
                one.traded,
                one.maker_prevented,
                one.taker_prevented,
            )
            for one in match.steps
        ]
        assert (_merged(steps), match.left, match.expired) == (deals, left, expired)
        self.fills += sum(bool(deal.traded) for deal in deals)
        self.preventions += sum(not deal.traded for deal in deals)
        if left and price is not None and chance.random() < 0.8:
            own = self.bids if taker.buys else self.asks
            ahead = dict(own).get(price, 0)
            self.book.rest(Resting(number, taker.owner, taker.buys, price, left, ahead))
            self.reference.orders.append(Listed(number, taker.owner, taker.buys, price, left, ahead))

    def cancel(self, chance: random.Random) -> None:
        if self.book.orders:
            number = chance.choice([*self.book.orders])
            del self.book.orders[number]
            self.reference.orders = [one for one in self.reference.orders if one.number != number]

    def strike(self, chance: random.Random) -> None:
        price, quantity, sold = chance.randint(*PRICES), chance.randint(1, 12), chance.random() < 0.5

        fills = self.book.strike(price, quantity, sold=sold)

        assert _sums(fills) == _sums(self.reference.strike(price, quantity, sold=sold))
        self.fills += len(fills)

    def redraw(self, chance: random.Random) -> None:
        middle = chance.randint(95, 102)
        self.bids = [(middle - step, chance.randint(1, 9)) for step in range(1, 6)]
        self.asks = [(middle + step, chance.randint(1, 9)) for step in range(3, 8)]
        self.reference.show(self.bids, buys=True)
        self.reference.show(self.asks, buys=False)

        met = self.book.meet(self.bids[0][0], self.asks[0][0])

        assert _sums(met) == _sums(self.reference.meet())

    def standing(self) -> list[tuple[int, int, int, int]]:
        return sorted((one.number, one.price, one.left, one.ahead) for one in self.book.orders.values())

    def compare(self) -> None:
        assert self.standing() == sorted((one.number, one.price, one.left, one.ahead) for one in self.reference.orders)
        for own, kept in ((True, self.reference.bids), (False, self.reference.asks)):
            shown = self.bids if own else self.asks
            assert {price: self.book.untaken(price, quantity, buys=own) for price, quantity in shown} == kept


def _sums(fills: list[tuple[int, int]]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for number, quantity in fills:
        sums[number] = sums.get(number, 0) + quantity
    return sums


@pytest.mark.slow
def test_the_book_fills_as_the_reference_does(scale: int) -> None:
    flows = [Flow(seed) for seed in range(FLOWS * scale)]

    for flow in flows:
        flow.run()

    fills, preventions = sum(flow.fills for flow in flows), sum(flow.preventions for flow in flows)
    logging.getLogger(__name__).info("%d flows: %d fills, %d prevented trades", len(flows), fills, preventions)
    assert fills > 15 * len(flows)
    assert preventions > len(flows)


def test_a_reference_that_is_wrong_by_one_unit_is_noticed() -> None:
    flow = Flow(1)
    flow.run()
    flow.reference.orders.append(Listed(99, "a", buys=True, price=90, left=1, ahead=0))

    with pytest.raises(AssertionError):
        flow.compare()
