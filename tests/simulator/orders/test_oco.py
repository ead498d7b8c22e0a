"""Pairs of which one order ends the other: what is taken, what is locked, and what is told."""

import json
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from support.order_lists import around, oco
from support.trader import Trader
from support.ws_api import subscription

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


async def place(trader: Trader, **changes: object) -> httpx2.Response:
    return await trader.send("POST", "orderList/oco", oco(trader, **changes))


async def trade(trader: Trader, price: object, quantity: str, *, sold: bool) -> None:
    body = {"symbol": "BTCUSDT", "price": str(price), "quantity": quantity, "sold": sold}
    assert (await trader.api.post("/control/orders/trade", json=body)).status_code == 200


async def statuses(trader: Trader, *client_ids: str) -> list[str]:
    return [(await trader.order(client_id)).get("status", "none") for client_id in client_ids]


async def test_a_pair_is_answered_as_a_list_and_counts_twice(trader: Trader, exchange: SimulatedExchange) -> None:
    answer = await place(trader)
    body = answer.json()

    assert answer.status_code == 200, answer.text
    assert {name: body[name] for name in ("contingencyType", "listStatusType", "listOrderStatus", "symbol")} == {
        "contingencyType": "OCO",
        "listStatusType": "EXEC_STARTED",
        "listOrderStatus": "EXECUTING",
        "symbol": "BTCUSDT",
    }
    assert (body["listClientOrderId"], body["transactionTime"]) == ("list", exchange.now_ms())
    assert [one["clientOrderId"] for one in body["orders"]] == ["below", "above"]
    below, above = body["orderReports"]
    assert (below["type"], below["status"], below["workingTime"]) == ("STOP_LOSS_LIMIT", "NEW", -1)
    assert (above["type"], above["status"], above["workingTime"]) == ("LIMIT_MAKER", "NEW", exchange.now_ms())
    assert {one["orderListId"] for one in (below, above)} == {body["orderListId"]}
    assert answer.headers["x-mbx-order-count-10s"] == "2"
    assert exchange.meter.used(exchange.now_ms()) == 0
    assert (await trader.api.get("/control/orders")).json()["accepted"] == {"below": 1, "above": 1}


async def test_a_pair_locks_what_one_of_its_orders_needs(trader: Trader) -> None:
    before = await trader.balances()

    await place(trader)
    sells = await trader.balances()
    await place(
        trader,
        side="BUY",
        listClientOrderId="buys",
        aboveType="STOP_LOSS_LIMIT",
        aboveStopPrice=around(trader, "1.02"),
        abovePrice=around(trader, "1.03"),
        aboveTimeInForce="GTC",
        aboveClientOrderId="buy-above",
        belowType="LIMIT_MAKER",
        belowPrice=around(trader, "0.98"),
        belowStopPrice=None,
        belowTimeInForce=None,
        belowClientOrderId="buy-below",
    )
    both = await trader.balances()

    assert sells["BTC"][1] - before["BTC"][1] == Decimal("0.01")
    assert both["USDT"][1] - before["USDT"][1] == around(trader, "1.03") * Decimal("0.01")


