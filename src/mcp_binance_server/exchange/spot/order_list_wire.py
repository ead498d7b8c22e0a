"""Answers about order lists; an answer is accepted only if it contains every order of the list as it was sent."""

from collections.abc import Sequence

import msgspec

from mcp_binance_server.domain.order_requests import Target, WrittenList
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.exchange.spot.order_params import PAID
from mcp_binance_server.exchange.spot.order_wire import CANCELED, NO_LIST, PENDING, CancelledWire, read_placed
from mcp_binance_server.exchange.wire import UNREADABLE, BinanceWire, Count, CountOrNone, EpochMs

# https://developers.binance.com/docs/binance-spot-api-docs/enums#order-list-order-status-listorderstatus
STANDS, OVER = frozenset({"EXECUTING", "ALL_DONE"}), frozenset({"ALL_DONE"})
OPEN_STATUSES = frozenset({"NEW", "PARTIALLY_FILLED", "PENDING_CANCEL", PENDING})


class ListedWire(BinanceWire):
    """One order of a list, with its IDs."""

    symbol: str
    order_id: Count
    client_order_id: str


class OrderListWire(BinanceWire):
    """The answer to a new or cancelled order list; it names the time differently than an order's answer."""

    order_list_id: CountOrNone
    contingency_type: str
    list_order_status: str
    list_client_order_id: str
    transaction_time: EpochMs
    symbol: str
    orders: list[ListedWire]
    order_reports: list[msgspec.Raw]

    @property
    def numbers(self) -> dict[str, int] | None:
        """Exchange order IDs by client order ID; None if the orders have several symbols, or IDs occur twice."""
        found = {each.client_order_id: each.order_id for each in self.orders if each.symbol == self.symbol}
        return found if len(found) == len({*found.values()}) == len(self.orders) else None


def read_list(body: bytes, written: WrittenList) -> tuple[Order, ...] | None:
    """Return the orders of a list in the order of the request; None if the answer does not confirm exactly these."""
    wire = _of(body, written.symbol, written.client_list_id, STANDS)
    if wire is None or wire.contingency_type != ("OCO" if written.shape == "OCO" else "OTO"):
        return None
    legs: list[Order] = []
    for order in written.orders:
        is_paid = written.shape in PAID and order is not written.orders[0]
        told = [read_placed(each, order, wire.order_list_id, is_paid=is_paid) for each in wire.order_reports]
        legs += [each for each in told if each is not None]
    is_whole = len(wire.orders) == len(wire.order_reports) == len(legs) == len(written.orders)
    return tuple(legs) if is_whole and _numbers(legs) == wire.numbers else None


def read_cancelled_list(body: bytes, target: Target) -> tuple[Order, ...] | None:
    """Return the orders of a cancelled list; None if the answer does not confirm that the whole list has ended."""
    wire = _of(body, target.symbol, target.client_order_id, OVER)
    if wire is None:
        return None
    try:
        told = [msgspec.json.decode(each, type=CancelledWire) for each in wire.order_reports]
    except UNREADABLE:
        return None
    legs = [each.to_domain() for each in told if (each.symbol, each.order_list_id) == (wire.symbol, wire.order_list_id)]
    ended = [each for each in legs if each is not None and each.status not in OPEN_STATUSES]
    numbers, own = wire.numbers, _numbers(ended)
    is_sound = len(ended) == len(told) == len(own) and any(each.status == CANCELED for each in ended)
    return tuple(ended) if is_sound and numbers is not None and own.items() <= numbers.items() else None


def _of(body: bytes, symbol: str, client_list_id: str, statuses: frozenset[str]) -> OrderListWire | None:
    try:
        wire = msgspec.json.decode(body, type=OrderListWire)
    except UNREADABLE:
        return None
    # Refuse a list without an ID, because its orders would look like single orders.
    is_it = (wire.symbol, wire.list_client_order_id) == (symbol, client_list_id) and wire.order_list_id != NO_LIST
    return wire if is_it and wire.list_order_status in statuses else None


def _numbers(orders: Sequence[Order]) -> dict[str, int]:
    return {each.client_order_id: each.order_id for each in orders}
