"""Answers about orders in Binance's spelling; an answer is accepted only if it matches the order that was sent."""

from dataclasses import replace
from decimal import Decimal

import msgspec

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Target, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.wire import UNREADABLE, Amount, BinanceWire, Count, CountOrNone, EpochMs, SignedAmount
from mcp_binance_server.exchange.wire import price as price_of
from mcp_binance_server.exchange.wire import quantity as quantity_of
from mcp_binance_server.words import word

CANCELED, FILLED, PENDING = "CANCELED", "FILLED", "PENDING_NEW"
ON_THE_BOOK = frozenset({"NEW", "PARTIALLY_FILLED", FILLED})
# List ID of an order that belongs to no list.
NO_LIST = -1
NO_REASON = "NONE"
# Time of a trailing stop that does not follow the price yet.
NOT_YET = -1
NO_PRICE, NOTHING = Price(Decimal(0)), Quantity(Decimal(0))
# Fields that the short answer (ACK) does not have.
BEYOND_SHORT = frozenset({"status", "price", "origQty", "executedQty"})
# Orders of these types are sent without a time in force; the exchange sets it.
FREE_TIME_IN_FORCE = frozenset({"LIMIT_MAKER"})


def read_expiry(told: str | int | None) -> str:
    """Return the reason why an order expired; "" if none is given."""
    return "" if told in {None, NO_REASON} else word(str(told))


def read_start(trailing_bps: int, at_ms: int | None) -> int | None:
    """Return the time when a trailing stop began to follow the price; None before that, or for another order."""
    return at_ms if trailing_bps and at_ms not in {None, NOT_YET} else None


class OrderStateWire(BinanceWire):
    """Common fields of every full description of an order; Binance misspells `cummulativeQuoteQty`."""

    symbol: str
    order_id: Count
    client_order_id: str
    price: Amount
    executed_qty: Amount
    cummulative_quote_qty: SignedAmount
    status: str
    time_in_force: str
    type: str
    side: str
    stop_price: Amount = "0"
    trailing_delta: Count = 0
    trailing_time: CountOrNone = NOT_YET
    orig_qty: Amount | msgspec.UnsetType = msgspec.UNSET
    expiry_reason: str | int | None = None

    def __post_init__(self) -> None:
        # An order that sells the proceeds of another one has no quantity until it is on the book.
        if self.orig_qty is msgspec.UNSET and (self.status in ON_THE_BOOK or quantity_of(self.executed_qty)):
            raise ValueError("an order without a quantity")

    def standing(self, client_order_id: str, created_ms: int, updated_ms: int) -> Order:
        return Order(
            order_id=self.order_id,
            client_order_id=word(client_order_id),
            symbol=Symbol(word(self.symbol)),
            side=word(self.side),
            kind=word(self.type),
            status=word(self.status),
            time_in_force=word(self.time_in_force),
            price=price_of(self.price),
            stop_price=price_of(self.stop_price),
            quantity=NOTHING if self.orig_qty is msgspec.UNSET else quantity_of(self.orig_qty),
            executed=quantity_of(self.executed_qty),
            quote_spent=quantity_of(self.cummulative_quote_qty),
            created_ms=created_ms,
            updated_ms=updated_ms,
            expiry_reason=read_expiry(self.expiry_reason),
            trailing_bps=self.trailing_delta or None,
            trailing_ms=read_start(self.trailing_delta, self.trailing_time),
        )


class AnsweredWire(OrderStateWire, kw_only=True):
    """Common fields of the answers to an order and to a cancel.

    All values are known; a query of old orders lacks some.
    """

    transact_time: EpochMs
    cummulative_quote_qty: Amount
    order_list_id: CountOrNone = NO_LIST

    def stands(self, client_order_id: str, unsaid: Quantity = NOTHING) -> Order | None:
        """Return the order; None if its numbers contradict each other.

        `unsaid` is the quantity to use if the answer omits it.
        """
        order = self.standing(client_order_id, self.transact_time, self.transact_time)
        order = replace(order, quantity=order.quantity or unsaid)
        left = order.remaining
        is_sound = left >= 0 and (self.status != FILLED or not left) and (self.status != PENDING or not order.executed)
        return order if is_sound else None


