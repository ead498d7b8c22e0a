"""Endpoints that change an open order: cancelReplace and amend/keepPriority."""

from collections.abc import Callable

import msgspec

from binance_simulator import refusals
from binance_simulator.market.listing import decimal_string
from binance_simulator.market.portfolio import ZERO
from binance_simulator.orders.amending import Amended, amend_order
from binance_simulator.orders.desk import Named
from binance_simulator.orders.rules import rejected
from binance_simulator.refusals import Refusal
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.orders.calls import (
    ORDER_NAMES,
    cancelled,
    place_counted,
    read_response,
    read_restriction,
)
from binance_simulator.rest.orders.parameters import read_amount, read_client_id, read_order
from binance_simulator.rest.signing import SIGNING

Body = dict[str, object]

REPLACE_NAMES = (
    *ORDER_NAMES,
    "cancelReplaceMode",
    "cancelNewClientOrderId",
    "cancelOrigClientOrderId",
    "cancelOrderId",
    "cancelRestrictions",
    "orderRateLimitExceededMode",
)


def cancel_replace(call: Call) -> object:
    """Answer POST order/cancelReplace: check filters and counts, cancel, then place the new order."""
    params, desk, symbol = call.params, call.exchange.orders, call.symbol()
    mode = params.required("cancelReplaceMode")
    if mode not in {"STOP_ON_FAILURE", "ALLOW_FAILURE"}:
        raise refusals.bad_value("cancelReplaceMode")
    if (exceeded_mode := params.text("orderRateLimitExceededMode")) not in {None, "DO_NOTHING", "CANCEL_ONLY"}:
        raise refusals.bad_value("orderRateLimitExceededMode")
    number, client_id = params.whole("cancelOrderId"), read_client_id(params, "cancelOrigClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("cancelOrigClientOrderId", "cancelOrderId")
    cancel_id = read_client_id(params, "cancelNewClientOrderId") or desk.usual_client_id(1)
    named = Named(symbol.name, number, client_id, read_restriction(params))
    response, rules = read_response(params), desk.rules(symbol)
    wanted = read_order(params, symbol, rules, desk.usual_client_id())
    params.finish()
    if not rules.cancel_replace_allowed:
        raise rejected("Order cancel-replace is not supported for this symbol.")
    account = call.exchange.order_account(call.key)
    desk.check(account, desk.settled(account, wanted, call.now_ms), call.now_ms)
    exceeded: Refusal | None = None
    try:
        desk.ledger.spend(account.holder, call.now_ms)
    except Refusal as refusal:
        if exceeded_mode != "CANCEL_ONLY":
            raise
        exceeded = refusal
    whole = desk.cancel_tells_list
    cancel = _attempt(
        lambda: cancelled(call, desk.cancel(account, named, cancel_id, call.now_ms), cancel_id, whole=whole)
    )
    new: Body | Refusal | None = None
    if not isinstance(cancel, Refusal) or mode == "ALLOW_FAILURE":
        new = exceeded or _attempt(lambda: place_counted(call, wanted, response))
    return _answer(cancel, new, exceeded if mode == "STOP_ON_FAILURE" else None)


def _attempt(part: Callable[[], Body]) -> Body | Refusal:
    try:
        return part()
    except Refusal as refusal:
        return refusal


def _answer(cancel: Body | Refusal, new: Body | Refusal | None, exceeded: Refusal | None) -> Body:
    data: Body = {
        "cancelResult": "FAILURE" if isinstance(cancel, Refusal) else "SUCCESS",
        "newOrderResult": "NOT_ATTEMPTED" if new is None else "FAILURE" if isinstance(new, Refusal) else "SUCCESS",
        "cancelResponse": cancel.body() if isinstance(cancel, Refusal) else cancel,
        "newOrderResponse": new.body() if isinstance(new, Refusal) else new,
    }
    worked = [not isinstance(cancel, Refusal), isinstance(new, dict)]
    if all(worked):
        return data
    status = 429 if exceeded is not None else 409 if any(worked) else 400
    wait = None if exceeded is None else exceeded.retry_after_secs
    if any(worked):
        raise Refusal(-2021, "Order cancel-replace partially failed.", status=status, retry_after_secs=wait, data=data)
    raise Refusal(-2022, "Order cancel-replace failed.", status=status, retry_after_secs=wait, data=data)


def amend(call: Call) -> object:
    """Answer PUT order/amend/keepPriority."""
    params, desk, symbol = call.params, call.exchange.orders, call.symbol()
    number, client_id = params.whole("orderId"), read_client_id(params, "origClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("origClientOrderId", "orderId")
    new_id = read_client_id(params, "newClientOrderId") or desk.usual_client_id()
    quantity = read_amount(params, "newQty", needed=True)
    params.finish()
    account = call.exchange.order_account(call.key)
    order = amend_order(desk, account, Named(symbol.name, number, client_id), Amended(quantity, new_id), call.now_ms)
    made, told = order.amendments[-1], order.told()
    amended: Body = {
        "symbol": told.symbol,
        "orderId": told.order_id,
        "orderListId": told.list_id,
        "origClientOrderId": made.earlier_id,
        "clientOrderId": told.client_order_id,
        "price": told.price,
        "qty": told.quantity,
        "executedQty": told.executed,
        "preventedQty": told.prevented,
        "quoteOrderQty": told.quote_quantity,
        "cumulativeQuoteQty": told.executed_value,
        "status": told.status,
        "timeInForce": told.time_in_force,
        "type": told.kind,
        "side": told.side,
        "selfTradePreventionMode": told.self_trade,
    }
    if told.stop_price != ZERO:
        amended["stopPrice"] = told.stop_price
    if told.working_ms != -1:
        amended["workingTime"] = told.working_ms
    body: Body = {"transactTime": call.now_ms, "executionId": made.execution, "amendedOrder": amended}
    listed = desk.records.lists.get(order.list_id)
    if listed is not None:
        left_out = {"listStatusType", "transactionTime"}
        body["listStatus"] = {name: value for name, value in listed.body().items() if name not in left_out}
    return body


def amendments(call: Call) -> object:
    """Answer order/amendments."""
    symbol, number = call.symbol(), call.params.whole("orderId")
    if number is None:
        raise refusals.missing("orderId")
    first, limit = call.params.whole("fromExecutionId") or 0, call.params.limit(500, 1000)
    order = call.exchange.orders.records.orders.get(number)
    if order is None or order.holder != call.exchange.holder(call.key).api_key:
        return []
    made = [one for one in order.amendments if one.execution >= first]
    return [
        {
            "symbol": symbol.name,
            "orderId": number,
            "executionId": one.execution,
            "origClientOrderId": one.earlier_id,
            "newClientOrderId": one.client_order_id,
            "origQty": decimal_string(one.earlier_quantity),
            "newQty": decimal_string(one.quantity),
            "time": one.at_ms,
        }
        for one in made[:limit]
    ]


def _still_open(body: object) -> bool:
    # An amendment lowers the order count only if it ends the order.
    shown = msgspec.convert(body, dict[str, object])["amendedOrder"]
    return msgspec.convert(shown, dict[str, object])["status"] != "EXPIRED"


AMEND_NAMES = ("symbol", "orderId", "origClientOrderId", "newClientOrderId", "newQty")

REPLACING = (
    Endpoint(
        "/api/v3/order/amend/keepPriority",
        (*AMEND_NAMES, *SIGNING),
        flat(4),
        amend,
        signed=True,
        method="PUT",
        costs=_still_open,
    ),
    Endpoint(
        "/api/v3/order/cancelReplace",
        (*REPLACE_NAMES, *SIGNING),
        flat(1),
        cancel_replace,
        signed=True,
        method="POST",
    ),
)

AMENDMENTS = (
    Endpoint(
        "/api/v3/order/amendments",
        ("symbol", "orderId", "fromExecutionId", "limit", *SIGNING),
        flat(4),
        amendments,
        signed=True,
    ),
)
