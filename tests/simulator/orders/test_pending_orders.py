"""Orders that wait until another is filled: when they come on the book, with how much, and when they never do."""

import json
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from support.order_lists import around, oto, otoco
from support.trader import Trader
from support.ws_api import subscription

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


async def place(trader: Trader, kind: str, **changes: object) -> httpx2.Response:
    usual = otoco(trader) if kind.endswith("oco") else oto(trader)
    if kind.startswith("opo"):
        del usual["pendingQuantity"]
    return await trader.send("POST", f"orderList/{kind}", usual | changes)


async def fill(trader: Trader, quantity: str = "0.01") -> None:
    """Let the crowd sell at the price of the entry."""
    price = (await trader.order("working"))["price"]
    body = {"symbol": "BTCUSDT", "price": price, "quantity": quantity, "sold": True}
    assert (await trader.api.post("/control/orders/trade", json=body)).status_code == 200


async def statuses(trader: Trader, *client_ids: str) -> list[str]:
    return [(await trader.order(client_id)).get("status", "none") for client_id in client_ids]


@pytest.mark.parametrize(("kind", "count"), [("oto", 2), ("otoco", 3), ("opo", 2), ("opoco", 3)])
async def test_pending_orders_are_there_and_lock_nothing(
    trader: Trader, exchange: SimulatedExchange, kind: str, count: int
) -> None:
    before = await trader.balances()

    answer = await place(trader, kind)
    body = answer.json()

    assert answer.status_code == 200, answer.text
    assert (body["contingencyType"], body["listOrderStatus"]) == ("OTO", "EXECUTING")
    working, *pending = body["orderReports"]
    assert (working["clientOrderId"], working["status"]) == ("working", "NEW")
    assert [(one["status"], one["workingTime"], "origQty" in one) for one in pending] == [
        ("PENDING_NEW", -1, kind.startswith("oto"))
    ] * (count - 1)
    assert answer.headers["x-mbx-order-count-10s"] == str(count)
    after = await trader.balances()
    assert after["BTC"] == before["BTC"]
    assert after["USDT"][1] - before["USDT"][1] == Decimal(working["price"]) * Decimal("0.01")
    opened = (await trader.send("GET", "openOrders", {"symbol": "BTCUSDT"})).json()
    assert sum(one["status"] == "PENDING_NEW" and not one["isWorking"] for one in opened) == count - 1
    assert len(exchange.orders.accepted) == count


