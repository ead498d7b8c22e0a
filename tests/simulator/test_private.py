"""The account, its orders and its trades."""

from collections.abc import Awaitable, Callable
from decimal import Decimal

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]

HOUR_MS = 3_600_000


async def test_zero_balances_are_shown_unless_left_out(signed_get: Get) -> None:
    everything = (await signed_get("account")).json()["balances"]
    held = (await signed_get("account?omitZeroBalances=true")).json()["balances"]

    assert len(everything) > 30
    assert len(held) == 5
    assert [balance for balance in everything if Decimal(balance["free"]) or Decimal(balance["locked"])] == held


async def test_what_is_locked_is_what_the_open_orders_need(signed_get: Get) -> None:
    balances = {one["asset"]: one for one in (await signed_get("account?omitZeroBalances=true")).json()["balances"]}
    orders = (await signed_get("openOrders")).json()

    def needed(side: str, symbols: set[str]) -> Decimal:
        return sum(
            (
                (Decimal(order["origQty"]) - Decimal(order["executedQty"]))
                * (Decimal(order["price"]) if side == "BUY" else 1)
                for order in orders
                if order["side"] == side and order["symbol"] in symbols
            ),
            Decimal(0),
        )

    assert Decimal(balances["USDT"]["locked"]) == needed("BUY", {"BTCUSDT", "BNBUSDT"})
    assert Decimal(balances["BTC"]["locked"]) == needed("SELL", {"BTCUSDT"})
    assert Decimal(balances["ETH"]["locked"]) == needed("SELL", {"ETHUSDT"})


async def test_open_orders_are_shown_for_one_symbol_or_all(signed_get: Get) -> None:
    everything = (await signed_get("openOrders")).json()
    bitcoin = (await signed_get("openOrders?symbol=BTCUSDT")).json()

    assert {order["status"] for order in everything} == {"NEW", "PARTIALLY_FILLED"}
    assert len(everything) == 4
    assert [order["orderId"] for order in bitcoin] == [41_200_880_004, 41_200_880_005]
    assert [(order["isWorking"], order["workingTime"] > 0) for order in bitcoin] == [(True, True), (False, False)]


async def test_an_order_is_found_by_either_id(signed_get: Get) -> None:
    by_number = await signed_get("order?symbol=BTCUSDT&orderId=41200880004")
    by_name = await signed_get("order?symbol=BTCUSDT&origClientOrderId=demo-4")
    by_both = await signed_get("order?symbol=BTCUSDT&orderId=41200880004&origClientOrderId=demo-4")

    assert by_number.json() == by_name.json() == by_both.json()
    assert by_number.json()["clientOrderId"] == "demo-4"


@pytest.mark.parametrize(
    ("query", "code", "msg"),
    [
        ("orderId=5", -2013, "Order does not exist."),
        ("origClientOrderId=other", -2013, "Order does not exist."),
        ("orderId=41200880004&origClientOrderId=demo-5", -2039, "Client order ID is not correct for this order ID."),
        ("recvWindow=5000", -1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!"),
    ],
)
async def test_an_order_that_cannot_be_found_is_refused(signed_get: Get, query: str, code: int, msg: str) -> None:
    answer = await signed_get(f"order?symbol=BTCUSDT&{query}")

    assert answer.status_code == 400
    assert answer.json() == {"code": code, "msg": msg}


async def test_all_orders_come_by_age_from_an_id_inside_a_span_or_the_newest(signed_get: Get, clock: FakeClock) -> None:
    def numbers(answer: httpx2.Response) -> list[int]:
        return [order["orderId"] - 41_200_880_000 for order in answer.json()]

    now = clock.now_ms()
    assert numbers(await signed_get("allOrders?symbol=BTCUSDT")) == [1, 2, 4, 5]
    assert numbers(await signed_get("allOrders?symbol=BTCUSDT&limit=2")) == [4, 5]
    assert numbers(await signed_get("allOrders?symbol=BTCUSDT&orderId=41200880002&limit=2")) == [2, 4]
    assert numbers(await signed_get(f"allOrders?symbol=BTCUSDT&startTime={now - 4 * HOUR_MS}&limit=1")) == [2]
    assert numbers(await signed_get(f"allOrders?symbol=BTCUSDT&endTime={now - 2 * HOUR_MS}&limit=1")) == [2]
    assert numbers(await signed_get("allOrders?symbol=SOLUSDT")) == []


@pytest.mark.parametrize("path", ["allOrders", "myTrades"])
async def test_a_span_longer_than_a_day_is_refused(signed_get: Get, path: str) -> None:
    too_long = await signed_get(f"{path}?symbol=BTCUSDT&startTime=0&endTime=86400001")
    just_right = await signed_get(f"{path}?symbol=BTCUSDT&startTime=0&endTime=86400000")

    assert too_long.json() == {"code": -1127, "msg": "More than 24 hours between startTime and endTime."}
    assert just_right.json() == []


async def test_own_trades_belong_to_orders_and_to_the_market(signed_get: Get, get: Get) -> None:
    fill = (await signed_get("myTrades?symbol=BTCUSDT")).json()[0]
    order = (await signed_get(f"order?symbol=BTCUSDT&orderId={fill['orderId']}")).json()
    trade = (await get(f"historicalTrades?symbol=BTCUSDT&fromId={fill['id']}&limit=1")).json()[0]

    assert (order["status"], order["executedQty"]) == ("FILLED", fill["qty"])
    assert order["cummulativeQuoteQty"] == fill["quoteQty"]
    assert (trade["price"], trade["time"]) == (fill["price"], fill["time"])


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("orderId=41200880002", 1),
        ("orderId=7", 0),
        ("fromId=1", 1),
        ("fromId=99999999999", 0),
        ("orderId=41200880002&fromId=1", 1),
        ("startTime=1", 1),
        ("endTime=1", 0),
    ],
)
async def test_own_trades_are_filtered(signed_get: Get, query: str, count: int) -> None:
    assert len((await signed_get(f"myTrades?symbol=BTCUSDT&{query}")).json()) == count


@pytest.mark.parametrize("query", ["fromId=1&startTime=1", "orderId=1&startTime=1", "fromId=1&endTime=1&startTime=0"])
async def test_undocumented_combinations_of_filters_are_refused(signed_get: Get, query: str) -> None:
    assert (await signed_get(f"myTrades?symbol=BTCUSDT&{query}")).json()["code"] == -1128


async def test_before_the_market_began_there_are_balances_and_no_orders(
    signed_get: Get, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    clock.set_wall(1_499_827_319_559)
    exchange.set_scenario("market")

    assert (await signed_get("openOrders")).json() == []
    locked = [one["locked"] for one in (await signed_get("account?omitZeroBalances=true")).json()["balances"]]
    assert set(locked) == {"0.00000000"}
