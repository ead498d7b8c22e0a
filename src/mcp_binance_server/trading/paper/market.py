"""Orders of one account on one paper symbol, matched against the real book and trades, never on better terms. Pure.

A taker walks the book at the time it arrives. The quantity that it takes is gone until the exchange updates that level.
A resting order queues behind the quantity displayed at its price when it arrived. Only trades advance the queue,
because cancels ahead of an order are invisible. A trade fills at most its own quantity.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Protocol

from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.domain.orders import EXPIRY_WORDS, OUT_OF_RANGE
from mcp_binance_server.domain.reference_price import NO_REFERENCE, ReferencePrice
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER
from mcp_binance_server.trading.paper.lists import NO_ENTRY, OTHER_FIRST, WOULD_TAKE, misplaced, rest_of
from mcp_binance_server.trading.paper.order import NONE, PaperFill, PaperOrder

BEYOND_RANGE = EXPIRY_WORDS[OUT_OF_RANGE]
OPPOSITE: dict[Side, Side] = {"BUY": "SELL", "SELL": "BUY"}


class PaperBook(Protocol):
    """Displayed book of the exchange at this moment."""

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        """Return the known levels of a side, best price first."""
        ...

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        """Return the displayed quantity at a price; None if unknown."""
        ...


@dataclass(eq=False)
class PaperMarket:
    """Orders of one account on one symbol. Feed events in the order in which the exchange sent them."""

    book: PaperBook
    waiting: list[PaperOrder] = field(default_factory=list[PaperOrder])
    """Orders in transit, orders that wait for the entry of their list, and stops that have not triggered."""
    resting: list[PaperOrder] = field(default_factory=list[PaperOrder])
    last: Price | None = None
    """Last price, as the caller sets it; None if unknown."""
    reference: ReferencePrice = NO_REFERENCE
    """Reference price of the exchange with its price range, as the caller sets it."""
    filled_entries: list[PaperOrder] = field(default_factory=list[PaperOrder])
    """Filled entries. The exits of their lists must be started."""
    _taken: dict[tuple[Side, Price], tuple[Quantity, Quantity]] = field(
        default_factory=dict[tuple[Side, Price], tuple[Quantity, Quantity]]
    )
    """By level: the displayed quantity when an order took from it, and the quantity taken since."""

    def advance(self, now_ms: int) -> Iterator[PaperFill]:
        """Move orders whose latency has passed into the market. Stops become active and wait for their trigger."""
        for order in [each for each in self.waiting if each.is_on_its_way and each.arrives_ms <= now_ms]:
            if not order.is_on_its_way:
                continue  # the order arrived together with the other order of its list
            if order.part is not None and not order.part.is_entry:
                self._place_together([order, *rest_of(order, self.waiting)], now_ms, takes=True)
                continue
            # The order may have waited for the next match. Earlier trades must not fill it.
            order.arrives_ms = now_ms
            if order.is_stop:
                order.status = "NEW"
                continue
            self.waiting.remove(order)
            yield from self._arrive(order, now_ms)
            if not order.is_open and order.left:
                is_refused = order.status == "REJECTED"
                self._end(rest_of(order, self.waiting), "REJECTED" if is_refused else "EXPIRED", NO_ENTRY)

    def start(self, at_ms: int, *, takes: bool) -> None:
        """Put the exits of filled entries in the market.

        The caller must have checked the quantity of the exits and the balance that pays for them.
        """
        entries, self.filled_entries = self.filled_entries, []
        for entry in entries:
            self._place_together(rest_of(entry, self.waiting), at_ms, takes=takes)

    def end_unwatched(self, reason: str) -> None:
        """Expire orders that were in the market while no process followed it, and the orders that depend on them."""
        for order in [each for each in (*self.waiting, *self.resting) if each.is_in_market]:
            self._end([order, *rest_of(order, (*self.waiting, *self.resting))], "EXPIRED", reason)

    def drop_over(self) -> None:
        """Remove orders that have ended outside this class."""
        self.waiting = [each for each in self.waiting if each.is_open]
        self.resting = [each for each in self.resting if each.is_open and each.left]

    def shown(self) -> None:
        """Handle a change of the book. The queue ahead of an order is at most the quantity displayed at its price."""
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
        """Match one trade with the resting orders of its passive side, then trigger stops.

        With `takes` False, the book at the time of the trade is unknown. A triggered order then waits for trades at its
        limit, which is its worst possible price.
        """
        yield from self._give(at_ms, tape_id, price, quantity, "BUY" if buyer_is_maker else "SELL")
        stops = [each for each in self.waiting if each.status == "NEW" and each.arrives_ms <= at_ms]
        for order in [each for each in stops if each.sees(price)]:
            self.waiting.remove(order)
            order.is_triggered = True
            self._end_others(order)
            if takes:
                yield from self._arrive(order, at_ms)
            else:
                self.resting.append(order)

    def cancel(self, order_id: int) -> PaperOrder | None:
        """Cancel an open order and return it. Return None if it is not open."""
        for orders in (self.waiting, self.resting):
            for order in orders:
                if order.order_id == order_id:
                    orders.remove(order)
                    order.status = "CANCELED"
                    return order
        return None

    def _give(self, at_ms: int, tape_id: int, price: Price, quantity: Quantity, side: Side) -> Iterator[PaperFill]:
        """Fill the orders that one trade reaches: best price first, then earliest arrival."""
        given = NONE
        is_buy = side == "BUY"
        best_first = sorted(
            (each for each in self.resting if each.side == side and each.arrives_ms <= at_ms),
            key=lambda order: (-order.price if is_buy else order.price, order.order_id),
        )
        for order in best_first:
            if not order.is_open:
                continue  # the other order of its list has received this trade
            is_through = price < order.price if is_buy else price > order.price
            if not is_through and (price != order.price or order.ahead is None):
                continue
            # The queue ahead of an order is also ahead of the orders behind it, so each order counts the whole trade.
            passed = NONE if is_through else min(order.ahead or NONE, quantity)
            order.ahead = NONE if is_through else Quantity((order.ahead or NONE) - passed)
            if (got := min(Quantity(quantity - passed - given), order.left)) > 0:
                given = Quantity(given + got)
                yield self._filled(order, order.price, got, at_ms, tape_id)
        self.resting = [order for order in self.resting if order.left]

    def _place_together(self, orders: list[PaperOrder], at_ms: int, *, takes: bool) -> None:
        """Put the orders of a list in the market, all or none.

        With `takes` False, the book and the queue positions are unknown.
        """
        makers = [each for each in orders if not each.is_stop]
        refusal = misplaced(orders, self.last)
        if takes and any(self._would_take(each) for each in makers):
            refusal = refusal or WOULD_TAKE
        if refusal:
            was_pending = orders[0].awaits_entry
            self._end(orders, "EXPIRED" if was_pending else "REJECTED", refusal)
            return
        for order in orders:
            order.status, order.arrives_ms = "NEW", at_ms
        for order in makers:
            self.waiting.remove(order)
            order.ahead = self.book.displayed(order.side, order.price) if takes else None
            self.resting.append(order)

    def _would_take(self, order: PaperOrder) -> bool:
        return any(True for _ in self._reachable(order)) or self._meets_own(order, order.price)

    def _end(self, orders: list[PaperOrder], status: str, reason: str) -> None:
        for order in orders:
            order.status, order.reason = status, reason
        self.drop_over()

    def _end_others(self, order: PaperOrder) -> None:
        """End the other orders of a list after one of them was triggered or filled, even in part."""
        if order.part is not None and not order.part.is_entry:
            self._end(rest_of(order, (*self.waiting, *self.resting)), "EXPIRED", OTHER_FIRST)

    def _arrive(self, order: PaperOrder, at_ms: int) -> Iterator[PaperFill]:
        if order.kind == LIMIT_MAKER and self._would_take(order):
            order.status, order.reason = "REJECTED", WOULD_TAKE
            return
        within = self.reference.taker_range(order.side)
        reach = [*self._reachable(order)]
        inside = [*takewhile(lambda level: within.holds(level[0]), reach)]
        if order.time_in_force == "FOK" and sum(quantity for _, quantity in inside) < order.quantity:
            order.status, order.reason = "EXPIRED", BEYOND_RANGE if len(inside) < len(reach) else ""
            return
        against = OPPOSITE[order.side]
        order.status = "NEW"
        for price, available in reach:
            if not order.left:
                return
            if not within.holds(price):
                order.status, order.reason = "EXPIRED", BEYOND_RANGE
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
        """Return True if the order would meet an order of its own account first.

        The exchange then ends the unfilled rest of the taker.
        """
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
        self._end_others(order)
        if order.part is not None and order.part.is_entry and not order.left:
            self.filled_entries.append(order)
        return PaperFill(order.order_id, price, quantity, tape_id is not None, at_ms, tape_id)
