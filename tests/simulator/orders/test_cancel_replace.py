"""A cancel and a new order in one request: every row of the table of what may become of the two."""

from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.order_lists import oco
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


async def replace(trader: Trader, **changes: object) -> httpx2.Response:
    usual: dict[str, object] = {
        "symbol": "BTCUSDT",
        "side": "BUY",
        "type": "LIMIT",
        "timeInForce": "GTC",
        "quantity": "0.02",
        "price": trader.far_below(),
        "cancelReplaceMode": "STOP_ON_FAILURE",
        "cancelOrigClientOrderId": "old",
        "cancelNewClientOrderId": "gone",
        "newClientOrderId": "new",
    }
    return await trader.send("POST", "order/cancelReplace", usual | changes)


def taking(trader: Trader) -> dict[str, object]:
    """Return what makes of the new order one that the engine refuses."""
    return {"type": "LIMIT_MAKER", "timeInForce": None, "price": trader.ask() * 2 - trader.bid() + 10}


async def count(trader: Trader) -> int:
    return (await trader.send("GET", "rateLimit/order", {})).json()[0]["count"]


async def test_the_new_order_stands_where_the_old_one_stood(trader: Trader, exchange: SimulatedExchange) -> None:
    await trader.place(newClientOrderId="old")

    answer = await replace(trader)
    body = answer.json()

    assert answer.status_code == 200, answer.text
    assert (body["cancelResult"], body["newOrderResult"]) == ("SUCCESS", "SUCCESS")
    cancelled, placed = body["cancelResponse"], body["newOrderResponse"]
    assert (cancelled["origClientOrderId"], cancelled["clientOrderId"], cancelled["status"]) == (
        "old",
        "gone",
        "CANCELED",
    )
    assert (placed["clientOrderId"], placed["status"], placed["fills"]) == ("new", "NEW", [])
    assert (await trader.order("old"))["status"] == "CANCELED"
    assert exchange.meter.used(exchange.now_ms()) - 4 == 0  # the question alone
    assert (await trader.api.get("/control/orders")).json()["accepted"] == {"old": 1, "new": 1}


ROWS = [
    # mode, over the limit, old one there, new one takes, status, code, cancel, new order, count after
    ("STOP_ON_FAILURE", False, True, False, 200, None, "SUCCESS", "SUCCESS", 2),
    ("STOP_ON_FAILURE", False, False, False, 400, -2022, "FAILURE", "NOT_ATTEMPTED", 1),
    ("STOP_ON_FAILURE", False, True, True, 409, -2021, "SUCCESS", "FAILURE", 1),
    ("STOP_ON_FAILURE", True, False, False, 429, -2022, "FAILURE", "NOT_ATTEMPTED", 1),
    ("STOP_ON_FAILURE", True, True, False, 429, -2021, "SUCCESS", "FAILURE", 1),
    ("ALLOW_FAILURE", False, True, False, 200, None, "SUCCESS", "SUCCESS", 2),
    ("ALLOW_FAILURE", False, False, True, 400, -2022, "FAILURE", "FAILURE", 0),
    ("ALLOW_FAILURE", False, False, False, 409, -2021, "FAILURE", "SUCCESS", 1),
    ("ALLOW_FAILURE", False, True, True, 409, -2021, "SUCCESS", "FAILURE", 1),
    ("ALLOW_FAILURE", True, False, False, 400, -2022, "FAILURE", "FAILURE", 1),
    ("ALLOW_FAILURE", True, True, False, 409, -2021, "SUCCESS", "FAILURE", 1),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(str(part) for part in row[:4]))
