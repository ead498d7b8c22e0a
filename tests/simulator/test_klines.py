"""Candles over HTTP: every interval is made of the same trades."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby, pairwise

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]
Row = list[str | int]

INTERVALS = ["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"]
MINUTE_MS = 60_000
DAY_MS = 86_400_000


async def rows_of(get: Get, query: str) -> list[Row]:
    answer = await get(f"klines?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def added(rows: list[Row]) -> list[object]:
    """Add rows up: open, high, low, close, volume, value, count, taker volume, taker value."""
    amounts = [sum(Decimal(row[column]) for row in rows) for column in (5, 7, 8, 9, 10)]
    high, low = max(Decimal(row[2]) for row in rows), min(Decimal(row[3]) for row in rows)
    return [Decimal(rows[0][1]), high, low, Decimal(rows[-1][4]), *amounts]


@pytest.mark.parametrize(
    ("long", "short", "span_ms"),
    [
        ("1m", "1s", MINUTE_MS),
        ("3m", "1m", 3 * MINUTE_MS),
        ("5m", "1m", 5 * MINUTE_MS),
        ("15m", "5m", 15 * MINUTE_MS),
        ("30m", "3m", 30 * MINUTE_MS),
        ("1h", "1m", 60 * MINUTE_MS),
        ("4h", "15m", 240 * MINUTE_MS),
        ("12h", "2h", 720 * MINUTE_MS),
        ("1d", "6h", DAY_MS),
        ("3d", "1d", 3 * DAY_MS),
        ("1w", "1d", 7 * DAY_MS),
    ],
)
@pytest.mark.parametrize("symbol", ["BTCUSDT", "XRPBTC", "SHIBUSDT"])
async def test_short_candles_add_up_to_the_long_one(get: Get, symbol: str, long: str, short: str, span_ms: int) -> None:
    whole = (await rows_of(get, f"symbol={symbol}&interval={long}&limit=3"))[0]
    start = int(whole[0])

    parts = await rows_of(
        get, f"symbol={symbol}&interval={short}&startTime={start}&endTime={start + span_ms - 1}&limit=1000"
    )

    assert added([whole]) == added(parts)
    assert whole[6] == start + span_ms - 1 == parts[-1][6]


@pytest.mark.parametrize("interval", INTERVALS)
async def test_the_newest_candle_ends_in_the_future_and_holds_only_what_was_traded(
    get: Get, clock: FakeClock, interval: str
) -> None:
    newest = (await rows_of(get, f"symbol=BTCUSDT&interval={interval}&limit=1"))[-1]
    price = (await get("ticker/price?symbol=BTCUSDT")).json()["price"]

    assert int(newest[0]) <= clock.now_ms() <= int(newest[6])
    assert newest[4] == price


@pytest.mark.parametrize("interval", INTERVALS)
async def test_candles_follow_each_other_without_a_gap(get: Get, interval: str) -> None:
    rows = await rows_of(get, f"symbol=ETHUSDT&interval={interval}&limit=1000")

    assert all(int(one[6]) + 1 == two[0] for one, two in pairwise(rows))
    assert all(Decimal(row[3]) <= min(Decimal(row[1]), Decimal(row[4])) for row in rows)
    assert all(Decimal(row[2]) >= max(Decimal(row[1]), Decimal(row[4])) for row in rows)


async def test_a_minute_is_the_sum_of_its_trades(get: Get, clock: FakeClock) -> None:
    minute, newest = await rows_of(get, "symbol=ETHBTC&interval=1m&limit=2")
    trades = (await get("trades?symbol=ETHBTC&limit=200")).json()
    by_minute = {key: list(group) for key, group in groupby(trades, lambda trade: trade["time"] // MINUTE_MS)}

    for row in (minute, newest):
        own = by_minute[int(row[0]) // MINUTE_MS]
        assert Decimal(row[5]) == sum(Decimal(trade["qty"]) for trade in own)
        assert Decimal(row[7]) == sum(Decimal(trade["quoteQty"]) for trade in own)
        assert Decimal(row[10]) == sum(Decimal(trade["quoteQty"]) for trade in own if not trade["isBuyerMaker"])
        assert (row[1], row[4], row[8]) == (own[0]["price"], own[-1]["price"], len(own))
    assert int(newest[6]) > clock.now_ms()


async def test_a_second_without_trades_repeats_the_close_before_it(get: Get) -> None:
    rows = await rows_of(get, "symbol=BTCUSDT&interval=1s&limit=200")

    still = [(one, two) for one, two in pairwise(rows) if two[8] == 0]

    assert still
    assert all(two[1:5] == [one[4]] * 4 and Decimal(two[5]) == 0 for one, two in still)


async def test_weeks_open_on_monday_and_months_on_the_first(get: Get) -> None:
    weeks = await rows_of(get, "symbol=BTCUSDT&interval=1w&limit=10")
    months = await rows_of(get, "symbol=BTCUSDT&interval=1M&limit=10")

    assert {datetime.fromtimestamp(int(row[0]) // 1000, UTC).weekday() for row in weeks} == {0}
    assert {datetime.fromtimestamp(int(row[0]) // 1000, UTC).day for row in months} == {1}


@pytest.mark.parametrize(("zone", "hour"), [("8", 16), ("%2B05:45", 18), ("-1:00", 1), ("-12:00", 12), ("14", 10)])
async def test_a_time_zone_moves_where_days_open(get: Get, zone: str, hour: int) -> None:
    days = await rows_of(get, f"symbol=BTCUSDT&interval=1d&limit=3&timeZone={zone}")
    months = await rows_of(get, f"symbol=BTCUSDT&interval=1M&limit=3&timeZone={zone}")

    assert {datetime.fromtimestamp(int(row[0]) // 1000, UTC).hour for row in days} == {hour}
    assert {datetime.fromtimestamp(int(row[0]) // 1000, UTC).hour for row in months} == {hour}


@pytest.mark.parametrize("zone", ["15", "-13", "x", "-12:30", "1:99"])
async def test_a_time_zone_outside_the_documented_range_is_refused(get: Get, zone: str) -> None:
    answer = await get(f"klines?symbol=BTCUSDT&interval=1d&timeZone={zone}")

    assert answer.json()["code"] == -1130


async def test_from_a_start_come_the_oldest_and_up_to_an_end_the_newest(get: Get, clock: FakeClock) -> None:
    minute = clock.now_ms() // MINUTE_MS * MINUTE_MS
    start, end = minute - 100 * MINUTE_MS, minute - 50 * MINUTE_MS

    from_start = await rows_of(get, f"symbol=BTCUSDT&interval=1m&startTime={start}&limit=5")
    past_start = await rows_of(get, f"symbol=BTCUSDT&interval=1m&startTime={start + 1}&limit=5")
    to_end = await rows_of(get, f"symbol=BTCUSDT&interval=1m&endTime={end}&limit=5")
    both = await rows_of(get, f"symbol=BTCUSDT&interval=1m&startTime={start}&endTime={end}&limit=1000")

    assert [row[0] for row in from_start] == [start + step * MINUTE_MS for step in range(5)]
    assert past_start[0][0] == start + MINUTE_MS
    assert [row[0] for row in to_end] == [end + step * MINUTE_MS for step in range(-4, 1)]
    assert [both[0][0], both[-1][0], len(both)] == [start, end, 51]


async def test_there_are_no_candles_of_the_future_or_before_the_listing(get: Get, clock: FakeClock) -> None:
    future = clock.now_ms() + DAY_MS

    assert await rows_of(get, f"symbol=BTCUSDT&interval=1M&startTime={future}") == []
    assert await rows_of(get, "symbol=BTCUSDT&interval=1M&startTime=99999999999999999999") == []
    assert await rows_of(get, "symbol=BTCUSDT&interval=1h&endTime=1000000000000") == []


async def test_history_starts_with_the_listing(get: Get) -> None:
    oldest = await rows_of(get, "symbol=BTCUSDT&interval=1d&startTime=0&limit=1")

    assert datetime.fromtimestamp(int(oldest[0][0]) // 1000, UTC) == datetime(2023, 1, 1, tzinfo=UTC)


async def test_candles_begin_with_the_first_trade(get: Get) -> None:
    listed_ms = int((await rows_of(get, "symbol=BNBUSDT&interval=1d&startTime=0&limit=1"))[0][0])

    seconds = await rows_of(get, f"symbol=BNBUSDT&interval=1s&startTime={listed_ms}&limit=10")

    assert 0 < len(seconds) < 10
    assert int(seconds[0][8]) > 0
    assert [int(row[0]) for row in seconds] == list(range(int(seconds[0][0]), listed_ms + 10_000, 1000))


async def test_a_clock_before_the_listing_finds_no_market(
    get: Get, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    clock.set_wall(1_499_827_319_559)
    exchange.set_scenario("market")

    assert await rows_of(get, "symbol=BTCUSDT&interval=1m") == []
    assert (await get("ticker/price?symbol=BTCUSDT")).json()["price"] == "0.00000000"
    assert (await get("avgPrice?symbol=BTCUSDT")).json()["price"] == "0.00000000"
    assert (await get("depth?symbol=BTCUSDT")).json() == {"lastUpdateId": 0, "bids": [], "asks": []}
    assert (await get("ticker/24hr?symbol=BTCUSDT")).json()["count"] == 0


async def test_ui_klines_are_klines(get: Get) -> None:
    query = "symbol=BTCUSDT&interval=4h&limit=7"

    assert (await get(f"uiKlines?{query}")).json() == await rows_of(get, query)
