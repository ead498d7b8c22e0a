"""What an order must be like, in the words of the exchange; how many there may be; and when a request is too late."""

from collections.abc import Mapping
from decimal import Decimal

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.trader import CENT, Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

NUMBER_RANGE = r"^([0-9]{1,20})(\.[0-9]{1,20})?$"
ID_RANGE = r"^[\.A-Z\:/a-z0-9_-]{1,36}$"


def told(answer: httpx2.Response) -> tuple[int, int, str]:
    return answer.status_code, answer.json()["code"], answer.json()["msg"]


@pytest.mark.parametrize(
    ("changes", "code", "msg"),
    [
        ({"side": "HOLD"}, -1117, "Invalid side."),
        ({"type": "BEST"}, -1116, "Invalid orderType."),
        ({"timeInForce": "DAY"}, -1115, "Invalid timeInForce."),
        ({"symbol": "NOPE"}, -1121, "Invalid symbol."),
        ({"side": None}, -1102, "Mandatory parameter 'side' was not sent, was empty/null, or malformed."),
        ({"timeInForce": None}, -1102, "Mandatory parameter 'timeInForce' was not sent, was empty/null, or malformed."),
        ({"price": None}, -1102, "Mandatory parameter 'price' was not sent, was empty/null, or malformed."),
        ({"quantity": ""}, -1105, "Parameter 'quantity' was empty."),
        (
            {"quantity": "1e-05"},
            -1100,
            f"Illegal characters found in parameter 'quantity'; legal range is '{NUMBER_RANGE}'.",
        ),
        ({"quantity": "0.000000001"}, -1111, "Parameter 'quantity' has too much precision."),
        ({"stopPrice": "1"}, -1106, "Parameter 'stopPrice' sent when not required."),
        ({"type": "LIMIT_MAKER"}, -1106, "Parameter 'timeInForce' sent when not required."),
        (
            {"newClientOrderId": "a b"},
            -1100,
            f"Illegal characters found in parameter 'newClientOrderId'; legal range is '{ID_RANGE}'.",
        ),
        (
            {"newClientOrderId": "a" * 37},
            -1100,
            f"Illegal characters found in parameter 'newClientOrderId'; legal range is '{ID_RANGE}'.",
        ),
        ({"newOrderRespType": "ALL"}, -1130, "Data sent for parameter 'newOrderRespType' is not valid."),
        (
            {"selfTradePreventionMode": "MAYBE"},
            -1130,
            "Data sent for parameter 'selfTradePreventionMode' is not valid.",
        ),
        ({"surprise": "1"}, -1104, "Not all sent parameters were read; read '8' parameter(s) but was sent '9'."),
        ({"quantity": "0.000001"}, -1013, "Filter failure: LOT_SIZE"),
        ({"quantity": "9001"}, -1013, "Filter failure: LOT_SIZE"),
        ({"price": "100000.001"}, -1013, "Filter failure: PRICE_FILTER"),
        ({"price": "1000001"}, -1013, "Filter failure: PRICE_FILTER"),
        ({"price": "900000"}, -1013, "Filter failure: PERCENT_PRICE_BY_SIDE"),
        ({"price": "100"}, -1013, "Filter failure: PERCENT_PRICE_BY_SIDE"),
        ({"quantity": "0.00002"}, -1013, "Filter failure: NOTIONAL"),
        (
            {"type": "MARKET", "timeInForce": None, "price": None, "quantity": "200"},
            -1013,
            "Filter failure: MARKET_LOT_SIZE",
        ),
        ({"symbol": "LUNAUSDT"}, -2010, "Market is closed."),
        (
            {"symbol": "TESTBUSDT", "type": "MARKET", "timeInForce": None, "price": None},
            -2010,
            "Market orders are not supported for this symbol.",
        ),
        (
            {"symbol": "TESTBUSDT", "type": "STOP_LOSS_LIMIT", "stopPrice": "1"},
            -2010,
            "Stop loss limit orders are not supported for this symbol.",
        ),
        (
            {"type": "STOP_LOSS", "timeInForce": None, "price": None, "stopPrice": "1"},
            -2010,
            "Order would trigger immediately.",
        ),
        ({"quantity": "0.5"}, -2010, "Account has insufficient balance for requested action."),
        ({"side": "SELL", "quantity": "0.5"}, -2010, "Account has insufficient balance for requested action."),
    ],
)
async def test_an_order_that_breaks_a_rule_is_refused_in_its_words(
    trader: Trader, changes: Mapping[str, object], code: int, msg: str
) -> None:
    before = await trader.balances()

    answer = await trader.place(**changes)

    assert told(answer) == (400, code, msg)
    assert not any("order-count" in name for name in answer.headers)
    assert trader.exchange.orders.accepted == []
    assert await trader.balances() == before


async def test_a_maker_order_that_would_take_is_rejected(trader: Trader) -> None:
    taking = await trader.place(type="LIMIT_MAKER", timeInForce=None, price=trader.ask())
    making = await trader.place(type="LIMIT_MAKER", timeInForce=None, price=trader.bid())

    assert told(taking) == (400, -2010, "Order would immediately match and take.")
    assert making.status_code == 200


