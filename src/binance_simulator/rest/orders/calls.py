"""Endpoints that place, test and cancel an order."""

from binance_simulator import refusals
from binance_simulator.market.portfolio import ZERO, Order
from binance_simulator.orders.desk import Named
from binance_simulator.orders.execution import Execution
from binance_simulator.orders.order import Wanted
from binance_simulator.refusals import Refusal
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.orders.parameters import read_client_id, read_order
from binance_simulator.rest.private import COMMISSION, DISCOUNT, NO_COMMISSION
from binance_simulator.rest.signing import SIGNING, Params

USUAL_RESPONSES = {"LIMIT": "FULL", "MARKET": "FULL"}
RESPONSES = frozenset({"ACK", "RESULT", "FULL"})
ORDER_NAMES = (
    "symbol",
    "side",
    "type",
    "timeInForce",
    "quantity",
    "price",
    "stopPrice",
    "trailingDelta",
    "newClientOrderId",
    "newOrderRespType",
    "selfTradePreventionMode",
    "quoteOrderQty",
    "icebergQty",
    "pegPriceType",
    "pegOffsetType",
    "pegOffsetValue",
    "strategyId",
    "strategyType",
)


def new_order(call: Call) -> object:
    """Answer POST order."""
    desk, symbol, response = call.exchange.orders, call.symbol(), read_response(call.params)
    wanted = read_order(call.params, symbol, desk.rules(symbol), desk.usual_client_id())
    call.params.finish()
    account = call.exchange.order_account(call.key)
    desk.ledger.spend(account.holder, call.now_ms)
    return place_counted(call, wanted, response)


def place_counted(call: Call, wanted: Wanted, response: str | None) -> dict[str, object]:
    """Place an order that is already counted and return the answer. If it is refused, lower the count."""
    desk, account = call.exchange.orders, call.exchange.order_account(call.key)
    before = desk.records.executions.newest
    try:
        order = desk.place(account, wanted, call.now_ms)
    except Refusal:
        desk.ledger.give_back(account.holder, call.now_ms)
        raise
    call.headers.update(desk.ledger.headers(account.holder, call.now_ms))
    executions = desk.records.executions.since(before, account.holder)
    own = [one for one in executions if one.order.order_id == order.number]
    return answer_of(order.told(), own, response or USUAL_RESPONSES.get(wanted.kind, "ACK"))


def try_order(call: Call) -> object:
    """Answer POST order/test. It does all checks before the matching engine."""
    desk, symbol = call.exchange.orders, call.symbol()
    read_response(call.params)
    wanted = read_order(call.params, symbol, desk.rules(symbol), desk.usual_client_id())
    rates = call.params.flag("computeCommissionRates", usual=False)
    account = call.exchange.order_account(call.key)
    desk.check(account, desk.settled(account, wanted, call.now_ms), call.now_ms)
    if not rates:
        return {}
    shown = ("maker", "taker")
    return {
        "standardCommissionForOrder": {name: COMMISSION[name] for name in shown},
        "specialCommissionForOrder": {name: NO_COMMISSION[name] for name in shown},
        "taxCommissionForOrder": {name: NO_COMMISSION[name] for name in shown},
        "discount": DISCOUNT,
    }