async def test_every_row_of_the_table(trader: Trader, row: tuple[Any, ...]) -> None:
    mode, over, there, takes, status, code, cancel, new, counted = row
    if there or over:
        await trader.place(newClientOrderId="old" if there else "else")
    if over:
        await trader.api.post("/control/orders", json={"orders_10s": 1})

    answer = await replace(
        trader,
        cancelReplaceMode=mode,
        orderRateLimitExceededMode="CANCEL_ONLY",
        **(taking(trader) if takes else {}),
    )
    body = answer.json()

    assert (answer.status_code, body.get("code")) == (status, code), answer.text
    data = body.get("data", body)
    assert (data["cancelResult"], data["newOrderResult"]) == (cancel, new)
    assert (await trader.order("old")).get("status") == ("CANCELED" if there else None)
    assert (await trader.order("new")).get("status") == ("NEW" if new == "SUCCESS" else None)
    assert await count(trader) == counted
    if code == -2021 and cancel == "SUCCESS":
        refused = data["newOrderResponse"]["code"]
        assert refused == (-1015 if over else -2010)
    if new == "NOT_ATTEMPTED":
        assert data["newOrderResponse"] is None
        assert data["cancelResponse"] == {"code": -2011, "msg": "Unknown order sent."}


async def test_beyond_the_limit_nothing_happens_unless_asked_for(trader: Trader) -> None:
    await trader.place(newClientOrderId="old")
    await trader.api.post("/control/orders", json={"orders_10s": 1})

    answer = await replace(trader)

    assert (answer.status_code, answer.json()["code"], "data" in answer.json()) == (429, -1015, False)
    assert (await trader.order("old"))["status"] == "NEW"


async def test_filters_are_looked_at_before_the_cancel(trader: Trader) -> None:
    await trader.place(newClientOrderId="old")

    answer = await replace(trader, quantity="0.0000001")

    assert (answer.status_code, answer.json()["code"]) == (400, -1013)
    assert (await trader.order("old"))["status"] == "NEW"


async def test_what_the_cancel_frees_pays_for_the_new_order(trader: Trader) -> None:
    free = (await trader.balances())["USDT"][0]
    price = trader.far_below()
    quantity = (free * 6 / 10 / price).quantize(price / price / 100000)
    await trader.place(newClientOrderId="old", quantity=quantity)
    refused = await trader.place(newClientOrderId="second", quantity=quantity)

    answer = await replace(trader, quantity=quantity)

    assert refused.json()["code"] == -2010
    assert answer.status_code == 200, answer.text


async def test_an_order_of_a_list_takes_the_list_with_it(trader: Trader) -> None:
    await trader.send("POST", "orderList/oco", oco(trader))

    answer = (await replace(trader, cancelOrigClientOrderId="above")).json()

    assert [one["status"] for one in answer["cancelResponse"]["orderReports"]] == ["CANCELED", "CANCELED"]
    assert (await trader.order("below"))["status"] == "CANCELED"


async def test_a_symbol_may_allow_no_replacing(trader: Trader) -> None:
    await trader.place(newClientOrderId="old")
    await trader.api.post("/control/orders/flags", json={"symbol": "BTCUSDT", "cancelReplaceAllowed": False})

    answer = await replace(trader)

    assert answer.json() == {"code": -2010, "msg": "Order cancel-replace is not supported for this symbol."}
    assert (await trader.order("old"))["status"] == "NEW"


@pytest.mark.parametrize("takes", [False, True], ids=["both", "cancel_only"])
@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
async def test_a_fault_hides_what_became_of_both(trader: Trader, *, executed: bool, takes: bool) -> None:
    await trader.place(newClientOrderId="old")
    fault = {"kind": "status", "status": 503, "code": -1007, "executed": executed, "method": "POST"}
    await trader.api.post("/control/faults", json=fault)

    answer = await replace(trader, **(taking(trader) if takes else {}))

    assert (answer.status_code, answer.json()["code"]) == (503, -1007)
    assert (await trader.order("old"))["status"] == ("CANCELED" if executed else "NEW")
    assert (await trader.order("new")).get("status") == ("NEW" if executed and not takes else None)


async def test_one_of_the_two_ids_must_be_sent_and_both_must_agree(trader: Trader) -> None:
    number = (await trader.place(newClientOrderId="old")).json()["orderId"]

    neither = await replace(trader, cancelOrigClientOrderId=None)
    wrong = await replace(trader, cancelOrderId=number, cancelOrigClientOrderId="another")
    right = await replace(trader, cancelOrderId=number)

    assert (neither.json()["code"], wrong.json()["code"], right.status_code) == (-1102, -2022, 200)