async def test_only_so_many_stops_may_wait(trader: Trader) -> None:
    stop = (trader.bid() * Decimal("0.95")).quantize(CENT)
    sale: dict[str, object] = {"type": "STOP_LOSS_LIMIT", "side": "SELL", "stopPrice": stop, "price": stop - CENT}

    answers = [await trader.place(**sale, quantity="0.001") for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200] * 4 + [400]  # one of the five was there before
    assert told(answers[-1]) == (400, -1013, "Filter failure: MAX_NUM_ALGO_ORDERS")


async def test_a_position_has_a_limit_where_the_symbol_says_so(trader: Trader) -> None:
    symbol = trader.exchange.listing.symbols["TESTBUSDT"]
    top = trader.exchange.stage.market.top(symbol, trader.exchange.now_ms())
    assert top is not None
    price = symbol.price(top.bid[0] * 9 // 10)

    answer = await trader.place(symbol="TESTBUSDT", price=price, quantity="10001")

    assert told(answer)[1:] == (-1013, "Filter failure: MAX_POSITION")


async def test_a_cancel_needs_one_of_the_ids(trader: Trader) -> None:
    answer = await trader.send("DELETE", "order", {"symbol": "BTCUSDT"})

    expected = "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!"
    assert told(answer) == (400, -1102, expected)


async def test_a_cancel_may_be_restricted_to_what_is_untouched(trader: Trader) -> None:
    price = trader.far_below()
    await trader.place(newClientOrderId="one", price=price)
    refused = await trader.cancel("one", cancelRestrictions="ONLY_PARTIALLY_FILLED")
    wrong = await trader.cancel("one", cancelRestrictions="SOME")

    done = await trader.cancel("one", cancelRestrictions="ONLY_NEW")

    assert told(refused) == (400, -2011, "Order was not canceled due to cancel restrictions.")
    assert told(wrong)[1] == -1145
    assert done.status_code == 200


async def counts(trader: Trader) -> list[int]:
    return [row["count"] for row in (await trader.send("GET", "rateLimit/order", {})).json()]


async def test_orders_count_until_they_are_filled_and_the_headers_say_so(trader: Trader, clock: FakeClock) -> None:
    placed = [await trader.place() for _ in range(2)]
    filled = await trader.place(price=trader.ask())

    shown = [
        (answer.headers["x-mbx-order-count-10s"], answer.headers["x-mbx-order-count-1d"])
        for answer in (*placed, filled)
    ]
    assert shown == [("1", "1"), ("2", "2"), ("2", "2")]
    assert await counts(trader) == [2, 2]
    clock.advance(10_000)
    assert await counts(trader) == [0, 2]


async def test_too_many_orders_are_refused_until_the_window_ends(
    trader: Trader, guest: Trader, clock: FakeClock
) -> None:
    await trader.api.post("/control/orders", json={"orders_10s": 3})
    accepted = [await trader.place() for _ in range(3)]

    refused = await trader.place()

    assert [answer.status_code for answer in accepted] == [200] * 3
    assert told(refused) == (429, -1015, "Too many new orders; current limit is 3 orders per 10 SECOND.")
    assert not any("order-count" in name for name in refused.headers)
    wait = int(refused.headers["retry-after"])
    assert (await guest.place()).status_code == 200, "limits are those of an account"
    clock.advance(wait * 1_000)
    assert (await trader.place()).status_code == 200
    limits = (await trader.api.get("/api/v3/exchangeInfo")).json()["rateLimits"]
    assert {"rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": 3} in limits


@pytest.mark.parametrize(("delay_ms", "accepted"), [(1_900, 1), (2_100, 0)])
async def test_the_window_is_looked_at_again_before_the_engine(
    trader: Trader, exchange: SimulatedExchange, delay_ms: int, accepted: int
) -> None:
    await trader.api.post("/control/orders", json={"engine_delay_ms": delay_ms})

    answer = await trader.place(recvWindow="2000", newClientOrderId="late")

    assert (answer.status_code == 200) == bool(accepted)
    assert len(exchange.orders.accepted) == accepted
    if not accepted:
        assert told(answer) == (400, -1021, "Timestamp for this request is outside of the recvWindow.")


async def test_a_new_order_may_be_found_late(trader: Trader, clock: FakeClock) -> None:
    await trader.api.post("/control/orders", json={"visible_after_ms": 3_000})
    await trader.place(newClientOrderId="one")

    early = await trader.order("one")
    clock.advance(3_000)

    assert early == {"code": -2013, "msg": "Order does not exist."}
    assert (await trader.order("one"))["status"] == "NEW"
    assert (await trader.order("demo-4"))["status"] == "NEW"


async def test_a_symbol_that_only_cancels_takes_no_order_and_every_cancel(
    trader: Trader, api: httpx2.AsyncClient
) -> None:
    await trader.place(newClientOrderId="one")
    await api.post("/control/orders/flags", json={"symbol": "BTCUSDT", "status": "CANCEL_ONLY"})

    placed, cancelled = await trader.place(), await trader.cancel("one")

    (listed,) = (await api.get("/api/v3/exchangeInfo?symbol=BTCUSDT")).json()["symbols"]
    assert listed["status"] == "CANCEL_ONLY"
    assert told(placed) == (400, -2010, "Market is closed.")
    assert cancelled.json()["status"] == "CANCELED"
