"""Endpoints of order lists: place, cancel and query."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

from binance_simulator import refusals
from binance_simulator.market.listing import Symbol
from binance_simulator.market.prices import DAY_MS
from binance_simulator.orders.desk import Named
from binance_simulator.orders.lists import OrderList, WantedList
from binance_simulator.orders.order import Wanted
from binance_simulator.orders.rules import SymbolRules, rejected
from binance_simulator.refusals import Refusal
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.orders.calls import answer_of, cancelled, read_response
from binance_simulator.rest.orders.parameters import OrderNames, read_client_id, read_leg
from binance_simulator.rest.signing import SIGNING, Params

Body = dict[str, object]

LEG_NAMES = ("Type", "ClientOrderId", "Price", "StopPrice", "TrailingDelta", "TimeInForce")
LIST_NAMES = ("symbol", "listClientOrderId", "newOrderRespType", "selfTradePreventionMode")
PAIR_TYPES = frozenset({"STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT", "LIMIT_MAKER"})
FORMER_NAMES = (
    "side",
    "quantity",
    "limitClientOrderId",
    "price",
    "stopClientOrderId",
    "stopPrice",
    "stopLimitPrice",
    "stopLimitTimeInForce",
    "trailingDelta",
)
WORKING_NAMES = ("workingSide", "workingQuantity")
WORKING_TYPES = frozenset({"LIMIT", "LIMIT_MAKER"})


def new_oco(call: Call) -> object:
    """Answer POST orderList/oco."""
    return _place(call, _read_oco)


def _place(call: Call, read: Callable[[Call, Symbol, SymbolRules, str], WantedList]) -> Body:
    desk, lists, symbol = call.exchange.orders, call.exchange.order_lists, call.symbol()
    response, rules = read_response(call.params) or "RESULT", desk.rules(symbol)
    client_id = read_client_id(call.params, "listClientOrderId") or lists.usual_client_id()
    wanted = read(call, symbol, rules, client_id)
    call.params.finish()
    account, count = call.exchange.order_account(call.key), len(wanted.orders)
    desk.ledger.spend(account.holder, call.now_ms, count)
    before = desk.records.executions.newest
    try:
        listed = lists.place(account, wanted, call.now_ms)
    except Refusal:
        desk.ledger.give_back(account.holder, call.now_ms, count)
        raise
    # Build the answer first: it shows pending orders as pending even if the working order fills immediately.
    placed = listed.body() | {"transactionTime": call.now_ms}
    pending = {order.number: order.told() for order in listed.pending}
    lists.start(listed, call.now_ms)
    call.headers.update(desk.ledger.headers(account.holder, call.now_ms))
    executions = desk.records.executions.since(before, account.holder)
    orders = [pending.get(order.number) or order.told() for order in listed.orders]
    own = {order.order_id: [one for one in executions if one.order.order_id == order.order_id] for order in orders}
    return placed | {"orderReports": [answer_of(order, own[order.order_id], response) for order in orders]}


def _read_oco(call: Call, symbol: Symbol, rules: SymbolRules, client_id: str) -> WantedList:
    if not rules.oco_allowed:
        raise rejected("OCO orders are not supported for this symbol")
    pair = _read_pair(call, symbol, rules, ("above", "below"), side="side", quantity="quantity", first=0)
    return WantedList(client_list_id=client_id, working=None, others=pair)


def new_oto(call: Call) -> object:
    """Answer POST orderList/oto."""
    return _place(call, partial(_read_oto, pair=False, pays=False))


def new_otoco(call: Call) -> object:
    """Answer POST orderList/otoco."""
    return _place(call, partial(_read_oto, pair=True, pays=False))


def new_opo(call: Call) -> object:
    """Answer POST orderList/opo."""
    return _place(call, partial(_read_oto, pair=False, pays=True))


def new_opoco(call: Call) -> object:
    """Answer POST orderList/opoco."""
    return _place(call, partial(_read_oto, pair=True, pays=True))


def _read_oto(call: Call, symbol: Symbol, rules: SymbolRules, client_id: str, *, pair: bool, pays: bool) -> WantedList:
    for allowed, name in ((rules.oto_allowed, "OTO"), (rules.opo_allowed or not pays, "OPO")):
        if not allowed:
            raise rejected(f"{name} orders are not supported for this symbol.")
    if pair and not rules.oco_allowed:
        raise rejected("OCO orders are not supported for this symbol")
    usual = call.exchange.orders.usual_client_id
    names = OrderNames("working", "workingSide", "workingQuantity", WORKING_TYPES)
    working = read_leg(call.params, names, symbol, rules, usual())
    quantity = None if pays else "pendingQuantity"
    if pair:
        places = ("pendingAbove", "pendingBelow")
        others = _read_pair(call, symbol, rules, places, side="pendingSide", quantity=quantity, first=1)
    else:
        others = (read_leg(call.params, OrderNames("pending", "pendingSide", quantity), symbol, rules, usual(1)),)
    if pays and not working.buys:
        raise Refusal(-1222, "Working order in an OPO list must be a bid.")
    if pays and others[0].buys:
        raise Refusal(-1223, "Pending orders in an OPO list must be asks.")
    return WantedList(client_list_id=client_id, working=working, others=others, pays=pays)


def _read_pair(
    call: Call,
    symbol: Symbol,
    rules: SymbolRules,
    places: tuple[str, str],
    *,
    side: str,
    quantity: str | None,
    first: int,
) -> tuple[Wanted, Wanted]:
    """Read the two orders of a pair. Return the stop loss first."""
    for place in places:
        if call.params.required(f"{place}Type") not in PAIR_TYPES:
            raise Refusal(-1158, "Order type not supported in OCO.")
    above, below = (
        read_leg(
            call.params,
            OrderNames(place, side, quantity),
            symbol,
            rules,
            call.exchange.orders.usual_client_id(first + number),
        )
        for number, place in enumerate(places)
    )
    upper, lower = ("stop loss", "profit") if above.buys else ("profit", "stop loss")
    _check_place(above, upper)
    _check_place(below, lower)
    if not above.conditional and not below.conditional:
        raise Refusal(-1168, "At least one OCO order must be contingent.")
    return (above, below) if above.buys else (below, above)


def _check_place(order: Wanted, place: str) -> None:
    """Check that the stop loss is on the losing side of the price, and the other order on the opposite side."""
    side = "buy" if order.buys else "sell"
    if order.kind.startswith("STOP_LOSS") == (place == "stop loss"):
        return
    if order.kind.startswith("STOP_LOSS"):
        code, where = (-1196, "above") if order.buys else (-1197, "below")
        raise Refusal(code, f"A stop loss order in a {side} OCO must be {where}.")
    where = "below" if order.buys else "above"
    if order.kind == "LIMIT_MAKER":
        raise Refusal(-1165 if order.buys else -1166, f"A limit order in a {side} OCO must be {where}.")
    raise Refusal(-1198 if order.buys else -1199, f"A take profit order in a {side} OCO must be {where}.")


def cancel_list(call: Call) -> object:
    """Answer DELETE orderList."""
    symbol, number = call.symbol(), call.params.whole("orderListId")
    client_id = read_client_id(call.params, "listClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("orderListId", "listClientOrderId")
    cancel_id = read_client_id(call.params, "newClientOrderId") or call.exchange.orders.usual_client_id()
    call.params.finish()
    account = call.exchange.order_account(call.key)
    named = Named(symbol.name, number, client_id)
    listed = call.exchange.order_lists.cancel(account, named, cancel_id, call.now_ms)
    return cancelled(call, listed.orders[0].told(), cancel_id)


def one_list(call: Call) -> object:
    """Answer orderList."""
    number, client_id = call.params.whole("orderListId"), call.params.text("origClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("orderListId", "origClientOrderId")
    call.exchange.orders.engine.settle(call.now_ms)
    listed = call.exchange.order_lists.find(call.exchange.holder(call.key).api_key, number, client_id)
    if listed is None or not call.exchange.orders.visible(listed.orders[0].told(), call.now_ms):
        raise refusals.no_such_order()
    return listed.body()


def open_lists(call: Call) -> object:
    """Answer openOrderList."""
    call.exchange.orders.engine.settle(call.now_ms)
    holder = call.exchange.holder(call.key).api_key
    lists: list[OrderList] = [*call.exchange.orders.records.lists.values()]
    return [listed.body() for listed in lists if listed.holder == holder and not listed.done]


def all_lists(call: Call) -> object:
    """Answer allOrderList: from a list on, inside a day, or the newest."""
    limit, first, (start_ms, end_ms) = call.params.limit(500, 1000), call.params.whole("fromId"), call.span()
    if first is not None and (start_ms is not None or end_ms is not None):
        raise refusals.bad_combination()
    if start_ms is not None and end_ms is not None and end_ms - start_ms > DAY_MS:
        raise refusals.too_many_hours()
    call.exchange.orders.engine.settle(call.now_ms)
    holder = call.exchange.holder(call.key).api_key
    lists = [one for one in call.exchange.orders.records.lists.values() if one.holder == holder]
    latest_ms = call.now_ms if end_ms is None else end_ms
    inside = [one for one in lists if one.number >= (first or 0) and (start_ms or 0) <= one.placed_ms <= latest_ms]
    oldest_first = first is not None or start_ms is not None
    return [one.body() for one in (inside[:limit] if oldest_first else inside[-limit:])]


def new_former_oco(call: Call) -> object:
    """Answer POST order/oco, the deprecated form of orderList/oco with other parameter names."""
    params = call.params
    limit, stop = ("above", "below") if params.required("side") == "SELL" else ("below", "above")
    is_limited = params.peek("stopLimitPrice") is not None
    names = {
        "limitClientOrderId": f"{limit}ClientOrderId",
        "price": f"{limit}Price",
        "stopClientOrderId": f"{stop}ClientOrderId",
        "stopPrice": f"{stop}StopPrice",
        "stopLimitPrice": f"{stop}Price",
        "stopLimitTimeInForce": f"{stop}TimeInForce",
        "trailingDelta": f"{stop}TrailingDelta",
    }
    known = [name for name in (*FORMER_NAMES, *LIST_NAMES) if params.text(name) is not None]
    params.finish()
    pairs = [(names.get(name, name), value) for name, value in params.pairs if name in known]
    kind = "STOP_LOSS_LIMIT" if is_limited else "STOP_LOSS"
    pairs += [(f"{limit}Type", "LIMIT_MAKER"), (f"{stop}Type", kind)]
    return _place(replace(call, params=Params(urlencode(pairs).encode())), _read_oco)


def _names(*places: str) -> tuple[str, ...]:
    return (*LIST_NAMES, *(f"{place}{name}" for place in places for name in LEG_NAMES), *SIGNING)


def _new(kind: str, names: tuple[str, ...], answer: Callable[[Call], object]) -> Endpoint:
    return Endpoint(f"/api/v3/orderList/{kind}", names, flat(1), answer, signed=True, method="POST")


LIST_WRITES = (
    Endpoint(
        "/api/v3/order/oco",
        (*FORMER_NAMES, *LIST_NAMES, *SIGNING),
        flat(1),
        new_former_oco,
        signed=True,
        method="POST",
    ),
    _new("oco", ("side", "quantity", *_names("above", "below")), new_oco),
    _new("oto", (*WORKING_NAMES, "pendingSide", "pendingQuantity", *_names("working", "pending")), new_oto),
    _new(
        "otoco",
        (*WORKING_NAMES, "pendingSide", "pendingQuantity", *_names("working", "pendingAbove", "pendingBelow")),
        new_otoco,
    ),
    _new("opo", (*WORKING_NAMES, "pendingSide", *_names("working", "pending")), new_opo),
    _new("opoco", (*WORKING_NAMES, "pendingSide", *_names("working", "pendingAbove", "pendingBelow")), new_opoco),
    Endpoint(
        "/api/v3/orderList",
        ("symbol", "orderListId", "listClientOrderId", "newClientOrderId", *SIGNING),
        flat(1),
        cancel_list,
        signed=True,
        method="DELETE",
    ),
)
LIST_READS = (
    Endpoint("/api/v3/orderList", ("orderListId", "origClientOrderId", *SIGNING), flat(4), one_list, signed=True),
    Endpoint("/api/v3/openOrderList", SIGNING, flat(6), open_lists, signed=True),
    Endpoint(
        "/api/v3/allOrderList",
        ("fromId", "startTime", "endTime", "limit", *SIGNING),
        flat(20),
        all_lists,
        signed=True,
    ),
)
