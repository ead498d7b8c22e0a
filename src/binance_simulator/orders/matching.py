"""Price-time matching with integer prices and quantities.

The accounts' orders share a book with the simulated market (the crowd), whose levels are passed in with every match.
When an order arrives, the market's quantity at its price is ahead of it (`ahead`). Later quantity is behind the order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Level = tuple[int, int]  # price, quantity


@dataclass(slots=True, eq=False)
class Resting:
    """An order on the book."""

    number: int
    owner: str
    buys: bool
    price: int
    left: int
    ahead: int = 0
    """Quantity of the crowd ahead of the order at its price."""
    iceberg: int = 0
    """Largest quantity to show; 0 shows all. Unlike at Binance, a refilled part keeps its place in the queue."""
    done: int = 0
    """Quantity that traded on the book."""

    @property
    def shown(self) -> int:
        """Quantity shown in the book."""
        return min(self.left, self.iceberg - self.done % self.iceberg) if self.iceberg else self.left

    def take(self, quantity: int) -> None:
        """Subtract a traded or prevented quantity."""
        self.left -= quantity
        self.done += quantity


@dataclass(frozen=True, slots=True)
class Taker:
    """An incoming order. Without a price it accepts any price."""

    owner: str
    buys: bool
    price: int | None
    quantity: int
    mode: str = "NONE"
    least: int | None = None
    most: int | None = None
    """Price range of the execution rules; None means no limit."""

    def reaches(self, price: int) -> bool:
        """Return whether the order would trade at a price of the opposite side."""
        return self.price is None or (price <= self.price if self.buys else price >= self.price)

    def may_trade(self, price: int) -> bool:
        """Return whether the execution rules allow a trade at a price."""
        return (self.least is None or price >= self.least) and (self.most is None or price <= self.most)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a match: a trade or a prevented self-trade.

    A `maker` of None means the simulated market.
    """

    price: int
    maker: Resting | None
    traded: int = 0
    maker_prevented: int = 0
    taker_prevented: int = 0

    @property
    def prevented(self) -> bool:
        return bool(self.maker_prevented or self.taker_prevented)


@dataclass(frozen=True, slots=True)
class Match:
    """Result of a match before its execution. `left` is the quantity that would stay on the book or expire."""

    steps: tuple[Step, ...]
    left: int
    expired: bool = False
    """Whether self-trade prevention ended the incoming order."""
    beyond: bool = False
    """Whether the next trade would be outside the price range of the execution rules; that ends the order."""

    @property
    def traded(self) -> int:
        return sum(step.traded for step in self.steps)

    @property
    def value(self) -> int:
        """Sum of price times quantity over all trades."""
        return sum(step.traded * step.price for step in self.steps)


