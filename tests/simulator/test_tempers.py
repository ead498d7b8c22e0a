"""Scenarios of markets that are busy, one-sided or thin: what makes them so, and that they still add up."""

from collections.abc import Awaitable, Callable
from decimal import Decimal

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]
SYMBOLS = ("BTCUSDT", "PEPEUSDT", "ETHBTC")


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("scenario", ["busy", "one_sided", "thin"])
async def test_candles_and_trades_of_every_temper_add_up(
    get: Get, exchange: SimulatedExchange, clock: FakeClock, scenario: str, symbol: str
) -> None:
    exchange.set_scenario(scenario)
    end = clock.now_ms() // 60_000 * 60_000

    (minute,) = (
        await get(f"klines?symbol={symbol}&interval=1m&startTime={end - 60_000}&endTime={end - 1}&limit=1")
    ).json()
    span = f"startTime={end - 60_000}&endTime={end - 1}&limit=1000"
    aggregates = (await get(f"aggTrades?symbol={symbol}&{span}")).json()
    seconds = (await get(f"klines?symbol={symbol}&interval=1s&{span}")).json()

    assert sum(Decimal(each["q"]) for each in aggregates) == Decimal(minute[5])
    assert sum(Decimal(each["q"]) for each in aggregates if not each["m"]) == Decimal(minute[9])
    assert sum(each["l"] - each["f"] + 1 for each in aggregates) == minute[8]
    assert max(Decimal(each["p"]) for each in aggregates) == Decimal(minute[2])
    assert [each["a"] for each in aggregates] == list(range(aggregates[0]["a"], aggregates[-1]["a"] + 1))
    assert len(seconds) == 60
    assert sum(Decimal(each[9]) for each in seconds) == Decimal(minute[9])


async def test_a_busy_market_has_hundreds_of_trades_in_a_minute(get: Get, exchange: SimulatedExchange) -> None:
    ordinary = (await get("klines?symbol=BTCUSDT&interval=1m&limit=60")).json()
    exchange.set_scenario("busy")

    busy = (await get("klines?symbol=BTCUSDT&interval=1m&limit=60")).json()

    assert min(row[8] for row in busy[:-1]) > 300 > max(row[8] for row in ordinary)
    assert len((await get("depth?symbol=BTCUSDT&limit=1000")).json()["bids"]) == 1000


@pytest.mark.parametrize("symbol", SYMBOLS)
async def test_three_quarters_of_a_one_sided_market_are_bought(
    get: Get, exchange: SimulatedExchange, symbol: str
) -> None:
    exchange.set_scenario("one_sided")

    days = (await get(f"klines?symbol={symbol}&interval=1d&limit=4")).json()[:-1]

    for day in days:
        assert Decimal("0.70") < Decimal(day[9]) / Decimal(day[5]) < Decimal("0.80")


@pytest.mark.parametrize("symbol", SYMBOLS)
async def test_a_thin_market_has_few_levels_a_wide_spread_and_little_trade(
    get: Get, exchange: SimulatedExchange, symbol: str
) -> None:
    ordinary = (await get(f"klines?symbol={symbol}&interval=1d&limit=2")).json()[0]
    exchange.set_scenario("thin")

    book = (await get(f"depth?symbol={symbol}&limit=1000")).json()
    day = (await get(f"klines?symbol={symbol}&interval=1d&limit=2")).json()[0]

    assert 20 < len(book["bids"]) < 200
    assert 20 < len(book["asks"]) < 200
    bid, ask = Decimal(book["bids"][0][0]), Decimal(book["asks"][0][0])
    assert (ask - bid) / bid >= Decimal("0.0005")
    assert day[8] < ordinary[8]
    assert Decimal(day[5]) <= Decimal(ordinary[5])
