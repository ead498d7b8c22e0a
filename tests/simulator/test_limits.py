"""Weights, the minute they are counted in, and what happens to those who go on."""

from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime

import httpx2
import pytest

from binance_simulator.account import WeightMeter
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Listing
from binance_simulator.refusals import Refusal
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]

NAMES = sorted(Listing().symbols)[:30]


def symbols(count: int) -> str:
    return "symbols=[" + ",".join(f'"{name}"' for name in NAMES[:count]) + "]"


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        ("ping", 1),
        ("time", 1),
        ("exchangeInfo", 20),
        ("exchangeInfo?symbol=BTCUSDT", 20),
        ("depth?symbol=BTCUSDT", 5),
        ("depth?symbol=BTCUSDT&limit=100", 5),
        ("depth?symbol=BTCUSDT&limit=101", 25),
        ("depth?symbol=BTCUSDT&limit=500", 25),
        ("depth?symbol=BTCUSDT&limit=501", 50),
        ("depth?symbol=BTCUSDT&limit=1000", 50),
        ("depth?symbol=BTCUSDT&limit=1001", 250),
        ("depth?symbol=BTCUSDT&limit=5000", 250),
        ("trades?symbol=BTCUSDT", 25),
        ("historicalTrades?symbol=BTCUSDT", 25),
        ("aggTrades?symbol=BTCUSDT", 4),
        ("klines?symbol=BTCUSDT&interval=1m", 2),
        ("uiKlines?symbol=BTCUSDT&interval=1m", 2),
        ("avgPrice?symbol=BTCUSDT", 2),
        ("ticker/24hr?symbol=BTCUSDT", 2),
        (f"ticker/24hr?{symbols(1)}", 2),
        (f"ticker/24hr?{symbols(20)}", 2),
        (f"ticker/24hr?{symbols(21)}", 40),
        ("ticker/24hr", 80),
        ("ticker/price?symbol=BTCUSDT", 2),
        (f"ticker/price?{symbols(2)}", 4),
        ("ticker/price", 4),
        ("ticker/bookTicker?symbol=BTCUSDT", 2),
        ("ticker/bookTicker", 4),
    ],
)
async def test_a_public_request_costs_its_weight(get: Get, path: str, weight: int) -> None:
    answer = await get(path)

    assert answer.status_code == 200
    assert answer.headers["x-mbx-used-weight"] == answer.headers["x-mbx-used-weight-1m"] == str(weight)


async def test_more_than_a_hundred_symbols_cost_as_much_as_all(get: Get) -> None:
    answer = await get("ticker/24hr?symbols=[" + ",".join(f'"A{number}"' for number in range(101)) + "]")

    assert answer.json()["code"] == -1121
    assert answer.headers["x-mbx-used-weight-1m"] == "80"


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        ("account", 20),
        ("openOrders", 80),
        ("openOrders?symbol=BTCUSDT", 6),
        ("allOrders?symbol=BTCUSDT", 20),
        ("order?symbol=BTCUSDT&origClientOrderId=demo-4", 4),
        ("myTrades?symbol=BTCUSDT", 20),
        ("myTrades?symbol=BTCUSDT&orderId=41200880002", 5),
        ("rateLimit/order", 40),
        ("account/commission?symbol=BTCUSDT", 20),
    ],
)
async def test_a_signed_request_costs_its_weight(
    signed_get: Get, exchange: SimulatedExchange, path: str, weight: int
) -> None:
    answer = await signed_get(path)

    assert answer.status_code == 200
    assert answer.headers["x-mbx-used-weight-1m"] == str(weight)
    assert (exchange.requests[0].weight, exchange.requests[0].signed) == (weight, True)


async def test_errors_carry_and_cost_weight_too(get: Get) -> None:
    await get("depth?symbol=NOSUCH&limit=1000")
    answer = await get("account")

    assert answer.status_code == 401
    assert answer.headers["x-mbx-used-weight-1m"] == "70"


async def test_the_count_starts_again_with_the_minute_of_the_clock(get: Get, clock: FakeClock) -> None:
    clock.set_wall(60_000 * 30_000_000 - 1)
    before = await get("exchangeInfo")
    clock.advance(1)
    after = await get("ping")

    assert before.headers["x-mbx-used-weight-1m"] == "20"
    assert after.headers["x-mbx-used-weight-1m"] == "1"


async def test_the_date_is_that_of_the_exchange(get: Get, exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.skew_ms = 120_000

    answer = await get("time")

    seconds = (clock.now_ms() + 120_000) // 1000
    assert parsedate_to_datetime(answer.headers["date"]).timestamp() == seconds
    assert answer.json()["serverTime"] // 1000 == seconds
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"


async def test_over_the_limit_is_429_going_on_is_418_and_waiting_heals(
    get: Get, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.weight_limit = 40
    clock.set_wall(60_000 * 30_000_000 + 22_500)
    for _ in range(2):
        assert (await get("exchangeInfo")).status_code == 200

    refused = await get("ping")
    banned = await get("ping")
    clock.advance(119_999)
    still_banned = await get("ping")
    clock.advance(1)
    healed = await get("ping")

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "38")
    assert refused.json() == {
        "code": -1003,
        "msg": "Too much request weight used; current limit is 40 request weight per 1 MINUTE. "
        "Please use WebSocket Streams for live updates to avoid polling the API.",
    }
    until = 60_000 * 30_000_000 + 22_500 + 120_000
    assert (banned.status_code, banned.headers["retry-after"]) == (418, "120")
    assert banned.json() == {
        "code": -1003,
        "msg": f"Way too much request weight used; IP banned until {until}. "
        "Please use WebSocket Streams for live updates to avoid bans.",
    }
    assert (still_banned.status_code, still_banned.headers["retry-after"]) == (418, "1")
    assert healed.status_code == 200


async def test_waiting_as_told_avoids_the_ban(get: Get, exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.weight_limit = 1
    await get("ping")
    refused = await get("ping")

    clock.advance(1000 * int(refused.headers["retry-after"]))

    assert (await get("ping")).status_code == 200


async def test_each_further_ban_is_twice_as_long(get: Get, exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.weight_limit = 0
    waits: list[str] = []
    for _ in range(3):
        assert (await get("ping")).status_code == 429
        banned = await get("ping")
        waits.append(banned.headers["retry-after"])
        clock.advance(1000 * int(waits[-1]))

    assert waits == ["120", "240", "480"]


def test_a_patient_exchange_lets_some_calls_pass_before_it_bans() -> None:
    meter = WeightMeter(0)
    meter.calls_before_ban = 2
    statuses: list[int] = []
    for _ in range(4):
        with pytest.raises(Refusal) as caught:
            meter.charge(1, 0)
        statuses.append(caught.value.status)

    assert statuses == [429, 429, 429, 418]


async def test_exchange_info_shows_the_limit_in_force(get: Get, exchange: SimulatedExchange) -> None:
    exchange.weight_limit = 1200

    limits = (await get("exchangeInfo?symbol=BTCUSDT")).json()["rateLimits"]

    assert [limit["limit"] for limit in limits if limit["rateLimitType"] == "REQUEST_WEIGHT"] == [1200]
    assert exchange.weight_limit == 1200
