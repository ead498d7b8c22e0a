"""Request parameters of orders, order lists and changes; order types without a fixed price are not supported.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints
"""

from collections.abc import Mapping
from types import MappingProxyType

from mcp_binance_server.domain.money import written
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Kind,
    ListShape,
    Replacement,
    Target,
    WrittenList,
    WrittenOrder,
)

Params = dict[str, str | int]

NEEDED: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        "LIMIT": frozenset({"timeInForce"}),
        "LIMIT_MAKER": frozenset(),
        "STOP_LOSS_LIMIT": frozenset({"timeInForce", "trigger"}),
        "TAKE_PROFIT_LIMIT": frozenset({"timeInForce", "trigger"}),
    }
)
"""Parameters of each order type. The trigger is a fixed price or a trailing distance.

https://developers.binance.com/docs/binance-spot-api-docs/faqs/trailing-stop-faq
"""
ENTRIES: frozenset[Kind] = frozenset({"LIMIT", "LIMIT_MAKER"})
# Parameter prefixes of a list's orders, in the sequence of its orders.
LEGS: Mapping[ListShape, tuple[str, ...]] = MappingProxyType(
    {
        "OCO": ("above", "below"),
        "OTO": ("working", "pending"),
        "OTOCO": ("working", "pendingAbove", "pendingBelow"),
        "OPO": ("working", "pending"),
        "OPOCO": ("working", "pendingAbove", "pendingBelow"),
    }
)
PAID: frozenset[ListShape] = frozenset({"OPO", "OPOCO"})
"""Lists whose exits sell the quantity that the entry received: the exits' own quantity is not sent."""


def order_params(order: WrittenOrder, self_trade: str | None = None) -> Params:
    """Return the parameters of one order.

    Raises:
        ValueError: the order has no fixed price, or its trigger does not fit its kind.
    """
    needed = _needed(order)
    params: Params = {"symbol": order.symbol, "side": order.side, "type": order.kind}
    if "timeInForce" in needed:
        params["timeInForce"] = order.time_in_force
    params |= {"quantity": written(order.quantity), "price": written(order.price)}
    params |= _trigger(order)
    params["newClientOrderId"] = order.client_order_id
    return params | _answered_in_full(self_trade)


def list_params(orders: WrittenList, self_trade: str | None = None) -> Params:
    """Return the parameters of an order list.

    Raises:
        ValueError: an order's type is not supported, or the orders do not form such a list.
    """
    _check(orders)
    names, exits = LEGS[orders.shape], orders.orders[-1]
    params: Params = {"symbol": orders.symbol, "listClientOrderId": orders.client_list_id}
    if orders.shape == "OCO":
        params |= {"side": exits.side, "quantity": written(exits.quantity)}
    else:
        entry = orders.orders[0]
        params |= {"workingSide": entry.side, "workingQuantity": written(entry.quantity), "pendingSide": exits.side}
    if orders.shape in ("OTO", "OTOCO"):
        params["pendingQuantity"] = written(exits.quantity)
    for name, order in zip(names, orders.orders, strict=True):
        params |= _leg(name, order)
    return params | _answered_in_full(self_trade)


def replacement_params(replacement: Replacement, cancel_id: str, self_trade: str | None = None) -> Params:
    """Return the parameters of a replacement: if the cancel fails, the new order is not placed.

    Raises:
        ValueError: the order's type is not supported, or its symbol differs.
    """
    target = replacement.target
    if target.is_list or target.symbol != replacement.order.symbol:
        raise ValueError("an order can replace only an order of the same symbol")
    params = order_params(replacement.order, self_trade)
    params |= {"cancelReplaceMode": "STOP_ON_FAILURE", "orderRateLimitExceededMode": "DO_NOTHING"}
    return params | named(target, "cancelOrderId", "cancelOrigClientOrderId") | {"cancelNewClientOrderId": cancel_id}


def amendment_params(amendment: Amendment) -> Params:
    """Return the parameters of a reduced quantity.

    They send the order's client ID as the new client ID. Otherwise the exchange would assign another ID.
    """
    target = amendment.target
    params: Params = {"symbol": target.symbol} | named(target)
    return params | {"newQty": written(amendment.quantity), "newClientOrderId": target.client_order_id}


def cancel_params(target: Target, cancel_id: str) -> Params:
    """Return the parameters that cancel an order or an order list."""
    params: Params = {"symbol": target.symbol}
    which = {"listClientOrderId": target.client_order_id} if target.is_list else named(target)
    return params | which | {"newClientOrderId": cancel_id}


def named(target: Target, by_number: str = "orderId", by_name: str = "origClientOrderId") -> Params:
    """Return the parameter that identifies an order: the exchange's ID if it is known, because its lookup is faster."""
    return {by_name: target.client_order_id} if target.order_id is None else {by_number: target.order_id}


def _needed(order: WrittenOrder) -> frozenset[str]:
    needed = NEEDED.get(order.kind)
    triggers = sum(each is not None for each in (order.stop_price, order.trailing_bps))
    if needed is None or triggers != ("trigger" in needed):
        raise ValueError(f"an order of this kind is never sent: {order.kind}")
    return needed


def _trigger(order: WrittenOrder) -> Params:
    if order.trailing_bps is not None:
        return {"trailingDelta": order.trailing_bps}
    return {} if order.stop_price is None else {"stopPrice": written(order.stop_price)}


def _leg(name: str, order: WrittenOrder) -> Params:
    params: Params = {f"{name}Type": order.kind, f"{name}ClientOrderId": order.client_order_id}
    params[f"{name}Price"] = written(order.price)
    params |= {f"{name}{each[0].upper()}{each[1:]}": value for each, value in _trigger(order).items()}
    if "timeInForce" in _needed(order):
        params[f"{name}TimeInForce"] = order.time_in_force
    return params


def _answered_in_full(self_trade: str | None) -> Params:
    params: Params = {"newOrderRespType": "FULL"}
    return params if self_trade is None else params | {"selfTradePreventionMode": self_trade}


def _check(orders: WrittenList) -> None:
    """Check that all orders agree on the values that an order list has only once."""
    legs = orders.orders
    entry, exits = (None, legs) if orders.shape == "OCO" else (legs[0], legs[1:])
    is_sound = (
        len(legs) == len(LEGS[orders.shape])
        and len({each.symbol for each in legs}) == 1
        and len({orders.client_list_id, *(each.client_order_id for each in legs)}) == len(legs) + 1
        and len({(each.side, each.quantity) for each in exits}) == 1
    )
    if entry is not None:
        is_sound = is_sound and entry.kind in ENTRIES and entry.side != exits[0].side
    if orders.shape in PAID:
        is_sound = is_sound and legs[0].side == "BUY" and legs[0].quantity == legs[-1].quantity
    if not is_sound:
        raise ValueError(f"such orders are not a valid {orders.shape}, and are never sent")
