"""The simulated market moves like one: by the hour and by the day, alone and together, measured from its klines."""

from collections.abc import AsyncIterator
from itertools import pairwise
from math import log, sqrt
from statistics import correlation, fmean, stdev

import httpx2
import pytest

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.flood]  # years of candles

SMALL = ["SOL", "XRP", "DOGE", "SHIB", "PEPE", "ADA", "LTC", "TRX", "LINK", "AVAX", "DOT", "XLM", "ATOM"]
BARS_A_YEAR = {"1d": 365, "1h": 365 * 24, "15m": 365 * 96, "1m": 365 * 1440}


@pytest.fixture(params=[7, 8, 2026])
async def market(clock: FakeClock, request: pytest.FixtureRequest) -> AsyncIterator[httpx2.AsyncClient]:
    exchange = SimulatedExchange(clock, seed=request.param)
    exchange.weight_limit = 10**9
    transport = httpx2.ASGITransport(app=build_app(exchange))
    async with httpx2.AsyncClient(transport=transport, base_url="http://exchange.test") as client:
        yield client


async def candles(market: httpx2.AsyncClient, symbol: str, interval: str, count: int) -> list[list[float]]:
    """Return open, high, low and close of the newest complete candles."""
    query = f"symbol={symbol}&interval={interval}&limit={count + 1}"
    rows = (await market.get(f"/api/v3/klines?{query}")).json()
    return [[float(price) for price in row[1:5]] for row in rows[:-1]]


def returns(rows: list[list[float]]) -> list[float]:
    return [log(after[3] / before[3]) for before, after in pairwise(rows)]


def yearly(rows: list[list[float]], interval: str) -> float:
    return stdev(returns(rows)) * sqrt(BARS_A_YEAR[interval])


@pytest.mark.parametrize(("interval", "count"), [("1d", 366), ("1h", 720)])
async def test_volatility_is_that_of_a_market(market: httpx2.AsyncClient, interval: str, count: int) -> None:
    bitcoin, ether = [yearly(await candles(market, f"{a}USDT", interval, count), interval) for a in ("BTC", "ETH")]
    small = [yearly(await candles(market, f"{asset}USDT", interval, count), interval) for asset in SMALL]

    assert 0.40 < bitcoin < 0.60
    assert 0.55 < ether < 0.85
    assert 0.70 < min(small) <= max(small) < 1.50


@pytest.mark.night
@pytest.mark.parametrize(("interval", "count"), [("1d", 366), ("1h", 720)])
async def test_coins_follow_bitcoin(market: httpx2.AsyncClient, interval: str, count: int) -> None:
    bitcoin = returns(await candles(market, "BTCUSDT", interval, count))

    followed = [
        correlation(bitcoin, returns(await candles(market, f"{asset}USDT", interval, count)))
        for asset in ["ETH", "BNB", *SMALL]
    ]

    assert 0.50 < min(followed) <= max(followed) < 0.85


async def test_a_quarter_of_closes_keeps_to_the_same_volatility(market: httpx2.AsyncClient) -> None:
    bitcoin, ether = [await candles(market, f"{asset}USDT", "1d", 90) for asset in ("BTC", "ETH")]

    assert 0.40 < yearly(bitcoin, "1d") < 0.60
    assert 0.55 < yearly(ether, "1d") < 0.85
    assert 0.50 < correlation(returns(bitcoin), returns(ether)) < 0.85


@pytest.mark.parametrize("symbol", ["BTCUSDT", "SOLUSDT", "PEPEUSDT"])
async def test_shorter_candles_are_as_restless_as_longer_ones(market: httpx2.AsyncClient, symbol: str) -> None:
    by_day = yearly(await candles(market, symbol, "1d", 366), "1d")

    for interval in ("1h", "15m", "1m"):
        rows = await candles(market, symbol, interval, 720)
        # Parkinson 1980: for a walk the mean square of log(high / low) is 4 log 2 times the variance of a step.
        by_range = sqrt(fmean(log(row[1] / row[2]) ** 2 for row in rows) / (4 * log(2)) * BARS_A_YEAR[interval])
        assert by_day * 0.75 < yearly(rows, interval) < by_day * 1.3
        assert by_day * 0.75 < by_range < by_day * 1.3


async def test_stablecoins_gold_and_currencies_go_their_own_way(market: httpx2.AsyncClient) -> None:
    bitcoin = returns(await candles(market, "BTCUSDT", "1d", 366))
    euro, gold, dollar = [await candles(market, symbol, "1d", 366) for symbol in ("EURUSDT", "PAXGUSDT", "USDCUSDT")]

    assert max(abs(correlation(bitcoin, returns(rows))) for rows in (euro, gold)) < 0.2
    assert yearly(euro, "1d") < 0.10
    assert 0.10 < yearly(gold, "1d") < 0.25
    assert yearly(dollar, "1d") < 0.01


@pytest.mark.parametrize("symbol", ["BTCUSDT", "DOGEUSDT"])
async def test_years_of_moving_leave_the_price_within_sight(market: httpx2.AsyncClient, symbol: str) -> None:
    rows = await candles(market, symbol, "1w", 180)

    assert max(row[1] for row in rows) < 40 * min(row[2] for row in rows)
    assert max(row[1] for row in rows) > 1.5 * min(row[2] for row in rows)
