"""The 24 hour ticker is the sum of the trades in its window, and its prices are those of the other endpoints."""

from collections.abc import Awaitable, Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.rest.tickers import percent
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]

DAY_MS = 86_400_000
TIMES = [1_784_592_123_456, 1_784_592_000_000, 1_760_711_025_123]


async def trades_of(get: Get, symbol: str, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
    first = (await get(f"aggTrades?symbol={symbol}&startTime={start_ms}&limit=1")).json()[0]["f"]
    trades: list[dict[str, Any]] = []
    while True:
        batch = (await get(f"historicalTrades?symbol={symbol}&fromId={first}&limit=1000")).json()
        inside = [trade for trade in batch if trade["time"] <= end_ms]
        trades += inside
        if len(inside) < 1000:
            return trades
        first = inside[-1]["id"] + 1


def total(trades: list[dict[str, Any]], name: str) -> Decimal:
    return sum((Decimal(trade[name]) for trade in trades), Decimal(0))


@pytest.mark.parametrize(("symbol", "now_ms"), list(zip(["ETHBTC", "PEPEUSDT", "TESTBUSDT"], TIMES, strict=True)))
@pytest.mark.slow
async def test_the_day_is_exactly_the_sum_of_its_trades(get: Get, clock: FakeClock, symbol: str, now_ms: int) -> None:
    clock.set_wall(now_ms)
    ticker = (await get(f"ticker/24hr?symbol={symbol}")).json()

    trades = await trades_of(get, symbol, now_ms - DAY_MS, now_ms)

    volume = total(trades, "qty")
    value = total(trades, "quoteQty")
    assert ticker["openTime"] == now_ms - DAY_MS
    assert ticker["closeTime"] == now_ms
    assert (ticker["openPrice"], ticker["lastPrice"]) == (trades[0]["price"], trades[-1]["price"])
    assert ticker["lastQty"] == trades[-1]["qty"]
    assert Decimal(ticker["highPrice"]) == max(Decimal(trade["price"]) for trade in trades)
    assert Decimal(ticker["lowPrice"]) == min(Decimal(trade["price"]) for trade in trades)
    assert Decimal(ticker["volume"]) == volume
    assert Decimal(ticker["quoteVolume"]) == value
    assert value == sum(Decimal(trade["qty"]) * Decimal(trade["price"]) for trade in trades)
    assert (ticker["firstId"], ticker["lastId"]) == (trades[0]["id"], trades[-1]["id"])
    assert ticker["count"] == len(trades)
    assert ticker["weightedAvgPrice"] == str((value / volume).quantize(Decimal("1e-8"), ROUND_HALF_UP))
    assert Decimal(ticker["priceChange"]) == Decimal(ticker["lastPrice"]) - Decimal(ticker["openPrice"])


@pytest.mark.parametrize("now_ms", TIMES)
async def test_one_moment_has_one_price_everywhere(get: Get, clock: FakeClock, now_ms: int) -> None:
    clock.set_wall(now_ms)
    days = {body["symbol"]: body for body in (await get("ticker/24hr")).json()}
    prices = {body["symbol"]: body["price"] for body in (await get("ticker/price")).json()}
    tops = {body["symbol"]: body for body in (await get("ticker/bookTicker")).json()}

    moving = [symbol for symbol, body in days.items() if body["count"]]
    assert len(moving) == 41
    for symbol in moving:
        day, top = days[symbol], tops[symbol]
        assert day["lastPrice"] == prices[symbol]
        assert {name: day[name] for name in top} == top
        assert Decimal(top["bidPrice"]) < Decimal(top["askPrice"])
        assert Decimal(top["bidPrice"]) <= Decimal(day["lastPrice"]) <= Decimal(top["askPrice"])


async def test_the_price_changes_while_the_clock_runs(get: Get, clock: FakeClock) -> None:
    seen: set[str] = set()
    for _ in range(10):
        seen.add((await get("ticker/price?symbol=BTCUSDT")).json()["price"])
        clock.advance(10_000)

    assert len(seen) > 5


@pytest.mark.parametrize("symbol", ["LUNAUSDT", "MATICUSDT", "BTCBUSD", "TESTAUSDT"])
async def test_a_symbol_that_does_not_trade_has_an_empty_day(get: Get, symbol: str) -> None:
    ticker = (await get(f"ticker/24hr?symbol={symbol}")).json()
    depth = (await get(f"depth?symbol={symbol}")).json()
    average = (await get(f"avgPrice?symbol={symbol}")).json()

    assert (ticker["count"], ticker["firstId"], ticker["lastId"]) == (0, -1, -1)
    assert {ticker[name] for name in ("lastPrice", "openPrice", "volume", "bidPrice", "askQty")} == {"0.00000000"}
    assert Decimal(ticker["prevClosePrice"]) > 0
    assert (depth["bids"], depth["asks"]) == ([], [])
    assert average["price"] == ticker["prevClosePrice"]


async def test_the_average_of_five_minutes_is_value_over_volume(get: Get, clock: FakeClock) -> None:
    average = (await get("avgPrice?symbol=BNBUSDT")).json()

    start = clock.now_ms() - 300_000
    trades = await trades_of(get, "BNBUSDT", start, clock.now_ms())
    value = total(trades, "quoteQty")
    volume = total(trades, "qty")
    assert average["price"] == str((value / volume).quantize(Decimal("1e-8"), ROUND_HALF_UP))
    assert (average["mins"], average["closeTime"]) == (5, trades[-1]["time"])


async def test_many_symbols_come_in_the_order_asked_for(get: Get) -> None:
    answer = await get("ticker/24hr?symbols=%5B%22PEPEUSDT%22,%22%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT%22%5D")

    assert [body["symbol"] for body in answer.json()] == ["PEPEUSDT", "币安人生USDT"]
    assert "币安人生USDT".encode() in answer.content


async def test_a_status_leaves_others_out_of_a_list_but_refuses_a_single_symbol(get: Get) -> None:
    halted = (await get("ticker/price?symbolStatus=HALT")).json()
    single = await get("ticker/price?symbol=BTCUSDT&symbolStatus=HALT")
    unknown = await get("ticker/price?symbol=BTCUSDT&symbolStatus=OPEN")

    assert [body["symbol"] for body in halted] == ["BTCBUSD"]
    assert (single.status_code, single.json()["code"]) == (400, -1220)
    assert unknown.json()["code"] == -1122


async def test_low_precision_assets_show_fewer_decimals(get: Get) -> None:
    trade = (await get("trades?symbol=SHIBUSDT&limit=1")).json()[0]

    assert len(trade["qty"].partition(".")[2]) == 2
    assert len(trade["price"].partition(".")[2]) == 8


@pytest.mark.parametrize(
    ("change", "opened", "text"),
    [
        (25, 1000, "2.500"),
        (-15, 1000, "-1.500"),
        (0, 5, "0.000"),
        (1, 3, "33.333"),
        (2, 3, "66.667"),
        (-1, 10**9, "0.000"),
    ],
)
def test_a_change_is_shown_in_per_cent_with_three_decimals(change: int, opened: int, text: str) -> None:
    assert percent(change, opened) == text


async def test_an_unknown_type_is_refused(get: Get) -> None:
    assert (await get("ticker/24hr?symbol=BTCUSDT&type=SMALL")).json()["code"] == -1130


async def test_a_quiet_market_shows_its_last_price_and_nothing_else(get: Get, exchange: SimulatedExchange) -> None:
    exchange.set_scenario("quiet")

    ticker = (await get("ticker/24hr?symbol=BTCUSDT")).json()
    price = (await get("ticker/price?symbol=BTCUSDT")).json()["price"]

    assert ticker["count"] == 0
    assert ticker["prevClosePrice"] == price != "0.00000000"


@pytest.mark.parametrize(
    ("query", "opened_ms"),
    [
        ("ticker?symbol=BTCUSDT&windowSize=1h", 1_784_588_520_000),
        ("ticker?symbol=BTCUSDT&windowSize=2d", 1_784_419_320_000),
        ("ticker/tradingDay?symbol=BTCUSDT", 1_784_592_000_000),
        ("ticker/tradingDay?symbol=BTCUSDT&timeZone=8", 1_784_563_200_000),
    ],
)
async def test_a_window_begins_where_it_was_asked_to(get: Get, clock: FakeClock, query: str, opened_ms: int) -> None:
    clock.set_wall(TIMES[0])

    body = (await get(query)).json()
    mini = (await get(f"{query}&type=MINI")).json()

    assert body["openTime"] == opened_ms
    assert body["count"] > 0
    assert mini == {name: body[name] for name in mini}
    assert "priceChange" not in mini


@pytest.mark.parametrize(
    ("query", "code"),
    [("ticker?symbol=BTCUSDT&windowSize=60m", -1130), ("ticker?symbol=BTCUSDT&windowSize=1w", -1130),
     ("ticker", -1102), ("ticker/tradingDay?symbol=BTCUSDT&timeZone=99", -1130)],
)  # fmt: skip
async def test_a_window_that_does_not_exist_is_refused(get: Get, query: str, code: int) -> None:
    assert (await get(query)).json()["code"] == code


async def test_a_window_weighs_four_for_each_symbol(get: Get, exchange: SimulatedExchange) -> None:
    bodies = (await get("ticker?symbols=[%22BTCUSDT%22,%22ETHUSDT%22]")).json()

    assert [each["symbol"] for each in bodies] == ["BTCUSDT", "ETHUSDT"]
    assert exchange.requests[-1].weight == 8