@dataclass(slots=True)
class MatchingBook:
    """The orders of all accounts for one symbol."""

    orders: dict[int, Resting] = field(default_factory=dict[int, Resting])
    _used: dict[tuple[bool, int], Level] = field(default_factory=dict[tuple[bool, int], Level])
    """The crowd's quantity by side and price, and the part already taken.

    An entry is void if the crowd's quantity changes.
    """

    def side(self, *, buys: bool) -> list[Resting]:
        """Return one side in the order of matching."""
        orders = [order for order in self.orders.values() if order.buys == buys]
        # a stable sort keeps the time order at each price
        return sorted(orders, key=lambda order: -order.price if buys else order.price)

    def untaken(self, price: int, quantity: int, *, buys: bool) -> int:
        """Return the remaining quantity of a market level."""
        shown, used = self._used.get((buys, price), (0, 0))
        return quantity - used if shown == quantity else quantity

    def match(self, taker: Taker, crowd: Iterable[Level]) -> Match:
        """Return the match of a taker without executing it. `crowd` has the market's opposite levels, best first."""
        left, steps = taker.quantity, list[Step]()
        for price, quantity, maker in self._queue(taker, crowd):
            if not left:
                break
            if not taker.may_trade(price):
                return Match(tuple(steps), left, beyond=True)
            if maker is None or maker.owner != taker.owner or taker.mode == "NONE":
                traded = min(left, quantity)
                steps.append(Step(price, maker, traded))
                left -= traded
                continue
            step = _prevent(price, maker, left, taker.mode)
            steps.append(step)
            left -= step.taker_prevented
            if step.taker_prevented and not left:
                return Match(tuple(steps), 0, expired=True)
        return Match(tuple(steps), left)

    def commit(self, taker: Taker, match: Match, crowd: Iterable[Level]) -> None:
        """Apply a match to the book. `crowd` has the market levels used for it."""
        shown = dict(crowd)
        for step in match.steps:
            if step.maker is not None:
                step.maker.take(step.traded + step.maker_prevented)
                if not step.maker.left:
                    del self.orders[step.maker.number]
            else:
                self._use(step.price, shown[step.price], step.traded, buys=not taker.buys)

    def rest(self, order: Resting) -> None:
        """Add an order to the book, behind the existing ones."""
        self.orders[order.number] = order

    def strike(self, price: int, quantity: int, *, sold: bool) -> list[Level]:
        """Apply a market trade to the book. Return (order ID, quantity) of each fill.

        An order is completely filled if the trade went through its price, or if a resting market order has reached it.
        At exactly the trade's price, the quantity ahead of an order is filled first.
        """
        fills: list[Level] = []
        for order in [*self.side(buys=True), *self.side(buys=False)]:
            passed = price < order.price if order.buys else price > order.price
            if passed or (price == order.price and order.buys != sold):
                fills.append((order.number, order.left))
        for order in self.side(buys=sold):
            if order.price == price:
                # The market's quantity is ahead of the first order at a price. Reduce it for all orders at this price.
                crowd = min(quantity, order.ahead)
                for other in self.orders.values():
                    if other.buys == sold and other.price == price:
                        other.ahead = max(0, other.ahead - crowd)
                quantity -= crowd
                filled = min(quantity, order.left)
                quantity -= filled
                if filled:
                    fills.append((order.number, filled))
        return self._served(fills)

    def meet(self, bid: int, ask: int) -> list[Level]:
        """Completely fill each order that the market's best prices have reached.

        Return (order ID, quantity) of each.
        """
        orders = self.orders.values()
        met = [order for order in orders if (order.price >= ask if order.buys else order.price <= bid)]
        return self._served([(order.number, order.left) for order in met])

    def _served(self, fills: list[Level]) -> list[Level]:
        for number, filled in fills:
            self.orders[number].take(filled)
            if not self.orders[number].left:
                del self.orders[number]
        return fills

    def _use(self, price: int, shown: int, taken: int, *, buys: bool) -> None:
        before = self._used.get((buys, price), (shown, 0))
        self._used[buys, price] = (shown, taken + (before[1] if before[0] == shown else 0))
        for order in self.orders.values():
            if order.buys == buys and order.price == price:
                order.ahead = max(0, order.ahead - taken)

    def _queue(self, taker: Taker, crowd: Iterable[Level]) -> Iterator[tuple[int, int, Resting | None]]:
        """Yield the counterparties of a taker in order: price, quantity, and the resting order.

        The resting order is None for the simulated market.
        """
        own = [order for order in self.side(buys=not taker.buys) if taker.reaches(order.price)]
        place = 0
        for price, shown in crowd:
            if not taker.reaches(price):
                break
            while place < len(own) and _before(own[place].price, price, buys=taker.buys):
                yield own[place].price, own[place].left, own[place]
                place += 1
            quantity, passed = self.untaken(price, shown, buys=not taker.buys), 0
            while place < len(own) and own[place].price == price:
                first = min(quantity, max(0, own[place].ahead - passed))
                if first:
                    yield price, first, None
                    quantity, passed = quantity - first, passed + first
                yield price, own[place].left, own[place]
                place += 1
            if quantity:
                yield price, quantity, None
        for order in own[place:]:
            yield order.price, order.left, order


def _before(price: int, other: int, *, buys: bool) -> bool:
    return price < other if buys else price > other


def _prevent(price: int, maker: Resting, left: int, mode: str) -> Step:
    if mode == "EXPIRE_TAKER":
        return Step(price, maker, taker_prevented=left)
    if mode == "EXPIRE_MAKER":
        return Step(price, maker, maker_prevented=maker.left)
    if mode == "EXPIRE_BOTH":
        return Step(price, maker, maker_prevented=maker.left, taker_prevented=left)
    both = min(maker.left, left)  # DECREMENT; also TRANSFER within one account
    return Step(price, maker, maker_prevented=both, taker_prevented=both)