async def test_a_part_of_the_entry_sets_off_nothing_and_the_whole_everything(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    session = WsApiSession(exchange)
    session.receive(subscription(exchange.account, exchange.now_ms()), exchange.now_ms())
    before = await trader.balances()
    await place(trader, "otoco")

    await fill(trader, "0.004")
    part = await statuses(trader, "working", "above", "below")
    await fill(trader, "0.006")

    assert part == ["PARTIALLY_FILLED", "PENDING_NEW", "PENDING_NEW"]
    assert await statuses(trader, "working", "above", "below") == ["FILLED", "NEW", "NEW"]
    assert (await trader.order("above"))["workingTime"] == exchange.now_ms()
    after = await trader.balances()
    assert after["BTC"][1] - before["BTC"][1] == Decimal("0.01")  # one of the pair can trade, not both
    events: list[dict[str, Any]] = [json.loads(text)["event"] for text in session.due(exchange.now_ms())]
    told = [(one["c"], one["x"], one["X"]) for one in events if one["e"] == "executionReport"]
    assert told == [
        ("working", "NEW", "NEW"),
        ("below", "NEW", "PENDING_NEW"),
        ("above", "NEW", "PENDING_NEW"),
        ("working", "TRADE", "PARTIALLY_FILLED"),
        ("working", "TRADE", "FILLED"),
        ("below", "NEW", "NEW"),
        ("above", "NEW", "NEW"),
    ]
    assert [one["l"] for one in events if one["e"] == "listStatus"] == ["EXEC_STARTED"]


async def test_the_pair_of_an_entry_ends_as_pairs_do(trader: Trader) -> None:
    await place(trader, "otoco")
    await fill(trader)

    price = (await trader.order("above"))["price"]
    body = {"symbol": "BTCUSDT", "price": price, "quantity": "0.01", "sold": False}
    await trader.api.post("/control/orders/trade", json=body)

    assert await statuses(trader, "working", "above", "below") == ["FILLED", "FILLED", "EXPIRED"]
    lists = (await trader.api.get("/control/orders")).json()["lists"]
    assert [one["listOrderStatus"] for one in lists] == ["ALL_DONE"]


async def test_an_entry_that_is_filled_at_once_is_answered_before_its_exits(trader: Trader) -> None:
    answer = (await place(trader, "otoco", workingPrice=around(trader, "1.01"), newOrderRespType="FULL")).json()

    working, below, above = answer["orderReports"]
    assert (working["status"], below["status"], above["status"]) == ("FILLED", "PENDING_NEW", "PENDING_NEW")
    assert working["fills"]
    assert answer["listOrderStatus"] == "EXECUTING"
    assert await statuses(trader, "above", "below") == ["NEW", "NEW"]


async def empty(trader: Trader, left: str = "0") -> None:
    """Sell what the account has of BTC, but for a rest."""
    free = (await trader.balances())["BTC"][0] - Decimal(left)
    step = Decimal("0.00001")
    await trader.place(
        side="SELL", type="MARKET", timeInForce=None, price=None, quantity=(free // step * step).normalize()
    )


async def test_an_exit_that_the_account_cannot_pay_for_expires(trader: Trader) -> None:
    await empty(trader)
    await place(trader, "otoco")

    await fill(trader)

    # A thousandth of what was bought went to the commission: the written quantity is not there.
    assert await statuses(trader, "working", "above", "below") == ["FILLED", "EXPIRED", "EXPIRED"]
    reasons = {(await trader.order(name))["expiryReason"] for name in ("above", "below")}
    assert reasons == {"REJECTED", "OCO_TRIGGER"}
    assert (await trader.balances())["BTC"][0] == Decimal("0.00999")


async def test_an_exit_that_sells_what_was_received_fits(trader: Trader) -> None:
    await empty(trader)
    had = (await trader.balances())["BTC"]

    await place(trader, "opoco")
    await fill(trader, "0.004")
    part = (await trader.balances())["BTC"]
    await fill(trader, "0.006")

    assert part[1] - had[1] == Decimal("0.003996")  # what is bought is locked for the exits
    above, below = await trader.order("above"), await trader.order("below")
    assert (above["status"], below["status"]) == ("NEW", "NEW")
    assert (above["origQty"], below["origQty"]) == ("0.00999000", "0.00999000")
    assert (await trader.balances())["BTC"] == (had[0], had[1] + Decimal("0.00999"))


async def test_a_commission_that_other_funds_can_pay_leaves_the_exit_whole(trader: Trader) -> None:
    had = (await trader.balances())["BTC"]

    await place(trader, "opo")
    await fill(trader)

    assert (await trader.order("pending"))["origQty"] == "0.01000000"
    assert (await trader.balances())["BTC"] == (had[0] - Decimal("0.00001"), had[1] + Decimal("0.01"))


async def test_what_no_lot_holds_is_free_again(trader: Trader) -> None:
    await empty(trader)
    free, locked = (await trader.balances())["BTC"]

    await place(trader, "opo", workingQuantity="0.00123")
    await fill(trader, "0.00123")

    assert (await trader.order("pending"))["origQty"] == "0.00122000"  # of 0.00122877 received
    assert (await trader.balances())["BTC"] == (free + Decimal("0.00000877"), locked + Decimal("0.00122"))


@pytest.mark.parametrize("kind", ["oto", "opo"])
@pytest.mark.parametrize("how", ["working", "pending", "list"])
async def test_a_cancel_takes_all_and_frees_all(trader: Trader, kind: str, how: str) -> None:
    before = await trader.balances()
    await place(trader, kind)
    await fill(trader, "0.004")

    if how == "list":
        answer = await trader.send("DELETE", "orderList", {"symbol": "BTCUSDT", "listClientOrderId": "list"})
    else:
        answer = await trader.cancel(how)

    assert answer.json()["listOrderStatus"] == "ALL_DONE"
    assert await statuses(trader, "working", "pending") == ["CANCELED", "CANCELED"]
    after = await trader.balances()
    assert after["BTC"] == (before["BTC"][0] + Decimal("0.003996"), before["BTC"][1])
    assert after["USDT"][1] == before["USDT"][1]


async def test_exits_of_an_entry_that_expires_expire(trader: Trader) -> None:
    before = await trader.balances()

    answer = await place(trader, "opoco", workingTimeInForce="IOC")

    assert answer.json()["orderReports"][0]["status"] == "EXPIRED"
    assert await statuses(trader, "above", "below") == ["EXPIRED", "EXPIRED"]
    assert (await trader.order("below"))["expiryReason"] == "OTO_PHASE_ONE_EXPIRED"
    assert await trader.balances() == before
    lists = (await trader.api.get("/control/orders")).json()["lists"]
    assert [one["listOrderStatus"] for one in lists] == ["ALL_DONE"]


async def test_an_exit_whose_stop_the_market_has_passed_expires(trader: Trader) -> None:
    stop = {"pendingType": "STOP_LOSS_LIMIT", "pendingTimeInForce": "GTC", "pendingPrice": around(trader, "1.01")}
    await place(trader, "oto", **stop, pendingStopPrice=around(trader, "1.02"))

    await fill(trader)

    assert await statuses(trader, "working", "pending") == ["FILLED", "EXPIRED"]
    assert (await trader.order("pending"))["expiryReason"] == "REJECTED"


REFUSED: dict[str, tuple[str, dict[str, object], int, str]] = {
    "a market entry": ("oto", {"workingType": "MARKET"}, -1014, ""),
    "a written quantity": ("opo", {"pendingQuantity": "0.01"}, -1104, ""),
    "an entry that sells": ("opo", {"workingSide": "SELL", "pendingSide": "BUY"}, -1222, "must be a bid"),
    "an exit that buys": ("opo", {"pendingSide": "BUY"}, -1223, "must be asks"),
    "a pair out of order": ("otoco", {"pendingBelowStopPrice": "upper"}, -2010, "The relationship of the prices"),
    "an exit too small": ("oto", {"pendingQuantity": "0.00001"}, -1013, "NOTIONAL"),
    "an entry too large": ("otoco", {"workingQuantity": "5"}, -2010, "insufficient balance"),
    "one id twice": ("oto", {"pendingClientOrderId": "working"}, -2010, "Duplicate order sent."),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_list_that_breaks_a_rule_leaves_nothing_behind(
    trader: Trader, exchange: SimulatedExchange, case: str
) -> None:
    kind, changes, code, text = REFUSED[case]
    before = await trader.balances()

    higher = around(trader, "1.05")
    answer = await place(
        trader, kind, **{name: higher if value == "upper" else value for name, value in changes.items()}
    )

    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert text in answer.json()["msg"]
    assert await trader.balances() == before
    assert exchange.orders.accepted == []


@pytest.mark.parametrize(
    ("flag", "refused"),
    [("otoAllowed", "oto otoco opo opoco"), ("opoAllowed", "opo opoco"), ("ocoAllowed", "otoco opoco")],
)
async def test_what_a_symbol_does_not_allow_is_refused(trader: Trader, flag: str, refused: str) -> None:
    await trader.api.post("/control/orders/flags", json={"symbol": "BTCUSDT", flag: False})

    for kind in ("oto", "otoco", "opo", "opoco"):
        answer = await place(trader, kind)

        assert (answer.json().get("code") == -2010) == (kind in refused.split()), answer.text
        if answer.status_code == 200:
            await trader.cancel("working")


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
async def test_an_entry_happens_or_not_whatever_is_answered(trader: Trader, *, executed: bool) -> None:
    fault = {"kind": "cut_before", "executed": executed, "path": "/api/v3/orderList/opoco", "method": "POST"}
    await trader.api.post("/control/faults", json=fault)

    with pytest.raises(ConnectionResetError):
        await place(trader, "opoco")

    state = (await trader.api.get("/control/orders")).json()
    assert state["accepted"] == ({"working": 1, "above": 1, "below": 1} if executed else {})
