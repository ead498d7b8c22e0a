"""Whoever steers the simulator: orders by hand, what was really received, a wipe, and the boxes of the key."""

from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

BOXES = {
    "reading": "enableReading",
    "trading": "enableSpotAndMarginTrading",
    "withdrawals": "enableWithdrawals",
    "internal_transfer": "enableInternalTransfer",
    "universal_transfer": "permitsUniversalTransfer",
    "margin": "enableMargin",
    "futures": "enableFutures",
    "vanilla_options": "enableVanillaOptions",
    "portfolio_margin": "enablePortfolioMarginTrading",
    "fix_api_trade": "enableFixApiTrade",
    "fix_read_only": "enableFixReadOnly",
    "ip_restricted": "ipRestrict",
}


async def state(trader: Trader) -> dict[str, Any]:
    return (await trader.api.get("/control/orders")).json()


async def by_hand(trader: Trader, **changes: object) -> dict[str, Any]:
    order = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.01", "price": str(trader.far_below())}
    answer = await trader.api.post("/control/orders/new", json=order | changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_order_by_hand_is_one_of_the_accounts_and_told_apart(trader: Trader) -> None:
    placed = await by_hand(trader, client_order_id="from-the-app")
    await trader.place(newClientOrderId="from-the-api")

    assert await trader.order("from-the-app") == placed
    told = await state(trader)
    assert told["accepted"] == {"from-the-app": 1, "from-the-api": 1}
    assert told["by_hand"] == ["from-the-app"]
    assert told["received"]["requests"] == 1
    assert told["received"]["size"] > 100
    gone = {"symbol": "BTCUSDT", "client_order_id": "from-the-app"}
    assert (await trader.api.post("/control/orders/cancel", json=gone)).json()["status"] == "CANCELED"
    again = await trader.api.post("/control/orders/cancel", json=gone)
    assert (again.status_code, again.text) == (400, "Unknown order sent.")


async def test_an_order_by_hand_may_be_a_guests(trader: Trader, guest: Trader) -> None:
    await by_hand(trader, client_order_id="theirs", account=1)

    assert (await guest.order("theirs"))["status"] == "NEW"
    assert (await trader.order("theirs"))["code"] == -2013
    refused = await trader.api.post(
        "/control/orders/new", json={"symbol": "BTCUSDT", "side": "BUY", "quantity": "1", "account": 7}
    )
    assert refused.status_code == 400


async def test_what_was_accepted_is_told_by_account_also_after_a_wipe(trader: Trader, guest: Trader) -> None:
    await trader.place(newClientOrderId="own")
    await guest.place(newClientOrderId="same")
    await guest.place(newClientOrderId="other")
    await trader.api.delete("/control/orders")
    await guest.place(newClientOrderId="same")

    assert (await state(trader))["accepted_for"] == {"0": ["own"], "1": ["same", "other", "same"]}


async def test_every_execution_is_told_in_order_and_without_a_key(trader: Trader, exchange: SimulatedExchange) -> None:
    await trader.place(newClientOrderId="one", price=trader.ask())
    await trader.place(newClientOrderId="two")

    everything = (await trader.api.get("/control/orders/executions")).json()
    later = (await trader.api.get("/control/orders/executions?after=2")).json()

    assert [(one["number"], one["kind"], one["client_order_id"]) for one in everything] == [
        (1, "NEW", "one"),
        (2, "TRADE", "one"),
        (3, "NEW", "two"),
    ]
    assert later == everything[2:]
    assert everything[0]["account"] == 0
    for path in ("orders", "orders/executions"):
        assert exchange.account.api_key not in (await trader.api.get(f"/control/{path}")).text


async def test_a_wipe_gives_the_account_back_what_it_began_with(trader: Trader, exchange: SimulatedExchange) -> None:
    before = await trader.balances()
    await trader.place(newClientOrderId="one", price=trader.ask())
    await trader.cancel("demo-4")

    await trader.api.delete("/control/orders")

    assert await trader.balances() == before
    assert (await trader.order("one"))["code"] == -2013
    assert (await trader.order("demo-4"))["status"] == "NEW"
    told = await state(trader)
    assert (told["accepted"], told["orders"]) == ({"one": 1}, [])
    assert (await trader.place()).json()["orderId"] > exchange.orders.accepted[0].order_id


async def test_another_scenario_forgets_the_orders(trader: Trader) -> None:
    await trader.place(newClientOrderId="one")

    await trader.api.post("/control/scenario", json={"name": "market"})

    assert (await trader.order("one"))["code"] == -2013


@pytest.mark.parametrize("box", BOXES)
async def test_every_box_of_the_key_is_told(trader: Trader, box: str) -> None:
    usual = {"reading": True, "trading": False, "ip_restricted": True}
    ticked = not usual.get(box, False)

    await trader.api.post("/control/key", json={"reading": True} | {box: ticked})

    if box != "reading":  # without it nothing is told at all
        shown = (await trader.send("GET", "/sapi/v1/account/apiRestrictions", {})).json()
        assert shown[BOXES[box]] is ticked
        others = {name: shown[field] for name, field in BOXES.items() if name != box}
        assert others == {name: usual.get(name, False) for name in others}
