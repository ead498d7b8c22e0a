"""One symbol on paper, for one account: its orders on the real book and tape, never better than those allow. Pure.

Takers walk the book that stands when their order arrives; what they took is gone until the exchange shows that
level anew. Resting orders wait behind everything that was displayed at their price when they arrived; only trades move
the queue, since who cancelled ahead of us nobody can see, and a trade fills at most its own quantity.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side, TimeInForce
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER

NONE = Quantity(Decimal(0))
OPPOSITE: dict[Side, Side] = {"BUY": "SELL", "SELL": "BUY"}
PENDING = "PENDING_NEW"
OPEN = frozenset({PENDING, "NEW", "PARTIALLY_FILLED"})


class PaperBook(Protocol):
    """The displayed book of the exchange, as it is at this moment."""

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        """Return the known levels of the side that buys, or sells."""
        ...

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        """Return what stands at a price; None where nobody told us."""
        ...


@dataclass(frozen=True, slots=True)
class PaperFill:
    """A part of an order that was filled; of a maker `tape_id` names the print that filled it."""

    order_id: int
    price: Price
    quantity: Quantity
    is_maker: bool
    at_ms: int
    tape_id: int | None = None


@dataclass(slots=True)
class PaperOrder:
    """An order on paper; a stop waits for its trigger."""

    order_id: int
    side: Side
    kind: Kind
    time_in_force: TimeInForce
    price: Price
    quantity: Quantity
    arrives_ms: int
    stop_price: Price | None = None
    triggers_above: bool = False
    is_triggered: bool = False
    filled: Quantity = NONE
    ahead: Quantity | None = None
    """What was displayed before it at its price; None while nobody knows, and then only a trade through it counts."""
    status: str = PENDING

    @property
    def left(self) -> Quantity:
        return Quantity(self.quantity - self.filled)

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


@dataclass(eq=False)
class PaperMarket:
    """The orders of one account on one symbol; events are fed in the order in which the exchange sent them."""

    book: PaperBook
    waiting: list[PaperOrder] = field(default_factory=list[PaperOrder])
    """On their way, or stops that were not triggered."""
    resting: list[PaperOrder] = field(default_factory=list[PaperOrder])
    _taken: dict[tuple[Side, Price], tuple[Quantity, Quantity]] = field(
        default_factory=dict[tuple[Side, Price], tuple[Quantity, Quantity]]
    )
    """By level, what was displayed when something was taken from it, and how much that was."""

    def advance(self, now_ms: int) -> Iterator[PaperFill]:
        """Let the orders arrive whose time has come; stops take their place and wait on."""
        for order in [each for each in self.waiting if each.status == PENDING and each.arrives_ms <= now_ms]:
            order.arrives_ms = now_ms  # it may have waited for the market: what was printed by then is not for it
            if order.stop_price is not None:
                order.status = "NEW"
                continue
            self.waiting.remove(order)
            yield from self._arrive(order, now_ms)

    def shown(self) -> None:
        """Hear that the book has changed: there cannot be more ahead of an order than its level holds."""
        for order in self.resting:
            displayed = self.book.displayed(order.side, order.price)
            if displayed is not None and (order.ahead is None or displayed < order.ahead):
                order.ahead = displayed
        for (side, price), (then, _) in [*self._taken.items()]:
            if self.book.displayed(side, price) != then:
                del self._taken[side, price]

    def trade(
        self, at_ms: int, tape_id: int, price: Price, quantity: Quantity, *, buyer_is_maker: bool, takes: bool = True
    ) -> Iterator[PaperFill]:
        """Let one print of the tape reach the resting orders of the side that it took from, then trigger stops.

        Where the book of that moment is not known a triggered order `takes` nothing: it waits for prints at its limit,
        the worst price it may have.
        """
        yield from self._give(at_ms, tape_id, price, quantity, "BUY" if buyer_is_maker else "SELL")
        stops = [each for each in self.waiting if each.status == "NEW" and each.arrives_ms <= at_ms]
        for order in [each for each in stops if _is_triggered(each, price)]:
            self.waiting.remove(order)
            order.is_triggered = True
            if takes:
                yield from self._arrive(order, at_ms)
            else:
                self.resting.append(order)

    def cancel(self, order_id: int) -> PaperOrder | None:
        """Take an open order out; None if there is none any more."""
        for orders in (self.waiting, self.resting):
            for order in orders:
                if order.order_id == order_id:
                    orders.remove(order)
                    order.status = "CANCELED"
                    return order
        return None

    def _give(self, at_ms: int, tape_id: int, price: Price, quantity: Quantity, side: Side) -> Iterator[PaperFill]:
        """Give one print to the orders it reaches, best price first, then in the order in which they came."""
        given = NONE
        is_buy = side == "BUY"
        best_first = sorted(
            (each for each in self.resting if each.side == side and each.arrives_ms <= at_ms),
            key=lambda order: (-order.price if is_buy else order.price, order.order_id),
        )
        for order in best_first:
            is_through = price < order.price if is_buy else price > order.price
            if not is_through and (price != order.price or order.ahead is None):
                continue
            # Who is ahead of one order is ahead of those behind it too: each counts the same print for itself.
            passed = NONE if is_through else min(order.ahead or NONE, quantity)
            order.ahead = NONE if is_through else Quantity((order.ahead or NONE) - passed)
            if (got := min(Quantity(quantity - passed - given), order.left)) > 0:
                given = Quantity(given + got)
                yield self._filled(order, order.price, got, at_ms, tape_id)
        self.resting = [order for order in self.resting if order.left]

    def _arrive(self, order: PaperOrder, at_ms: int) -> Iterator[PaperFill]:
        reach = [*self._reachable(order)]
        if order.kind == LIMIT_MAKER and (reach or self._meets_own(order, order.price)):
            order.status = "REJECTED"
            return
        if order.time_in_force == "FOK" and sum(quantity for _, quantity in reach) < order.quantity:
            order.status = "EXPIRED"
            return
        against = OPPOSITE[order.side]
        order.status = "NEW"
        for price, available in reach:
            if not order.left:
                return
            if self._meets_own(order, price):
                order.status = "EXPIRED_IN_MATCH"
                return
            got = min(available, order.left)
            self._take(against, price, got)
            yield self._filled(order, price, got, at_ms, None)
        if not order.left:
            return
        if self._meets_own(order, order.price):
            order.status = "EXPIRED_IN_MATCH"
        elif order.time_in_force != "GTC":
            order.status = "EXPIRED"
        else:
            self._rest(order)

    def _rest(self, order: PaperOrder) -> None:
        order.ahead = self.book.displayed(order.side, order.price)
        self.resting.append(order)

    def _meets_own(self, order: PaperOrder, price: Price) -> bool:
        """Tell whether an order of the same account would be met first: the exchange lets the taker's rest expire."""
        is_buy = order.side == "BUY"
        own = (each.price for each in self.resting if each.side != order.side)
        return any(each <= price if is_buy else each >= price for each in own)

    def _reachable(self, order: PaperOrder) -> Iterator[tuple[Price, Quantity]]:
        is_buy = order.side == "BUY"
        against = OPPOSITE[order.side]
        for price, displayed in self.book.best_first(against):
            if price > order.price if is_buy else price < order.price:
                return
            available = Quantity(displayed - self._taken_at(against, price))
            if available > 0:
                yield price, available

    def _taken_at(self, side: Side, price: Price) -> Quantity:
        then, taken = self._taken.get((side, price), (None, NONE))
        return taken if then == self.book.displayed(side, price) else NONE

    def _take(self, side: Side, price: Price, quantity: Quantity) -> None:
        displayed = self.book.displayed(side, price) or NONE
        self._taken[side, price] = (displayed, Quantity(self._taken_at(side, price) + quantity))

    def _filled(
        self, order: PaperOrder, price: Price, quantity: Quantity, at_ms: int, tape_id: int | None
    ) -> PaperFill:
        order.filled = Quantity(order.filled + quantity)
        order.status = "PARTIALLY_FILLED" if order.left else "FILLED"
        return PaperFill(order.order_id, price, quantity, tape_id is not None, at_ms, tape_id)


def _is_triggered(order: PaperOrder, price: Price) -> bool:
    if order.stop_price is None:
        return False
    return price >= order.stop_price if order.triggers_above else price <= order.stop_price
