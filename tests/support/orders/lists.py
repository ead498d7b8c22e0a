"""Lists, replacements and amendments, and the exchange's answer to each.

Shapes are taken from the exchange's documents, independently of the product.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    ListShape,
    Replacement,
    Side,
    Target,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.domain.symbols import Symbol

Body = dict[str, Any]

SYMBOL, LIST_ID = Symbol("BTCUSDT"), "mbt-abcdefghijklmnopqrst"
OLD_ID, NEW_ID = "mbt-theoldorderofourssss", "mbt-theneworderofourssss"
LIST_NUMBER, OLD_NUMBER, NEW_NUMBER, FIRST_NUMBER = 88_100, 41_231, 41_600, 500
NOW_MS = 1_794_240_000_123
QUANTITY = Quantity(Decimal("0.01000"))
NOTHING = "0.00000000"
# Where the orders of a list stand among the parameters of its request.
PLACES: Mapping[ListShape, tuple[str, ...]] = {
    "OCO": ("above", "below"),
    "OTO": ("working", "pending"),
    "OTOCO": ("working", "pendingAbove", "pendingBelow"),
    "OPO": ("working", "pending"),
    "OPOCO": ("working", "pendingAbove", "pendingBelow"),
}

SHAPES: Mapping[str, ListShape] = {f"orderList/{shape.lower()}": shape for shape in PLACES}


def limit(client_order_id: str, side: Side = "BUY", price: str = "61000.00") -> WrittenOrder:
    return WrittenOrder(client_order_id, SYMBOL, side, "LIMIT", "GTC", QUANTITY, Price(Decimal(price)))


def exits(side: Side = "SELL") -> tuple[WrittenOrder, WrittenOrder]:
    """Return what ends a position, above and below the market: a sale gains above, a purchase below."""
    gain, loss = ("-a", "-b") if side == "SELL" else ("-b", "-a")
    gain_price, stop, beyond = ("66000", "58000", "57900") if side == "SELL" else ("58000", "66000", "66100")
    made = {
        gain: WrittenOrder(LIST_ID + gain, SYMBOL, side, "LIMIT_MAKER", "GTC", QUANTITY, Price(Decimal(gain_price))),
        loss: WrittenOrder(
            LIST_ID + loss,
            SYMBOL,
            side,
            "STOP_LOSS_LIMIT",
            "GTC",
            QUANTITY,
            Price(Decimal(beyond)),
            Price(Decimal(stop)),
        ),
    }
    return made["-a"], made["-b"]


ABOVE, BELOW = exits()
ENTRY = limit(f"{LIST_ID}-w")
LISTS: Mapping[ListShape, WrittenList] = {
    "OCO": WrittenList(LIST_ID, "OCO", (ABOVE, BELOW)),
    "OTO": WrittenList(LIST_ID, "OTO", (ENTRY, BELOW)),
    "OTOCO": WrittenList(LIST_ID, "OTOCO", (ENTRY, ABOVE, BELOW)),
    "OPO": WrittenList(LIST_ID, "OPO", (ENTRY, ABOVE)),
    "OPOCO": WrittenList(LIST_ID, "OPOCO", (ENTRY, ABOVE, BELOW)),
}


def trailing_list(listed: WrittenList, trailing_bps: int = 150) -> WrittenList:
    """Return the same list with a stop that trails."""
    changes = {"stop_price": None, "trailing_bps": trailing_bps}
    return replace(listed, orders=tuple(replace(each, **changes) if each.is_stop else each for each in listed.orders))


LIST_TARGET = Target(SYMBOL, LIST_ID, is_list=True)
REPLACEMENT = Replacement(Target(SYMBOL, OLD_ID, OLD_NUMBER), limit(NEW_ID, price="60500.00"))
AMENDMENT = Amendment(Target(SYMBOL, OLD_ID, OLD_NUMBER), Quantity(Decimal("0.00800")))


def order_body(client_order_id: str, number: int, **changed: Any) -> Body:  # noqa: ANN401 - JSON
    """Return what is said of an order that was placed and rests."""
    told = {
        "symbol": "BTCUSDT",
        "orderId": number,
        "orderListId": -1,
        "clientOrderId": client_order_id,
        "transactTime": NOW_MS,
        "price": "61000.00000000",
        "origQty": "0.01000000",
        "executedQty": NOTHING,
        "origQuoteOrderQty": NOTHING,
        "cummulativeQuoteQty": NOTHING,
        "status": "NEW",
        "timeInForce": "GTC",
        "type": "LIMIT",
        "side": "BUY",
        "selfTradePreventionMode": "EXPIRE_MAKER",
    }
    return {**told, **changed}


def cancelled_body(client_order_id: str, number: int, cancel_id: str, **changed: Any) -> Body:  # noqa: ANN401 - JSON
    told = order_body(cancel_id, number, status="CANCELED", origClientOrderId=client_order_id)
    return {**told, **changed}


def list_body(sent: Mapping[str, str], shape: ListShape) -> Body:
    """Return what is said to a list, by the parameters of its request; orders below come before those above."""
    told = [_leg_body(sent, shape, place, number) for number, place in enumerate(PLACES[shape], FIRST_NUMBER)]
    return _list_of(told[:1] + told[:0:-1], sent["listClientOrderId"], "OCO" if shape == "OCO" else "OTO")


def _leg_body(sent: Mapping[str, str], shape: ListShape, place: str, number: int) -> Body:
    is_pending = place.startswith("pending")
    side = sent["side"] if shape == "OCO" else sent["pendingSide" if is_pending else "workingSide"]
    told = order_body(
        sent[f"{place}ClientOrderId"],
        number,
        orderListId=LIST_NUMBER,
        price=sent[f"{place}Price"],
        side=side,
        type=sent[f"{place}Type"],
        timeInForce=sent.get(f"{place}TimeInForce", "GTC"),
        status="PENDING_NEW" if is_pending else "NEW",
    )
    quantity = sent.get("quantity") or sent.get("pendingQuantity" if is_pending else "workingQuantity")
    told["origQty"] = quantity
    if quantity is None:
        del told["origQty"]  # nobody knows it before the entry is filled
    if (stop_price := sent.get(f"{place}StopPrice")) is not None:
        told["stopPrice"] = stop_price
    if (delta := sent.get(f"{place}TrailingDelta")) is not None:
        told |= {"trailingDelta": int(delta), "trailingTime": -1}
    return told


def cancelled_list_body(cancel_id: str, orders: tuple[WrittenOrder, ...] = (ABOVE, BELOW)) -> Body:
    """Return what is said to the cancel of a list."""
    told = [
        cancelled_body(
            order.client_order_id,
            number,
            cancel_id,
            orderListId=LIST_NUMBER,
            price=f"{order.price:.8f}",
            side=order.side,
            type=order.kind,
        )
        for number, order in enumerate(orders, FIRST_NUMBER)
    ]
    return {**_list_of(told, LIST_ID, "OCO"), "listStatusType": "ALL_DONE", "listOrderStatus": "ALL_DONE"}


def _list_of(reports: list[Body], list_id: str, contingency: str) -> Body:
    named = [
        {
            "symbol": each["symbol"],
            "orderId": each["orderId"],
            "clientOrderId": each.get("origClientOrderId", each["clientOrderId"]),
        }
        for each in reports
    ]
    return {
        "orderListId": LIST_NUMBER,
        "contingencyType": contingency,
        "listStatusType": "EXEC_STARTED",
        "listOrderStatus": "EXECUTING",
        "listClientOrderId": list_id,
        "transactionTime": NOW_MS,
        "symbol": "BTCUSDT",
        "orders": named,
        "orderReports": reports,
    }


def replaced_body(sent: Mapping[str, str], **changed: Any) -> Body:  # noqa: ANN401 - JSON
    """Return what is said to a replacement of which both halves were done."""
    new = order_body(sent["newClientOrderId"], NEW_NUMBER, price=sent["price"], side=sent["side"], type=sent["type"])
    told: Body = {
        "cancelResult": "SUCCESS",
        "newOrderResult": "SUCCESS",
        "cancelResponse": cancelled_body(OLD_ID, OLD_NUMBER, sent["cancelNewClientOrderId"]),
        "newOrderResponse": {**new, "origQty": sent["quantity"], "fills": []},
    }
    return {**told, **changed}


def half_replaced_body(code: int, **changed: Any) -> Body:  # noqa: ANN401 - JSON
    """Return what is said to a replacement of which a half was not done: the cancel (-2022), or the order (-2021)."""
    if code == -2022:
        refused = {"code": -2011, "msg": "Unknown order sent."}
        halves: Body = {"cancelResult": "FAILURE", "newOrderResult": "NOT_ATTEMPTED", "cancelResponse": refused}
        return {
            "code": code,
            "msg": "Order cancel-replace failed.",
            "data": {**halves, "newOrderResponse": None} | changed,
        }
    halves = {
        "cancelResult": "SUCCESS",
        "newOrderResult": "FAILURE",
        "cancelResponse": cancelled_body(OLD_ID, OLD_NUMBER, f"{OLD_ID}-c"),
        "newOrderResponse": {"code": -2010, "msg": "Order would immediately match and take."},
    }
    return {"code": code, "msg": "Order cancel-replace partially failed.", "data": {**halves, **changed}}


def amended_body(sent: Mapping[str, str], **changed: Any) -> Body:  # noqa: ANN401 - JSON
    """Return what is said to a smaller quantity: two members are spelt otherwise than in every other answer."""
    told = order_body(sent["newClientOrderId"], OLD_NUMBER, origClientOrderId=OLD_ID)
    kept = {name: value for name, value in told.items() if name not in ("origQty", "transactTime", "origQuoteOrderQty")}
    del kept["cummulativeQuoteQty"]
    amended = {**kept, "qty": sent["newQty"], "cumulativeQuoteQty": NOTHING, "preventedQty": NOTHING}
    return {"transactTime": NOW_MS, "executionId": 90_111, "amendedOrder": {**amended, **changed}}