async def test_the_first_fill_ends_the_other_order_and_the_last_one_the_list(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    session = WsApiSession(exchange)
    session.receive(subscription(exchange.account, exchange.now_ms()), exchange.now_ms())
    before, price = await trader.balances(), around(trader, "1.02")
    number = (await place(trader)).json()["orderListId"]

    await trade(trader, price, "0.004", sold=False)
    part = await statuses(trader, "above", "below")
    open_lists = (await trader.send("GET", "openOrderList", {})).json()
    await trade(trader, price, "0.006", sold=False)

    assert part == ["PARTIALLY_FILLED", "EXPIRED"]
    assert [one["orderListId"] for one in open_lists] == [number]
    assert (await trader.order("below"))["expiryReason"] == "OCO_TRIGGER"
    after = await trader.balances()
    assert after["BTC"] == (before["BTC"][0] - Decimal("0.01"), before["BTC"][1])
    assert (await trader.send("GET", "openOrderList", {})).json() == []
    events: list[dict[str, Any]] = [json.loads(text)["event"] for text in session.due(exchange.now_ms())]
    reports = [(one["c"], one["x"], one["g"]) for one in events if one["e"] == "executionReport"]
    assert reports == [
        ("below", "NEW", number),
        ("above", "NEW", number),
        ("below", "EXPIRED", number),
        ("above", "TRADE", number),
        ("above", "TRADE", number),
    ]
    lists = [(one["g"], one["c"], one["l"], one["L"], one["C"]) for one in events if one["e"] == "listStatus"]
    assert lists == [
        (number, "OCO", "EXEC_STARTED", "EXECUTING", "list"),
        (number, "OCO", "ALL_DONE", "ALL_DONE", "list"),
    ]
    trades = (await trader.send("GET", "myTrades", {"symbol": "BTCUSDT"})).json()
    assert {one["orderListId"] for one in trades if one["id"] > 10**12} == {number}


async def test_a_trigger_ends_the_other_order(trader: Trader) -> None:
    before = await trader.balances()
    await place(trader)

    await trade(trader, around(trader, "0.98"), "0.01", sold=True)

    assert (await statuses(trader, "above"))[0] == "EXPIRED"
    assert (await statuses(trader, "below"))[0] == "FILLED"  # the book still bids more than its limit
    assert (await trader.balances())["BTC"] == (before["BTC"][0] - Decimal("0.01"), before["BTC"][1])


@pytest.mark.parametrize("named", [{"listClientOrderId": "list"}, {"orderListId": None}])
async def test_a_list_is_cancelled_whole(trader: Trader, named: dict[str, object]) -> None:
    before = await trader.balances()
    placed = (await place(trader)).json()
    which = {name: value or placed[name] for name, value in named.items()}

    answer = (
        await trader.send("DELETE", "orderList", {"symbol": "BTCUSDT", "newClientOrderId": "gone"} | which)
    ).json()

    assert (answer["listStatusType"], answer["listOrderStatus"]) == ("ALL_DONE", "ALL_DONE")
    assert [(one["origClientOrderId"], one["clientOrderId"], one["status"]) for one in answer["orderReports"]] == [
        ("below", "gone", "CANCELED"),
        ("above", "gone", "CANCELED"),
    ]
    assert await statuses(trader, "above", "below") == ["CANCELED", "CANCELED"]
    assert await trader.balances() == before
    again = await trader.send("DELETE", "orderList", {"symbol": "BTCUSDT"} | which)
    assert (again.status_code, again.json()["code"]) == (400, -2011)


async def test_a_cancel_of_one_order_cancels_the_list(trader: Trader) -> None:
    await place(trader)

    answer = (await trader.cancel("above")).json()

    assert [one["status"] for one in answer["orderReports"]] == ["CANCELED", "CANCELED"]
    assert await statuses(trader, "above", "below") == ["CANCELED", "CANCELED"]
    asked = (await trader.send("GET", "orderList", {"origClientOrderId": "list"})).json()
    assert asked["listOrderStatus"] == "ALL_DONE"


async def test_a_cancel_of_one_order_may_be_answered_with_that_order_alone(trader: Trader) -> None:
    await trader.api.post("/control/orders", json={"cancel_tells_list": False})
    number = (await place(trader)).json()["orderListId"]

    answer = (await trader.cancel("above")).json()

    assert (answer["origClientOrderId"], answer["orderListId"], answer["status"]) == ("above", number, "CANCELED")
    assert await statuses(trader, "above", "below") == ["CANCELED", "CANCELED"]


REFUSED: dict[str, tuple[dict[str, object], int, str]] = {
    "prices": ({"abovePrice": "1.00"}, -1013, "PERCENT_PRICE"),
    "above below the last": ({"abovePrice": "lower"}, -2010, "The relationship of the prices"),
    "stop above the last": ({"belowStopPrice": "upper"}, -2010, "The relationship of the prices"),
    "two limits": ({"belowType": "LIMIT_MAKER", "belowStopPrice": None, "belowTimeInForce": None}, -1166, "above"),
    "two stops": ({"aboveType": "STOP_LOSS_LIMIT", "aboveStopPrice": "upper", "aboveTimeInForce": "GTC"}, -1197, ""),
    "a plain limit": ({"aboveType": "LIMIT"}, -1158, "OCO"),
    "too much": ({"quantity": "5"}, -2010, "insufficient balance"),
    "one id twice": ({"aboveClientOrderId": "below"}, -2010, "Duplicate order sent."),
    "a price unknown": ({"aboveStopPrice": "1.00"}, -1106, "aboveStopPrice"),
    "a leg unread": ({"aboveIcebergQty": "1"}, -1104, ""),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_pair_that_breaks_a_rule_leaves_nothing_behind(
    trader: Trader, exchange: SimulatedExchange, case: str
) -> None:
    changes, code, text = REFUSED[case]
    prices = {"lower": around(trader, "0.99"), "upper": around(trader, "1.01")}
    before = await trader.balances()

    answer = await place(trader, **{name: prices.get(str(value), value) for name, value in changes.items()})

    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert text in answer.json()["msg"]
    assert await trader.balances() == before
    assert exchange.orders.accepted == []
    counted = (await trader.send("GET", "rateLimit/order", {})).json()
    assert [row["count"] for row in counted] == [0, 0]


async def test_ids_of_lists_and_of_their_orders_are_refused_while_they_are_open(trader: Trader) -> None:
    await place(trader)

    same_list = await place(trader, aboveClientOrderId="a2", belowClientOrderId="b2")
    same_order = await place(trader, listClientOrderId="other", belowClientOrderId="b2")
    plain = await trader.place(newClientOrderId="above")
    await trader.cancel("below")
    again = await place(trader)

    assert [one.json().get("msg") for one in (same_list, same_order, plain)] == ["Duplicate order sent."] * 3
    assert again.status_code == 200


async def test_a_symbol_that_allows_no_pairs_refuses_them(trader: Trader) -> None:
    flags = {"symbol": "BTCUSDT", "ocoAllowed": False}
    assert (await trader.api.post("/control/orders/flags", json=flags)).json()["ocoAllowed"] is False

    answer = await place(trader)
    told = (await trader.api.get("/api/v3/exchangeInfo?symbol=BTCUSDT")).json()

    assert answer.json() == {"code": -2010, "msg": "OCO orders are not supported for this symbol"}
    assert (told["symbols"][0]["ocoAllowed"], told["symbols"][0]["otoAllowed"]) == (False, True)


async def test_a_list_counts_all_its_orders_before_it_is_taken(trader: Trader) -> None:
    await trader.api.post("/control/orders", json={"orders_10s": 3})

    first = await place(trader)
    second = await place(trader, listClientOrderId="second", aboveClientOrderId="above-2", belowClientOrderId="below-2")

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (429, -1015)


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
async def test_a_pair_happens_or_not_whatever_is_answered(trader: Trader, *, executed: bool) -> None:
    fault = {"kind": "status", "status": 503, "code": -1007, "executed": executed, "path": "/api/v3/orderList/*"}
    await trader.api.post("/control/faults", json=fault)

    answer = await place(trader)

    assert (answer.status_code, answer.json()["code"]) == (503, -1007)
    state = (await trader.api.get("/control/orders")).json()
    assert state["accepted"] == ({"below": 1, "above": 1} if executed else {})
    assert [one["listClientOrderId"] for one in state["lists"]] == (["list"] if executed else [])


@pytest.mark.parametrize(
    ("name", "field"), [("ORDERS", "Orders"), ("ALGO_ORDERS", "AlgoOrders"), ("ORDER_LISTS", "OrderLists")]
)
async def test_an_account_may_have_so_many_open_and_no_more(
    trader: Trader, exchange: SimulatedExchange, name: str, field: str
) -> None:
    opened = (await trader.send("GET", "openOrders", {"symbol": "BTCUSDT"})).json()
    stops = sum(one["type"] == "STOP_LOSS_LIMIT" for one in opened)
    most = {"ORDERS": len(opened) + 3, "ALGO_ORDERS": stops + 1, "ORDER_LISTS": 1}[name]
    record = next(one for one in exchange.listing.records if one["symbol"] == "BTCUSDT")
    record["filters"] = [{"filterType": f"MAX_NUM_{name}", f"maxNum{field}": most}]

    first = await place(trader)
    second = await place(trader, listClientOrderId="second", aboveClientOrderId="a2", belowClientOrderId="b2")

    assert first.status_code == 200, first.text
    assert second.json() == {"code": -1013, "msg": f"Filter failure: MAX_NUM_{name}"}
