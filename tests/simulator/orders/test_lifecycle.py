"""Every status an order can have, how it comes to it, and that balances and reports say the same."""

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.account import KeyRights
from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.orders.execution import Execution
from support.clock import FakeClock
from support.trader import CENT, Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

DAY_MS = 86_400_000


async def trade(trader: Trader, price: object, quantity: str, *, sold: bool) -> list[dict[str, Any]]:
    """Let the crowd trade once."""
    body = {"symbol": "BTCUSDT", "price": str(price), "quantity": quantity, "sold": sold}
    return (await trader.api.post("/control/orders/trade", json=body)).json()


def told(exchange: SimulatedExchange) -> list[tuple[str, str]]:
    return [(one.kind, one.order.status) for one in executions(exchange)]


def executions(exchange: SimulatedExchange) -> list[Execution]:
    return exchange.orders.executions_since(0, exchange.account.api_key, exchange.now_ms())


async def test_an_order_on_the_book_is_filled_piece_by_piece(trader: Trader, exchange: SimulatedExchange) -> None:
    price, before = trader.far_below(), await trader.balances()
    await trader.place(newClientOrderId="one", price=price, quantity="0.01")

    await trade(trader, price, "0.004", sold=True)
    part = await trader.order("one")
    await trade(trader, price, "0.1", sold=True)
    whole = await trader.order("one")

    assert (part["status"], part["executedQty"]) == ("PARTIALLY_FILLED", "0.00400000")
    assert (whole["status"], whole["executedQty"]) == ("FILLED", "0.01000000")
    assert told(exchange) == [("NEW", "NEW"), ("TRADE", "PARTIALLY_FILLED"), ("TRADE", "FILLED")]
    assert [one.maker for one in executions(exchange)] == [False, True, True]
    after = await trader.balances()
    assert after["USDT"] == (before["USDT"][0] - price * Decimal("0.01"), before["USDT"][1])
    assert after["BTC"][0] == before["BTC"][0] + Decimal("0.00999")  # a thousandth is the commission


async def test_those_who_stood_there_before_are_served_first(trader: Trader, exchange: SimulatedExchange) -> None:
    symbol, price = exchange.listing.symbols["BTCUSDT"], trader.bid()
    ahead = (
        Decimal(exchange.orders.engine.crowd.ahead(symbol, int(price * 10**8), exchange.now_ms(), buys=True)) / 10**8
    )
    await trader.place(newClientOrderId="one", price=price, quantity="0.01")

    await trade(trader, price, f"{ahead:f}", sold=True)
    waiting = await trader.order("one")
    await trade(trader, price, "0.004", sold=True)

    assert ahead > 0
    assert waiting["executedQty"] == "0.00000000"
    assert (await trader.order("one"))["executedQty"] == "0.00400000"


async def test_a_part_that_is_cancelled_stays_filled(trader: Trader, exchange: SimulatedExchange) -> None:
    price = trader.far_below()
    await trader.place(newClientOrderId="one", price=price)
    await trade(trader, price, "0.004", sold=True)

    gone = (await trader.cancel("one", newClientOrderId="one-c")).json()

    assert (gone["status"], gone["executedQty"]) == ("CANCELED", "0.00400000")
    last = executions(exchange)[-1]
    assert (last.kind, last.client_order_id, last.original_client_order_id) == ("CANCELED", "one-c", "one")
    assert (last.order.client_order_id, last.order.status) == ("one", "CANCELED")
    assert (await trader.balances())["USDT"][1] == Decimal("5579.83340000")  # what the orders lock that were there


async def test_what_an_immediate_order_does_not_get_expires(trader: Trader, exchange: SimulatedExchange) -> None:
    ask = trader.ask()

    nothing = (await trader.place(timeInForce="IOC", newClientOrderId="none")).json()
    part = (await trader.place(timeInForce="IOC", price=ask, quantity="0.07", newClientOrderId="part")).json()
    rest = (await trader.place(timeInForce="IOC", price=ask, quantity="0.01", newClientOrderId="rest")).json()

    assert (nothing["status"], nothing["expiryReason"]) == ("EXPIRED", "UNFILLED_IOC_QUANTITY_EXPIRED")
    assert part["status"] == "FILLED"
    assert rest["status"] == "FILLED"
    too_much = (await trader.place(timeInForce="IOC", side="SELL", price=trader.bid(), quantity="0.3")).json()
    assert too_much["status"] == "EXPIRED"
    assert Decimal(0) < Decimal(too_much["executedQty"]) < Decimal("0.3")
    assert told(exchange)[-2:] == [("TRADE", "PARTIALLY_FILLED"), ("EXPIRED", "EXPIRED")]
    assert (await trader.balances())["BTC"][1] == Decimal("0.02")


async def test_all_or_nothing_is_nothing_when_it_is_not_all(trader: Trader, exchange: SimulatedExchange) -> None:
    before = await trader.balances()

    refused = (await trader.place(timeInForce="FOK", side="SELL", price=trader.bid(), quantity="0.4")).json()

    assert (refused["status"], refused["executedQty"]) == ("EXPIRED", "0.00000000")
    assert refused["expiryReason"] == "UNFILLED_FOK_ORDER_EXPIRED"
    assert await trader.balances() == before
    assert told(exchange) == [("NEW", "NEW"), ("EXPIRED", "EXPIRED")]
    whole = (await trader.place(timeInForce="FOK", price=trader.ask(), quantity="0.01")).json()
    assert whole["status"] == "FILLED"


