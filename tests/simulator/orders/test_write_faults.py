"""Between accepting and answering anything may go wrong, with and without the order having happened."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import pytest

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.exchange_socket import served_exchange
from support.order_lists import oco, otoco
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

BAN = {"kind": "status", "status": 418, "code": -1003, "msg": "Way too much request weight used."}
FAULTS: Mapping[str, dict[str, Any]] = {
    "503 with a body": {"kind": "status", "status": 503, "code": -1008, "msg": "Server is busy."},
    "503 without a body": {"kind": "status", "status": 503, "body": ""},
    "-1000": {"kind": "status", "status": 500},
    "-1006": {"kind": "status", "status": 500, "code": -1006, "msg": "An unexpected response was received."},
    "-1007": {"kind": "status", "status": 503, "code": -1007, "msg": "Timeout waiting for response."},
    "reset": {"kind": "cut_before"},
    "silence": {"kind": "silence"},
    "cut body": {"kind": "cut_within"},
    "short JSON": {"kind": "truncated"},
    "no body": {"kind": "empty"},
    "HTML": {"kind": "html"},
    "late": {"kind": "delay", "delay_ms": 12_000},
    "418": BAN,
    "429": BAN | {"status": 429},
}


async def struck(trader: Trader, fault: str, *, executed: bool, method: str = "POST") -> httpx2.Response | None:
    """Place or cancel an order with a fault waiting for it; None when there was no answer."""
    body = FAULTS[fault] | {"executed": executed, "path": "/api/v3/order", "method": method}
    assert (await trader.api.post("/control/faults", json=body)).status_code == 200
    try:
        return await (trader.place(newClientOrderId="one") if method == "POST" else trader.cancel("one"))
    except (ConnectionResetError, TimeoutError):
        return None


def shape(answer: httpx2.Response | None) -> str:
    if answer is None:
        return "nothing"
    try:
        return f"{answer.status_code} {answer.json().get('code', 'an order')}"
    except ValueError:
        return f"{answer.status_code} unreadable"


EXPECTED = {
    "503 with a body": "503 -1008",
    "503 without a body": "503 unreadable",
    "-1000": "500 -1000",
    "-1006": "500 -1006",
    "-1007": "503 -1007",
    "reset": "nothing",
    "silence": "nothing",
    "cut body": "nothing",
    "short JSON": "200 unreadable",
    "no body": "200 unreadable",
    "HTML": "200 unreadable",
    "418": "418 -1003",
    "429": "429 -1003",
}


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_an_order_happens_or_not_whatever_is_answered(
    trader: Trader, exchange: SimulatedExchange, fault: str, *, executed: bool
) -> None:
    answer = await struck(trader, fault, executed=executed)

    late = "200 an order" if executed else "503 -1007"
    assert shape(answer) == EXPECTED.get(fault, late)
    state = (await trader.api.get("/control/orders")).json()
    assert state["accepted"] == ({"one": 1} if executed else {})
    assert state["received"]["requests"] == 1
    assert (await trader.order("one")).get("status") == ("NEW" if executed else None)
    assert exchange.faults.pending() == []


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_cancel_happens_or_not_whatever_is_answered(trader: Trader, fault: str, *, executed: bool) -> None:
    await trader.place(newClientOrderId="one")

    await struck(trader, fault, executed=executed, method="DELETE")

    assert (await trader.order("one"))["status"] == ("CANCELED" if executed else "NEW")


Write = tuple[str, str, Callable[[Trader], Mapping[str, object]]]
REPLACES = {"cancelReplaceMode": "STOP_ON_FAILURE", "cancelOrigClientOrderId": "old", "newClientOrderId": "new"}
OTHER_WRITES: Mapping[str, Write] = {
    "pair": ("POST", "orderList/oco", lambda trader: oco(trader, listClientOrderId="second")),
    "entry": ("POST", "orderList/opoco", lambda trader: otoco(trader, pendingQuantity=None)),
    "list cancel": ("DELETE", "orderList", lambda _: {"symbol": "BTCUSDT", "listClientOrderId": "list"}),
    "amendment": (
        "PUT",
        "order/amend/keepPriority",
        lambda _: {"symbol": "BTCUSDT", "origClientOrderId": "old", "newQty": "0.005", "newClientOrderId": "old"},
    ),
    "replacement": (
        "POST",
        "order/cancelReplace",
        lambda trader: (
            {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01"}
            | {"price": trader.far_below()}
            | REPLACES
        ),
    ),
}


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
@pytest.mark.parametrize("write", OTHER_WRITES)
async def test_every_other_write_happens_or_not_whatever_is_answered(
    trader: Trader, write: str, *, executed: bool
) -> None:
    method, path, parameters = OTHER_WRITES[write]
    for fault, body in FAULTS.items():
        await trader.api.delete("/control/orders")
        await trader.place(newClientOrderId="old")
        if write == "list cancel":
            await trader.send("POST", "orderList/oco", oco(trader))
        before = (await trader.api.get("/control/orders")).json()
        struck_by = body | {"executed": executed, "path": f"/api/v3/{path}", "method": method}
        await trader.api.post("/control/faults", json=struck_by)

        try:
            answer = await trader.send(method, path, parameters(trader))
        except (ConnectionResetError, TimeoutError):
            answer = None

        assert shape(answer) == EXPECTED.get(fault, "200 an order" if executed else "503 -1007"), fault
        after = (await trader.api.get("/control/orders")).json()
        assert (after["orders"] != before["orders"]) == executed, fault


async def test_a_fault_waits_for_a_request_that_is_genuine(trader: Trader, exchange: SimulatedExchange) -> None:
    body = FAULTS["-1007"] | {"executed": True, "method": "POST"}
    await trader.api.post("/control/faults", json=body)

    refused = await trader.place(timestamp=exchange.now_ms() - 60_000)

    assert refused.json()["code"] == -1021
    assert exchange.orders.accepted == []


async def test_a_fault_for_one_method_spares_the_others(trader: Trader) -> None:
    await trader.api.post("/control/faults", json=FAULTS["-1007"] | {"executed": True, "method": "DELETE"})

    placed = await trader.place(newClientOrderId="one")
    cancelled = await trader.cancel("one")

    assert (placed.status_code, cancelled.status_code) == (200, 503)


async def test_a_late_answer_comes_after_the_order(trader: Trader, clock: FakeClock) -> None:
    began_ms = clock.now_ms()

    answer = await struck(trader, "late", executed=True)

    assert answer is not None
    assert answer.json()["transactTime"] == began_ms
    assert clock.now_ms() == began_ms + 12_000


@pytest.mark.parametrize("fault", ["reset", "silence", "cut body"])
async def test_over_a_socket_the_answer_is_missing_and_the_order_is_there(fault: str) -> None:
    with served_exchange() as served:
        served.exchange.rights = KeyRights(trading=True)
        async with httpx2.AsyncClient(base_url=served.rest_url, timeout=httpx2.Timeout(30, read=1)) as api:
            trader = Trader(api, served.exchange, served.exchange.account)
            body = FAULTS[fault] | {"executed": True, "path": "/api/v3/order", "method": "POST"}
            await api.post("/control/faults", json=body)

            with pytest.raises(httpx2.TransportError):
                await trader.place(newClientOrderId="one")

            assert (await api.get("/control/orders")).json()["accepted"] == {"one": 1}
