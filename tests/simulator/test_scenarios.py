"""The named scenarios."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from math import log, sqrt

import httpx2
import pytest

from binance_simulator.exchange import REMEMBERED_REQUESTS, ReceivedRequest, SimulatedExchange
from support.clock import FakeClock
from support.desk import raw

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]


@pytest.fixture
def contract(exchange: SimulatedExchange) -> SimulatedExchange:
    exchange.set_scenario("contract")
    return exchange


def moment(milliseconds: int) -> str:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("symbol", "expected", "closed"),
    [
        (
            "BTCUSDT",
            {
                "lastPrice": "50234.56000000",
                "priceChange": "1234.56000000",
                "priceChangePercent": "2.500",
                "highPrice": "51000.00000000",
                "lowPrice": "49000.00000000",
                "volume": "12345.67000000",
                "quoteVolume": "620123456.78000000",
                "weightedAvgPrice": "50150.32000000",
                "count": 45678,
            },
            "2025-10-17T14:23:45.123Z",
        ),
        (
            "ETHUSDT",
            {
                "lastPrice": "3000.50000000",
                "priceChange": "-45.25000000",
                "priceChangePercent": "-1.500",
                "highPrice": "3050.00000000",
                "lowPrice": "2980.00000000",
                "volume": "25678.90000000",
                "quoteVolume": "77036700.00000000",
                "weightedAvgPrice": "3005.12000000",
                "count": 38234,
            },
            "2025-10-17T14:23:50.456Z",
        ),
    ],
)
@pytest.mark.usefixtures("contract")
async def test_the_sample_tickers_stand_still(
    get: Get, clock: FakeClock, symbol: str, expected: dict[str, object], closed: str
) -> None:
    first = (await get(f"ticker/24hr?symbol={symbol}")).json()
    clock.advance(3_600_000)
    later = (await get(f"ticker/24hr?symbol={symbol}")).json()

    for ticker in (first, later):
        assert {name: ticker[name] for name in expected} == expected
        assert moment(ticker["closeTime"]) == closed
        assert Decimal(ticker["lastPrice"]) - Decimal(ticker["openPrice"]) == Decimal(ticker["priceChange"])
        assert Decimal(ticker["bidPrice"]) <= Decimal(ticker["lastPrice"]) <= Decimal(ticker["askPrice"])


@pytest.mark.usefixtures("contract")
async def test_the_sample_prices_are_those_of_every_endpoint(get: Get) -> None:
    prices = {body["symbol"]: body["price"] for body in (await get("ticker/price")).json()}
    binance_coin = (await get("ticker/24hr?symbol=BNBUSDT")).json()

    assert prices["BTCUSDT"] == "50234.56000000"
    # The samples are of two moments: the list of prices is five seconds older than Ethereum's ticker.
    assert prices["ETHUSDT"] == "3000.00000000"
    assert prices["BNBUSDT"] == binance_coin["lastPrice"] == "300.00000000"
    assert Decimal(binance_coin["lowPrice"]) <= 300 <= Decimal(binance_coin["highPrice"])


@pytest.mark.parametrize("now_ms", [1_760_711_025_123, 1_784_592_123_456, 1_900_000_000_000])
@pytest.mark.parametrize("symbol", ["BTCUSDT", "ETHUSDT"])
async def test_candles_trades_and_book_are_those_of_the_sample_ticker(
    get: Get, exchange: SimulatedExchange, clock: FakeClock, symbol: str, now_ms: int
) -> None:
    clock.set_wall(now_ms)
    exchange.set_scenario("contract")

    ticker = (await get(f"ticker/24hr?symbol={symbol}")).json()
    for later_ms in (0, 7_200_000):
        clock.advance(later_ms)
        hours = (await get(f"klines?symbol={symbol}&interval=1h&limit=25")).json()
        (trade,) = (await get(f"trades?symbol={symbol}&limit=1")).json()
        (book,) = [(await get(f"depth?symbol={symbol}&limit=5")).json()]
        assert trade["price"] == hours[-1][4] == ticker["lastPrice"]
        assert ticker["lastPrice"] in {book["bids"][0][0], book["asks"][0][0]}
    clock.advance(-7_200_000)
    minutes = (await get(f"klines?symbol={symbol}&interval=5m&limit=288")).json()
    assert minutes[0][1] == ticker["openPrice"]
    assert max(Decimal(row[2]) for row in minutes) == Decimal(ticker["highPrice"])
    assert min(Decimal(row[3]) for row in minutes) == Decimal(ticker["lowPrice"])


@pytest.mark.parametrize("seed", [7, 8, 2026])
@pytest.mark.parametrize(("scenario", "usual_day"), [("contract", (0.009, 0.0125)), ("contract_noise", (0.027, 0.033))])
async def test_the_sample_day_follows_three_weeks_as_quiet_or_as_loud_as_said(
    clock: FakeClock, seed: int, scenario: str, usual_day: tuple[float, float]
) -> None:
    clock.set_wall(1_760_711_025_123)
    market = SimulatedExchange(clock, seed=seed, scenario=scenario)

    rows = (await raw(market, "klines?symbol=BTCUSDT&interval=1h&limit=530"))[:-1]
    closes = [float(row[4]) for row in rows]
    moves = [log(after / before) for before, after in pairwise(closes)]
    before, day = moves[-24 - 21 * 24 : -24], moves[-24:]
    highs, lows = [float(row[2]) for row in rows], [float(row[3]) for row in rows]

    assert usual_day[0] < sqrt(sum(each * each for each in before) / len(before) * 24) < usual_day[1]
    assert sum(day) / sqrt(sum(each * each for each in day)) > 1.96
    assert (max(highs[-24:]), min(lows[-24:])) == (51_000, 49_000)
    places = range(len(rows) - 197, len(rows) - 24)
    turns = [highs[at] for at in places if highs[at] > max(highs[at - 3 : at] + highs[at + 1 : at + 4])]
    dips = [lows[at] for at in places if lows[at] < min(lows[at - 3 : at] + lows[at + 1 : at + 4])]
    assert scenario == "contract_noise" or sum(49_600 <= each <= 49_900 for each in dips) >= 2
    tops = sum(51_950 <= each <= 52_050 for each in turns)
    assert tops >= 2 if scenario == "contract" else not tops


@pytest.mark.usefixtures("contract")
async def test_pairs_of_sample_coins_agree_with_their_dollar_prices(get: Get) -> None:
    prices = {body["symbol"]: Decimal(body["price"]) for body in (await get("ticker/price")).json()}

    assert prices["ETHBTC"] == round(Decimal("3000.50") / prices["BTCUSDT"], 5)
    assert prices["BNBBTC"] == round(prices["BNBUSDT"] / prices["BTCUSDT"], 6)


@pytest.mark.usefixtures("contract")
async def test_the_sample_account_holds_four_assets(signed_get: Get) -> None:
    account = (await signed_get("account?omitZeroBalances=true")).json()

    assert [tuple(balance.values()) for balance in account["balances"]] == [
        ("BTC", "0.50000000", "0.00000000"),
        ("ETH", "5.20000000", "0.50000000"),
        ("USDT", "10000.00000000", "500.00000000"),
        ("BNB", "20.00000000", "0.00000000"),
    ]
    assert (account["canTrade"], account["canWithdraw"], account["canDeposit"]) == (True, False, False)
    assert moment(account["updateTime"]) == "2025-10-17T14:24:00.789Z"


@pytest.mark.usefixtures("contract")
async def test_the_sample_orders_are_served_as_the_sample_prints_them(signed_get: Get) -> None:
    orders = (await signed_get("openOrders")).json()

    names = ("orderId", "symbol", "side", "type", "price", "origQty", "executedQty", "status")
    assert [tuple(order[name] for name in names) for order in orders] == [
        (12345, "BTCUSDT", "BUY", "LIMIT", "49000.00", "0.001", "0.000", "NEW"),
        (12346, "ETHUSDT", "SELL", "LIMIT", "3100.00", "0.5", "0.000", "NEW"),
        (12347, "BNBUSDT", "BUY", "LIMIT", "295.00", "10.0", "5.0", "PARTIALLY_FILLED"),
    ]
    assert [moment(order["time"]) for order in orders] == [
        "2025-10-17T14:20:00.000Z",
        "2025-10-17T14:22:15.000Z",
        "2025-10-17T14:18:30.000Z",
    ]


async def test_an_empty_account_has_nothing_in_a_moving_market(
    get: Get, signed_get: Get, exchange: SimulatedExchange
) -> None:
    moving = (await get("ticker/price?symbol=BTCUSDT")).json()
    exchange.set_scenario("empty_account")

    assert (await signed_get("account?omitZeroBalances=true")).json()["balances"] == []
    assert (await signed_get("openOrders")).json() == []
    assert (await get("ticker/price?symbol=BTCUSDT")).json() == moving


def test_an_unknown_scenario_is_refused_with_the_known_ones(exchange: SimulatedExchange) -> None:
    with pytest.raises(ValueError, match="market, contract, contract_noise, empty_account, quiet"):
        exchange.set_scenario("boom")

    assert exchange.scenario == "market"


async def test_every_request_is_remembered_without_its_signature(
    get: Get, signed_get: Get, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await get("ticker/price?symbol=BTCUSDT")
    await signed_get("order?symbol=BTCUSDT&orderId=1")

    now = clock.now_ms()
    assert exchange.requests == [
        ReceivedRequest(
            "GET", "/api/v3/ticker/price", {"symbol": "BTCUSDT"}, signed=False, at_ms=now, status=200, weight=2
        ),
        ReceivedRequest(
            "GET",
            "/api/v3/order",
            {"symbol": "BTCUSDT", "orderId": "1", "timestamp": str(now)},
            signed=True,
            at_ms=now,
            status=400,
            weight=4,
        ),
    ]


def test_the_memory_of_requests_is_bounded(exchange: SimulatedExchange) -> None:
    for number in range(REMEMBERED_REQUESTS + 1):
        exchange.record(ReceivedRequest("GET", "/", {}, signed=False, at_ms=number))

    assert len(exchange.requests) == REMEMBERED_REQUESTS // 2 + 1
    assert exchange.requests[-1].at_ms == REMEMBERED_REQUESTS
