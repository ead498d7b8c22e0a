"""Amendment of an open order to a smaller quantity. The order keeps its ID and its place in the queue."""

from dataclasses import dataclass, replace

from binance_simulator.orders.accounts import Account
from binance_simulator.orders.desk import Named, OrderDesk
from binance_simulator.orders.order import Amendment, LiveOrder
from binance_simulator.orders.records import Detail
from binance_simulator.orders.rules import check_filters
from binance_simulator.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Amended:
    """The new quantity of an order, in units of 0.00000001, and its new client order ID."""

    quantity: int
    client_order_id: str


def amend_order(desk: OrderDesk, account: Account, named: Named, to: Amended, now_ms: int) -> LiveOrder:
    """Reduce an order, and the other order of its pair, since only one of them can trade.

    An order with nothing left to fill expires.

    Raises:
        Refusal: the order is not open, would not be smaller, or breaks a filter; it then stays unchanged.
    """
    desk.engine.settle(now_ms)
    order = _find(desk, account, named)
    _check(desk, order, to, now_ms)
    listed = desk.records.lists.get(order.list_id)
    other = None if listed is None else listed.partner(order)
    renamed = to.client_order_id != order.wanted.client_order_id
    next_execution = desk.records.executions.newest + 1
    _shrink(order, to, next_execution, now_ms)
    if not order.left:
        desk.engine.expire(order, None, now_ms)
        desk.engine.follow_up(now_ms)
        return order
    pair = [order] if other is None or not other.open else [order, other]
    for one in pair[1:]:
        _shrink(one, Amended(to.quantity, one.wanted.client_order_id), next_execution + 1, now_ms)
    desk.records.hold(pair)
    for one in pair:
        desk.engine.resize(one, now_ms)
        told = listed.status("UPDATED") if listed is not None and renamed and one is order else None
        detail = Detail(earlier_id=one.amendments[-1].earlier_id, list_status=told)
        desk.records.tell(one, "REPLACED", now_ms, detail)
    return order


def _find(desk: OrderDesk, account: Account, named: Named) -> LiveOrder:
    for order in desk.records.orders.values():
        if order.open and order.holder == account.holder and order.wanted.symbol.name == named.symbol:
            ids = (order.number, order.wanted.client_order_id)
            if named.order_id in {None, ids[0]} and named.client_order_id in {None, ids[1]}:
                return order
    raise _refused("Unknown order sent.")


def _check(desk: OrderDesk, order: LiveOrder, to: Amended, now_ms: int) -> None:
    rules, wanted = desk.rules(order.wanted.symbol), order.wanted
    listed = desk.records.lists.get(order.list_id)
    if not rules.amend_allowed:
        raise _refused("Order amend is not supported for this symbol.")
    if order.pending and listed is not None and listed.pays:
        raise _refused("Order amend (pending OPO order) is not supported.")
    if to.quantity > wanted.quantity:
        raise _refused("Order amend (quantity increase) is not supported.")
    if to.quantity == wanted.quantity:
        raise _refused("The requested action would change no state; rejecting")
    others = (one for one in desk.records.open_orders(order.holder) if one.order_id != order.number)
    if to.client_order_id in {one.client_order_id for one in others}:
        raise _refused("Duplicate order sent.")
    if len(order.amendments) >= rules.most_amendments:
        raise _refused("Filter failure: MAX_NUM_ORDER_AMENDS")
    smaller = replace(wanted, quantity=to.quantity)
    # Skip the comparison with the current price, because the order's price stays the same.
    average = wanted.price or desk.average(wanted, now_ms)
    check_filters(smaller, rules.filters, average=average, open_orders=-1, open_stops=-1)


def _shrink(order: LiveOrder, to: Amended, execution: int, now_ms: int) -> None:
    earlier, quantity = order.wanted, max(to.quantity, order.executed + order.prevented)
    order.wanted = replace(earlier, quantity=quantity, client_order_id=to.client_order_id)
    order.updated_ms = now_ms
    order.amendments.append(
        Amendment(
            execution=execution,
            earlier_id=earlier.client_order_id,
            client_order_id=to.client_order_id,
            earlier_quantity=earlier.quantity,
            quantity=quantity,
            at_ms=now_ms,
        )
    )


def _refused(message: str) -> Refusal:
    return Refusal(-2038, message)
