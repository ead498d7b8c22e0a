"""An open order made smaller: it keeps its number and its place, and everything else follows."""

import json
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from support.order_lists import oco, oto
from support.trader import Trader
from support.ws_api import subscription

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


async def amend(trader: Trader, client_order_id: str, quantity: str, **changes: object) -> httpx2.Response:
    usual = {"symbol": "BTCUSDT", "origClientOrderId": client_order_id, "newQty": quantity}
    return await trader.send("PUT", "order/amend/keepPriority", usual | changes)


async def trade(trader: Trader, price: object, quantity: str) -> None:
    body = {"symbol": "BTCUSDT", "price": str(price), "quantity": quantity, "sold": True}
    assert (await trader.api.post("/control/orders/trade", json=body)).status_code == 200


def heard(session: WsApiSession, exchange: SimulatedExchange) -> list[dict[str, Any]]:
    return [json.loads(text)["event"] for text in session.due(exchange.now_ms())]


async def test_a_smaller_order_keeps_its_number_and_frees_what_it_no_longer_needs(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    session = WsApiSession(exchange)
    session.receive(subscription(exchange.account, exchange.now_ms()), exchange.now_ms())
    before, price = await trader.balances(), trader.far_below()
    placed = (await trader.place(newClientOrderId="one", price=price)).json()
    used = exchange.meter.used(exchange.now_ms())

    answer = await amend(trader, "one", "0.004", newClientOrderId="one")
    body = answer.json()

    assert answer.status_code == 200, answer.text
    assert exchange.meter.used(exchange.now_ms()) == used + 4  # an amendment costs its weight
    order = body["amendedOrder"]
    assert (order["orderId"], order["orderListId"]) == (placed["orderId"], -1)
    assert (order["origClientOrderId"], order["clientOrderId"], order["qty"]) == ("one", "one", "0.00400000")
    assert (order["status"], order["workingTime"], "listStatus" in body) == ("NEW", placed["workingTime"], False)
    assert (await trader.balances())["USDT"][1] - before["USDT"][1] == price * Decimal("0.004")
    report = [one for one in heard(session, exchange) if one["e"] == "executionReport"][-1]
    assert (report["x"], report["X"], report["c"], report["C"]) == ("REPLACED", "NEW", "one", "one")
    assert (report["q"], report["I"]) == ("0.00400000", body["executionId"])
    assert (await trader.send("GET", "rateLimit/order", {})).json()[0]["count"] == 1
    state = (await trader.api.get("/control/orders")).json()
    assert (state["accepted"], len(state["amended"])) == ({"one": 1}, 1)


async def test_an_amended_order_is_served_before_those_behind_it_and_a_replaced_one_after(
    trader: Trader, guest: Trader
) -> None:
    price = trader.far_below()
    await trader.place(newClientOrderId="first", price=price)
    await guest.place(newClientOrderId="second", price=price)

    await amend(trader, "first", "0.006", newClientOrderId="first")
    await trade(trader, price, "0.002")
    amended, behind = (await trader.order("first"))["executedQty"], (await guest.order("second"))["executedQty"]
    await trader.send(
        "POST",
        "order/cancelReplace",
        {
            "symbol": "BTCUSDT",
            "side": "BUY",
            "type": "LIMIT",
            "timeInForce": "GTC",
            "quantity": "0.004",
            "price": price,
            "cancelReplaceMode": "STOP_ON_FAILURE",
            "cancelOrigClientOrderId": "first",
            "newClientOrderId": "third",
        },
    )
    await trade(trader, price, "0.002")

    assert (amended, behind) == ("0.00200000", "0.00000000")
    assert (await guest.order("second"))["executedQty"] == "0.00200000"
    assert (await trader.order("third"))["executedQty"] == "0.00000000"


async def test_an_order_without_a_new_id_gets_one(trader: Trader) -> None:
    number = (await trader.place(newClientOrderId="one")).json()["orderId"]

    first = (await amend(trader, "one", "0.009")).json()["amendedOrder"]
    second = (await amend(trader, first["clientOrderId"], "0.008", newClientOrderId="two")).json()["amendedOrder"]
    made = (await trader.send("GET", "order/amendments", {"symbol": "BTCUSDT", "orderId": number})).json()

    assert first["clientOrderId"] not in {"one", "two"}
    assert (await trader.order("one"))["code"] == -2013
    assert (await trader.order("two"))["origQty"] == second["qty"] == "0.00800000"
    assert [(one["origClientOrderId"], one["newClientOrderId"], one["origQty"], one["newQty"]) for one in made] == [
        ("one", first["clientOrderId"], "0.01000000", "0.00900000"),
        (first["clientOrderId"], "two", "0.00900000", "0.00800000"),
    ]


async def test_an_order_is_amended_ten_times_and_no_more(trader: Trader) -> None:
    await trader.place(newClientOrderId="one", quantity="0.02")

    answers = [await amend(trader, "one", f"0.0{199 - step}", newClientOrderId="one") for step in range(11)]

    assert [one.status_code for one in answers] == [200] * 10 + [400]
    assert answers[-1].json() == {"code": -2038, "msg": "Filter failure: MAX_NUM_ORDER_AMENDS"}
    assert (await trader.order("one"))["origQty"] == "0.01900000"


REFUSED: dict[str, tuple[str, str, dict[str, object], int, str]] = {
    "larger": ("one", "0.02", {}, -2038, "quantity increase"),
    "the same": ("one", "0.01", {}, -2038, "would change no state"),
    "unknown": ("none", "0.005", {}, -2038, "Unknown order sent."),
    "too small": ("one", "0.00001", {}, -1013, "NOTIONAL"),
    "nothing": ("one", "0", {}, -1013, "LOT_SIZE"),
    "an id in use": ("one", "0.005", {"newClientOrderId": "demo-4"}, -2038, "Duplicate order sent."),
    "no quantity": ("one", "0.005", {"newQty": None}, -1102, "newQty"),
    "no order": ("one", "0.005", {"origClientOrderId": None}, -1102, "orderId"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_may_not_be_leaves_the_order_as_it_was(trader: Trader, case: str) -> None:
    client_id, quantity, changes, code, text = REFUSED[case]
    await trader.place(newClientOrderId="one")
    before = await trader.order("one")

    answer = await amend(trader, client_id, quantity, **changes)

    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert text in answer.json()["msg"]
    assert await trader.order("one") == before


async def test_a_symbol_may_allow_no_amending(trader: Trader) -> None:
    await trader.place(newClientOrderId="one")
    await trader.api.post("/control/orders/flags", json={"symbol": "BTCUSDT", "amendAllowed": False})

    answer = await amend(trader, "one", "0.005")

    assert answer.json() == {"code": -2038, "msg": "Order amend is not supported for this symbol."}


async def test_an_order_that_has_traded_that_much_ends_and_costs_nothing(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    before, price = await trader.balances(), trader.far_below()
    await trader.place(newClientOrderId="one", price=price)
    await trade(trader, price, "0.006")
    used = exchange.meter.used(exchange.now_ms())

    answer = (await amend(trader, "one", "0.005", newClientOrderId="one")).json()["amendedOrder"]

    assert (answer["status"], answer["executedQty"], answer["qty"]) == ("EXPIRED", "0.00600000", "0.00600000")
    assert exchange.meter.used(exchange.now_ms()) == used
    assert (await trader.balances())["USDT"][1] == before["USDT"][1]


async def test_both_of_a_pair_become_smaller(trader: Trader, exchange: SimulatedExchange) -> None:
    session = WsApiSession(exchange)
    session.receive(subscription(exchange.account, exchange.now_ms()), exchange.now_ms())
    before = await trader.balances()
    await trader.send("POST", "orderList/oco", oco(trader))
    heard(session, exchange)

    body = (await amend(trader, "below", "0.005", newClientOrderId="renamed")).json()

    assert body["listStatus"]["listClientOrderId"] == "list"
    assert [one["clientOrderId"] for one in body["listStatus"]["orders"]] == ["renamed", "above"]
    assert (await trader.order("above"))["origQty"] == (await trader.order("renamed"))["origQty"] == "0.00500000"
    assert (await trader.balances())["BTC"][1] - before["BTC"][1] == Decimal("0.005")
    events = heard(session, exchange)
    reports = [(one["c"], one["C"], one["x"], one["q"]) for one in events if one["e"] == "executionReport"]
    assert reports == [
        ("renamed", "below", "REPLACED", "0.00500000"),
        ("above", "above", "REPLACED", "0.00500000"),
    ]
    assert [(one["l"], one["L"]) for one in events if one["e"] == "listStatus"] == [("UPDATED", "EXECUTING")]
    await trader.cancel("above")
    assert await trader.balances() == before


async def test_of_an_entry_and_its_exit_each_is_amended_alone(trader: Trader) -> None:
    await trader.send("POST", "orderList/oto", oto(trader))

    exit_first = await amend(trader, "pending", "0.005", newClientOrderId="pending")
    entry = await amend(trader, "working", "0.006", newClientOrderId="working")

    assert (exit_first.json()["amendedOrder"]["status"], "workingTime" in exit_first.json()["amendedOrder"]) == (
        "PENDING_NEW",
        False,
    )
    assert entry.json()["amendedOrder"]["qty"] == "0.00600000"
    await trade(trader, (await trader.order("working"))["price"], "0.006")
    assert [(await trader.order(name))["status"] for name in ("working", "pending")] == ["FILLED", "NEW"]
    assert (await trader.order("pending"))["origQty"] == "0.00500000"


async def test_an_exit_that_sells_what_was_received_is_not_amended_before(trader: Trader) -> None:
    await trader.send("POST", "orderList/opo", oto(trader, pendingQuantity=None))

    answer = await amend(trader, "pending", "0.005")

    assert answer.json() == {"code": -2038, "msg": "Order amend (pending OPO order) is not supported."}


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
async def test_an_amendment_happens_or_not_whatever_is_answered(trader: Trader, *, executed: bool) -> None:
    await trader.place(newClientOrderId="one")
    fault = {"kind": "status", "status": 503, "code": -1007, "executed": executed, "method": "PUT"}
    await trader.api.post("/control/faults", json=fault)

    answer = await amend(trader, "one", "0.005", newClientOrderId="one")

    assert (answer.status_code, answer.json()["code"]) == (503, -1007)
    assert (await trader.order("one"))["origQty"] == ("0.00500000" if executed else "0.01000000")