async def test_a_market_order_takes_the_book_as_it_is(trader: Trader) -> None:
    market = {"type": "MARKET", "timeInForce": None, "price": None}

    sold = (await trader.place(**market, side="SELL", quantity="0.4")).json()

    prices = [Decimal(fill["price"]) for fill in sold["fills"]]
    assert (sold["status"], sold["price"]) == ("FILLED", "0.00000000")
    assert prices == sorted(prices, reverse=True)
    assert len(prices) > 1


async def test_what_was_taken_of_a_level_is_gone_while_the_level_stands(trader: Trader) -> None:
    sale: dict[str, object] = {"timeInForce": "IOC", "side": "SELL", "price": trader.bid()}

    first = (await trader.place(**sale, quantity="0.4")).json()
    again = (await trader.place(**sale, quantity="0.05")).json()

    assert Decimal(first["executedQty"]) > 0
    assert (again["status"], again["executedQty"]) == ("EXPIRED", "0.00000000")


async def test_the_engine_rejects_and_says_why_in_the_report(trader: Trader, exchange: SimulatedExchange) -> None:
    answer = await trader.place(quantity="1", newClientOrderId="much")

    assert answer.json() == {"code": -2010, "msg": "Account has insufficient balance for requested action."}
    (rejected,) = executions(exchange)
    assert (rejected.kind, rejected.order.status) == ("REJECTED", "REJECTED")
    assert rejected.reject_reason == "INSUFFICIENT_BALANCES"
    assert (await trader.order("much"))["code"] == -2013


@pytest.mark.parametrize(
    ("kind", "side", "shares"),
    [
        ("STOP_LOSS_LIMIT", "SELL", ("0.99", "0.98")),
        ("STOP_LOSS_LIMIT", "BUY", ("1.01", "1.02")),
        ("TAKE_PROFIT_LIMIT", "SELL", ("1.01", "1.02")),
        ("TAKE_PROFIT_LIMIT", "BUY", ("0.99", "0.98")),
    ],
)
async def test_a_stop_waits_for_its_price(
    trader: Trader, exchange: SimulatedExchange, kind: str, side: str, shares: tuple[str, str]
) -> None:
    last = trader.bid()
    at, limit = ((last * Decimal(share)).quantize(CENT) for share in shares)
    step = CENT if at > last else -CENT
    placed = await trader.place(
        type=kind, side=side, stopPrice=at, price=limit, newClientOrderId="stop", newOrderRespType="RESULT"
    )

    await trade(trader, at - step, "0.01", sold=True)
    waiting = await trader.order("stop")
    await trade(trader, at, "0.01", sold=True)
    working = await trader.order("stop")

    assert (placed.json()["status"], placed.json()["workingTime"]) == ("NEW", -1)
    assert (waiting["status"], waiting["isWorking"], waiting["workingTime"]) == ("NEW", False, -1)
    assert working["workingTime"] == exchange.now_ms()
    assert told(exchange)[:2] == [("NEW", "NEW"), ("NEW", "NEW")]
    marketable = limit < last if side == "SELL" else limit > last
    assert working["status"] == ("FILLED" if marketable else "NEW")


async def test_a_stop_the_market_has_reached_is_rejected(trader: Trader) -> None:
    above = (trader.ask() * Decimal("1.01")).quantize(CENT)

    answer = await trader.place(type="STOP_LOSS_LIMIT", side="SELL", stopPrice=above, price=above)

    assert answer.json() == {"code": -2010, "msg": "Order would trigger immediately."}


async def test_the_market_fills_and_triggers_by_itself_and_the_same_however_often_one_looks(clock: FakeClock) -> None:
    histories: list[list[tuple[int, str, str]]] = []
    for steps in (1, 48):
        exchange = SimulatedExchange(FakeClock(clock.now_ms()))
        await _follow_a_day(exchange, steps)
        histories.append([(one.at_ms, one.kind, one.order.client_order_id) for one in executions(exchange)])

    assert histories[0] == histories[1]
    assert ("TRADE", "buy") in {(kind, name) for _, kind, name in histories[0]}
    assert len({at_ms for at_ms, _, _ in histories[0]}) > 2


async def _follow_a_day(exchange: SimulatedExchange, steps: int) -> None:
    exchange.rights = KeyRights(trading=True)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=build_app(exchange)), base_url="http://exchange.test"
    ) as api:
        trader = Trader(api, exchange, exchange.account)
        near = [(trader.bid() * Decimal(share)).quantize(CENT) for share in ("0.999", "1.001", "0.998", "0.9975")]
        await trader.place(newClientOrderId="buy", price=near[0])
        await trader.place(newClientOrderId="sell", side="SELL", price=near[1])
        await trader.place(
            newClientOrderId="stop", side="SELL", type="STOP_LOSS_LIMIT", stopPrice=near[2], price=near[3]
        )
        for _ in range(steps):
            assert isinstance(exchange.clock, FakeClock)
            exchange.clock.advance(DAY_MS / steps)
            exchange.orders.engine.settle(exchange.now_ms())
