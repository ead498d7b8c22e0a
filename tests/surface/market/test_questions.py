"""Ten questions as a person asks them, each with the call that docs/market.md gives for it, and the answer by hand."""

import json
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.desk import raw
from support.served import text_of
from support.verdicts import VERDICTS
from support.whole_market import raw_futures, whole_market

PAGE = Path(__file__).parents[3] / "docs" / "market.md"
MOST_BYTES = 6_000
DAY_MS, HOUR_MS = 86_400_000, 3_600_000

Call = tuple[str, dict[str, Any]]
QUESTIONS: Mapping[str, Call] = {
    "What is moving?": ("scan_market", {}),
    "What fell the most, and only what is traded for real?": (
        "scan_market",
        {"sort": "-change_24h", "min_volume": 20_000_000},
    ),
    "Which liquid coins fell over 5 % on twice their usual volume?": (
        "scan_market",
        {"where": ["change_24h < -5", "rel_volume_24h > 2"]},
    ),
    "… and trade below their 200-hour average?": (
        "scan_market",
        {"where": ["change_24h < -5", "rel_volume_24h > 2", "vs_sma_200@1h < 0"]},
    ),
    "What is near its 20-day high, with little noise?": (
        "scan_market",
        {"where": ["vs_high_20@1d > -2", "volatility_20@1d < 4"]},
    ),
    "Which BTC pairs rose today?": ("scan_market", {"quote": "BTC", "min_volume": 5, "where": ["change_24h > 0"]}),
    "Which pairs have a spread above 5 basis points?": (
        "scan_market",
        {"where": ["spread_bps > 5"], "sort": "spread_bps"},
    ),
    "Where is funding highest, by the year?": ("scan_market", {"market": "perpetual", "sort": "funding_apr"}),
    "Is funding of PEPE unusual?": ("get_derivatives", {"symbol": "1000PEPEUSDT"}),
    "What is the BTC basis?": ("get_derivatives", {"symbol": "BTCUSDT"}),
}


