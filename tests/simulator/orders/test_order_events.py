"""User events, answers and reads tell one story: that of the order desk."""

import json
from decimal import Decimal
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from support.clock import FakeClock
from support.trader import CENT, Trader
from support.ws_api import subscription

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


def heard(session: WsApiSession, exchange: SimulatedExchange) -> list[dict[str, Any]]:
    return [json.loads(text)["event"] for text in session.due(exchange.now_ms())]


async def test_a_fill_is_told_unasked_and_agrees_with_what_is_read(
    trader: Trader, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    session = WsApiSession(exchange)
    session.receive(subscription(exchange.account, exchange.now_ms()), exchange.now_ms())
    placed = (await trader.place(newClientOrderId="one", price=trader.bid())).json()
    first = heard(session, exchange)

    told: list[dict[str, Any]] = []
    for _ in range(600):
        clock.advance(100)
        told += heard(session, exchange)
        if told:
            break

    assert [(one["e"], one.get("x")) for one in first] == [
        ("executionReport", "NEW"),
        ("outboundAccountPosition", None),
    ]
    reports = [one for one in told if one["e"] == "executionReport"]
    order = await trader.order("one")
    assert reports[-1]["i"] == placed["orderId"] == order["orderId"]
    assert (reports[-1]["X"], reports[-1]["z"]) == (order["status"], order["executedQty"])
    assert exchange.now_ms() - 100 < reports[-1]["T"] <= exchange.now_ms()
    held = {one["a"]: (Decimal(one["f"]), Decimal(one["l"])) for one in told[-1]["B"]}
    balances = await trader.balances()
    assert held == {asset: balances[asset] for asset in held}
    trades = (await trader.send("GET", "myTrades", {"symbol": "BTCUSDT", "orderId": order["orderId"]})).json()
    assert [trade["id"] for trade in trades] == [one["t"] for one in reports]
    state = (await trader.api.get("/control/orders")).json()
    assert state["events"] == len(first) + len(told)


@pytest.mark.slow
async def test_nothing_is_made_or_lost_in_a_day_of_trading(trader: Trader, guest: Trader, clock: FakeClock) -> None:
    before = [await one.balances() for one in (trader, guest)]
    for step in range(40):
        one, buys = (trader, guest)[step % 2], step % 3 == 0
        away = Decimal(step % 5 - 2) / 10_000
        price = (one.bid() * (1 + away)).quantize(CENT)
        side, kind = ("BUY" if buys else "SELL"), ("IOC" if step % 7 == 0 else "GTC")
        answer = await one.place(side=side, price=price, timeInForce=kind, quantity="0.003")
        assert answer.status_code == 200, answer.text
        clock.advance(60_000)
    for one in (trader, guest):
        for order in (await one.send("GET", "openOrders", {"symbol": "BTCUSDT"})).json():
            if not order["clientOrderId"].startswith("demo-"):
                await one.cancel(order["clientOrderId"])

    for one, had in zip((trader, guest), before, strict=True):
        trades = (await one.send("GET", "myTrades", {"symbol": "BTCUSDT"})).json()
        moved = {"BTC": Decimal(0), "USDT": Decimal(0)}
        for trade in (trade for trade in trades if trade["id"] > 10**12):
            sign = 1 if trade["isBuyer"] else -1
            moved["BTC"] += sign * Decimal(trade["qty"])
            moved["USDT"] -= sign * Decimal(trade["quoteQty"])
            moved[trade["commissionAsset"]] -= Decimal(trade["commission"])
        after = await one.balances()
        assert any(moved.values())
        for asset, change in moved.items():
            assert after[asset] == (had[asset][0] + change, had[asset][1])