class PlacedWire(AnsweredWire, kw_only=True):
    """A RESULT or FULL answer to an order; the executed quantity already includes the fills of FULL."""

    def to_domain(self, unsaid: Quantity = NOTHING) -> Order | None:
        return self.stands(self.client_order_id, unsaid)


class CancelledWire(AnsweredWire, kw_only=True):
    """The answer to a cancel. Its `clientOrderId` is the ID of the cancel, and it lacks the time of the order."""

    orig_client_order_id: str

    def to_domain(self) -> Order | None:
        return self.stands(self.orig_client_order_id)


class AcknowledgedWire(BinanceWire):
    """The short answer (ACK): the order was accepted, without any details."""

    symbol: str
    order_id: Count
    client_order_id: str
    transact_time: EpochMs
    order_list_id: CountOrNone = NO_LIST

    def to_domain(self, order: WrittenOrder) -> Order:
        return Order(
            order_id=self.order_id,
            client_order_id=order.client_order_id,
            symbol=order.symbol,
            side=order.side,
            kind=order.kind,
            status="NEW",
            time_in_force=order.time_in_force,
            price=order.price,
            stop_price=order.stop_price or NO_PRICE,
            quantity=order.quantity,
            executed=NOTHING,
            quote_spent=NOTHING,
            created_ms=self.transact_time,
            updated_ms=self.transact_time,
            trailing_bps=order.trailing_bps,
        )


def read_placed(
    body: bytes | msgspec.Raw, order: WrittenOrder, list_id: int = NO_LIST, *, is_paid: bool = False
) -> Order | None:
    """Return the placed order; None if the answer is unreadable or does not match the order.

    With `is_paid`, the order sells the proceeds of another one. It has no quantity until the other is filled, and then
    at most the quantity that was sent.
    """
    ids = order.symbol, order.client_order_id, list_id
    try:
        told = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        if BEYOND_SHORT.isdisjoint(told):
            short = msgspec.json.decode(body, type=AcknowledgedWire)
            is_ours = (short.symbol, short.client_order_id, short.order_list_id) == ids
            return short.to_domain(order) if is_ours else None
        wire = msgspec.json.decode(body, type=PlacedWire)
    except UNREADABLE:
        return None
    stands = wire.to_domain(order.quantity if is_paid else NOTHING)
    if stands is None or (wire.symbol, wire.client_order_id, wire.order_list_id) != ids:
        return None
    sent = (order.side, order.kind, order.price, order.trailing_bps)
    taken = (wire.side, wire.type, stands.price, stands.trailing_bps)
    # The documents do not say which stop price a trailing stop has in answers.
    is_at_stop = order.trailing_bps is not None or stands.stop_price == (order.stop_price or NO_PRICE)
    lasts = order.kind in FREE_TIME_IN_FORCE or wire.time_in_force == order.time_in_force
    is_whole = stands.quantity == order.quantity or (is_paid and stands.quantity < order.quantity)
    return stands if taken == sent and is_at_stop and lasts and is_whole else None


def is_object(body: bytes) -> bool:
    """Return whether a body is a JSON object, as the exchange sends for a successful test order."""
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return False
    return True


def read_cancelled(body: bytes | msgspec.Raw, target: Target) -> Order | None:
    """Return the cancelled order; None if the answer is unreadable or does not confirm this cancel."""
    try:
        wire = msgspec.json.decode(body, type=CancelledWire)
    except UNREADABLE:
        return None
    is_it = (wire.symbol, wire.orig_client_order_id) == (target.symbol, target.client_order_id)
    is_it = is_it and target.order_id in {None, wire.order_id} and wire.order_list_id == NO_LIST
    is_it = is_it and wire.orig_qty is not msgspec.UNSET
    return wire.to_domain() if is_it and wire.status == CANCELED else None