@pytest.fixture
async def client(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[Client]:
    async with whole_market(clock, exchange) as whole, Client(whole.app.server, cache=None) as connected:
        yield connected


async def asked(client: Client, question: str) -> dict[str, Any]:
    tool, arguments = QUESTIONS[question]
    return await answered(client, tool, arguments)


async def answered(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error is not True, text_of(result)
    assert result.structured_content is not None
    text = text_of(result)
    assert len(text.encode()) <= MOST_BYTES
    assert len(json.dumps(result.structured_content).encode()) <= MOST_BYTES
    assert [word for word in VERDICTS if word in text.lower()] == []
    return result.structured_content


def symbols(answer: Mapping[str, Any], rows: str = "rows") -> list[str]:
    return [row["symbol"] for row in answer[rows]]


async def liquid(exchange: SimulatedExchange, quote: str, least: float) -> list[dict[str, Any]]:
    quotes = {each["symbol"]: each["quoteAsset"] for each in (await raw(exchange, "exchangeInfo"))["symbols"]}
    days = await raw(exchange, "ticker/24hr?symbolStatus=TRADING")
    return [day for day in days if quotes[day["symbol"]] == quote and float(day["quoteVolume"]) >= least]


def change(day: Mapping[str, Any]) -> float:
    return float(day["priceChangePercent"])


async def closed(exchange: SimulatedExchange, symbol: str, interval: str, length_ms: int) -> list[list[Any]]:
    rows = await raw(exchange, f"klines?symbol={symbol}&interval={interval}&limit=250")
    return [row for row in rows if row[0] + length_ms <= exchange.now_ms()]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_gives_this_question_and_its_call(question: str) -> None:
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {question}"))

    tool, arguments = QUESTIONS[question]
    where: list[str] = arguments.get("where", [])
    for each in (*where[-1:], *(value for name, value in arguments.items() if name != "where")):
        assert (f'"{each}"' if isinstance(each, str) else str(each)) in row
    if tool == "get_derivatives":
        assert "get_derivatives" in row


async def test_what_is_moving(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "What is moving?")

    days = sorted(await liquid(exchange, "USDT", 1e6), key=lambda day: (-change(day), day["symbol"]))
    assert symbols(answer) == [day["symbol"] for day in days if change(day) > 0][:10]
    falling = sorted((day for day in days if change(day) < 0), key=lambda day: (change(day), day["symbol"]))
    assert symbols(answer, "losers") == [day["symbol"] for day in falling][:10]


async def test_what_fell_most_of_what_is_traded(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "What fell the most, and only what is traded for real?")

    days = sorted(await liquid(exchange, "USDT", 2e7), key=lambda day: (change(day), day["symbol"]))
    assert symbols(answer) == [day["symbol"] for day in days][:10]
    assert answer["matched"] == len(days) > 3


@pytest.mark.night
@pytest.mark.parametrize("fall", [-5.0, 50.0], ids=["as asked", "of whatever change"])
async def test_who_fell_on_twice_the_volume_below_the_average(
    fall: float, client: Client, exchange: SimulatedExchange
) -> None:
    found: set[str] = set()
    beneath: set[str] = set()
    volume = 2.0 if fall < 0 else 1.0
    for day in await liquid(exchange, "USDT", 1e6):
        days = await closed(exchange, day["symbol"], "1d", DAY_MS)
        hours = await closed(exchange, day["symbol"], "1h", HOUR_MS)
        usual = median(float(row[7]) for row in days[-20:])
        if change(day) < fall and float(day["quoteVolume"]) / usual > volume:
            found.add(day["symbol"])
            if float(day["lastPrice"]) < fmean(float(row[4]) for row in hours[-200:]):
                beneath.add(day["symbol"])
    if fall < 0:
        first = await asked(client, "Which liquid coins fell over 5 % on twice their usual volume?")
        then = await asked(client, "… and trade below their 200-hour average?")
    else:
        where = [f"change_24h < {fall:g}", f"rel_volume_24h > {volume:g}"]
        first = await answered(client, "scan_market", {"where": where, "limit": 50})
        then = await answered(client, "scan_market", {"where": [*where, "vs_sma_200@1h < 0"], "limit": 50})
        assert found
        assert beneath < found

    assert (first["waiting"], then["waiting"]) == (0, 0)
    assert set(symbols(first)) == found
    assert set(symbols(then)) == beneath


@pytest.mark.slow
@pytest.mark.night
async def test_what_is_near_its_high(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "What is near its 20-day high, with little noise?")

    found: list[tuple[float, str]] = []
    for day in await liquid(exchange, "USDT", 1e6):
        days = await closed(exchange, day["symbol"], "1d", DAY_MS)
        if len(days) < 21:
            continue
        high, closes = max(float(row[2]) for row in days[-20:]), [float(row[4]) for row in days[-21:]]
        noise = _deviation(closes)
        if 100 * (float(day["lastPrice"]) / high - 1) > -2 and noise < 4:
            found.append((-float(day["quoteVolume"]), day["symbol"]))
    assert symbols(answer) == [symbol for _, symbol in sorted(found)][:10]
    assert answer["matched"] == len(found) > 0


async def test_which_pairs_against_btc_rose(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "Which BTC pairs rose today?")

    rising = [day["symbol"] for day in await liquid(exchange, "BTC", 5) if change(day) > 0]
    assert sorted(symbols(answer)) == sorted(rising) != []


async def test_whose_spread_is_wide(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "Which pairs have a spread above 5 basis points?")

    def spread(day: Mapping[str, Any]) -> float:
        bid, ask = float(day["bidPrice"]), float(day["askPrice"])
        return 2e4 * (ask - bid) / (ask + bid) if bid and ask else 0.0

    days = sorted(await liquid(exchange, "USDT", 1e6), key=spread, reverse=True)
    assert symbols(answer) == [day["symbol"] for day in days if spread(day) > 5][:10]
    assert symbols(answer)


async def test_where_funding_is_highest(client: Client, exchange: SimulatedExchange) -> None:
    answer = await asked(client, "Where is funding highest, by the year?")

    told = {row["symbol"]: row["fundingIntervalHours"] for row in await raw_futures(exchange, "fundingInfo")}
    traded = {row["symbol"]: float(row["quoteVolume"]) for row in await raw_futures(exchange, "ticker/24hr")}
    kinds = {row["symbol"]: row for row in (await raw_futures(exchange, "exchangeInfo"))["symbols"]}
    years = {
        row["symbol"]: float(row["lastFundingRate"]) * 24 / told.get(row["symbol"], 8) * 365
        for row in await raw_futures(exchange, "premiumIndex")
        if (kind := kinds.get(row["symbol"])) is not None
        and (kind["contractType"], kind["status"], kind["quoteAsset"]) == ("PERPETUAL", "TRADING", "USDT")
        and traded[row["symbol"]] >= 1e6
    }
    best = sorted(years, key=lambda symbol: (-round(years[symbol], 12), symbol))
    assert symbols(answer) == best[:10]
    assert len({told.get(symbol, 8) for symbol in years}) == 3


@pytest.mark.slow
async def test_whether_funding_is_unusual(client: Client) -> None:
    funding = (await asked(client, "Is funding of PEPE unusual?"))["funding"]

    assert 0 <= funding["percentile"] <= 100
    assert funding["n"] >= 30
    assert funding["window"]
    assert funding["apr"] == pytest.approx(funding["estimate"] * 24 / 4 * 365, abs=0.01)


@pytest.mark.slow
async def test_the_basis(client: Client, exchange: SimulatedExchange) -> None:
    basis = (await asked(client, "What is the BTC basis?"))["basis"]

    premium = await raw_futures(exchange, "premiumIndex?symbol=BTCUSDT")
    apart = 1e4 * (float(premium["markPrice"]) / float(premium["indexPrice"]) - 1)
    assert basis["mark_vs_index_bps"] == pytest.approx(apart, abs=0.006)
    assert [each["symbol"][:8] for each in basis["quarterlies"]] == ["BTCUSDT_", "BTCUSDT_"]


def _deviation(closes: list[float]) -> float:
    return 100 * stdev(log(later / earlier) for earlier, later in pairwise(closes))