def cancel_order(call: Call) -> object:
    """Answer DELETE order. The list of the order is cancelled too."""
    symbol, number = call.symbol(), call.params.whole("orderId")
    client_id = read_client_id(call.params, "origClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("origClientOrderId", "orderId")
    desk = call.exchange.orders
    cancel_id = read_client_id(call.params, "newClientOrderId") or desk.usual_client_id()
    only = read_restriction(call.params)
    call.params.finish()
    named = Named(symbol.name, number, client_id, only)
    order = desk.cancel(call.exchange.order_account(call.key), named, cancel_id, call.now_ms)
    return cancelled(call, order, cancel_id, whole=desk.cancel_tells_list)


def cancel_open_orders(call: Call) -> object:
    """Answer DELETE openOrders: the orders without a list, and the lists."""
    symbol, desk = call.symbol(), call.exchange.orders
    call.params.finish()
    cancel_id = desk.usual_client_id()
    gone = desk.cancel_all(call.exchange.order_account(call.key), symbol.name, cancel_id, call.now_ms)
    return [cancelled(call, order, cancel_id) for order in gone]


def read_restriction(params: Params) -> str | None:
    """Read the status that an order must have for a cancel."""
    restriction = params.text("cancelRestrictions")
    if restriction not in {None, "ONLY_NEW", "ONLY_PARTIALLY_FILLED"}:
        raise Refusal(-1145, "cancelRestrictions has to be either ONLY_NEW or ONLY_PARTIALLY_FILLED.")
    return None if restriction is None else restriction.removeprefix("ONLY_")


def cancelled(call: Call, order: Order, cancel_id: str, *, whole: bool = True) -> dict[str, object]:
    """Return the answer to the cancel of an order or of its list."""
    listed = call.exchange.orders.records.lists.get(order.list_id)
    if listed is None or not whole:
        return _cancelled(order, cancel_id)
    gone = [one.told() for one in listed.orders if one.status == "CANCELED"]
    return listed.body() | {"orderReports": [_cancelled(one, cancel_id) for one in gone]}


def _cancelled(order: Order, cancel_id: str) -> dict[str, object]:
    body = answer_of(order, [], "RESULT")
    del body["workingTime"]
    return {"symbol": order.symbol, "origClientOrderId": order.client_order_id} | body | {"clientOrderId": cancel_id}


def answer_of(order: Order, executions: list[Execution], response: str) -> dict[str, object]:
    """Return an order in the format of write answers."""
    body: dict[str, object] = {
        "symbol": order.symbol,
        "orderId": order.order_id,
        "orderListId": order.list_id,
        "clientOrderId": order.client_order_id,
        "transactTime": order.updated_ms,
    }
    if response == "ACK":
        return body
    body |= {
        "price": order.price,
        "origQty": order.quantity,
        "executedQty": order.executed,
        "origQuoteOrderQty": order.quote_quantity,
        "cummulativeQuoteQty": order.executed_value,
        "status": order.status,
        "timeInForce": order.time_in_force,
        "type": order.kind,
        "side": order.side,
        "workingTime": order.working_ms,
        "selfTradePreventionMode": order.self_trade,
    }
    if order.released_ms == -1 and order.quantity == ZERO:
        del body["origQty"]  # the order sells the amount that its working order buys
    if response == "FULL":
        body["fills"] = [_fill(one) for one in executions if one.kind == "TRADE"]
    if order.stop_price != ZERO:
        body["stopPrice"] = order.stop_price
    if order.prevented_match_id is not None:
        body |= {"preventedMatchId": order.prevented_match_id, "preventedQuantity": order.prevented}
    if order.iceberg != ZERO:
        body["icebergQty"] = order.iceberg
    if order.expiry_reason is not None:
        body["expiryReason"] = order.expiry_reason
    return body | order.label


def _fill(execution: Execution) -> dict[str, object]:
    return {
        "price": execution.last_price,
        "qty": execution.last_quantity,
        "commission": execution.commission,
        "commissionAsset": execution.commission_asset,
        "tradeId": execution.trade_id,
    }


def read_response(params: Params) -> str | None:
    """Read the requested level of detail of the answer."""
    value = params.text("newOrderRespType")
    if value is not None and value not in RESPONSES:
        raise refusals.bad_value("newOrderRespType")
    return value


def _test_weight(params: Params) -> int:
    return 20 if params.peek("computeCommissionRates") == "true" else 1


CANCEL_NAMES = ("symbol", "orderId", "origClientOrderId", "newClientOrderId", "cancelRestrictions")

WRITES = (
    Endpoint("/api/v3/order", (*ORDER_NAMES, *SIGNING), flat(1), new_order, signed=True, method="POST"),
    Endpoint("/api/v3/order", (*CANCEL_NAMES, *SIGNING), flat(1), cancel_order, signed=True, method="DELETE"),
    Endpoint("/api/v3/openOrders", ("symbol", *SIGNING), flat(1), cancel_open_orders, signed=True, method="DELETE"),
    Endpoint(
        "/api/v3/order/test",
        (*ORDER_NAMES, "computeCommissionRates", *SIGNING),
        _test_weight,
        try_order,
        signed=True,
        method="POST",
        costs=lambda _: True,
    ),
)
