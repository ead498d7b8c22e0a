"""The market at a glance: from two boards and nothing besides, with what was left out."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from support.clock import FakeClock
from support.desk import raw
from support.requirement import requirement
from support.verdicts import VERDICTS
from support.whole_market import WholeMarket, raw_futures, whole_market


@pytest.fixture
async def whole(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[WholeMarket]:
    async with whole_market(clock, exchange) as market:
        yield market


@pytest.fixture
async def client(whole: WholeMarket) -> AsyncIterator[Client]:
    async with Client(whole.app.server, cache=None) as connected:
        yield connected


async def prompted(client: Client, **arguments: str) -> str:
    (message,) = (await client.get_prompt("market_overview", arguments)).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def test_breadth_and_funding_are_what_the_exchange_said(client: Client, exchange: SimulatedExchange) -> None:
    page = await prompted(client)

    changes = [
        float(row["priceChangePercent"])
        for row in await raw(exchange, "ticker/24hr?symbolStatus=TRADING")
        if row["symbol"].endswith("USDT") and float(row["quoteVolume"]) >= 1e6
    ]
    up, down = sum(each > 0 for each in changes), sum(each < 0 for each in changes)
    assert f"{up} up, {down} down, {len(changes) - up - down} unchanged" in page
    assert f"**Rose**: {100 * up / len(changes):.1f}%" in page
    hours = {row["symbol"]: row["fundingIntervalHours"] for row in await raw_futures(exchange, "fundingInfo")}
    rates = {row["symbol"]: Decimal(row["lastFundingRate"] or 0) for row in await raw_futures(exchange, "premiumIndex")}
    rows = re.findall(r"\| (\S+) \| (-?[0-9.]+) \| ([0-9]+) \| (-?[0-9.]+) \|", page.split("**Highest, ")[1])
    years = {symbol: float(rate * 100 * 24 * 365 / hours.get(symbol, 8)) for symbol, rate in rates.items()}
    assert len(rows) >= 4
    assert not [symbol for symbol, *_ in rows if abs(years[symbol] - 10.95) < 0.005]
    for symbol, rate, interval, apr in rows:
        assert int(interval) == hours.get(symbol, 8)
        assert float(rate) == pytest.approx(float(rates[symbol] * 100), abs=6e-5)
        assert float(apr) == pytest.approx(float(rates[symbol] * 100 * 24 * 365 / int(interval)), abs=6e-3)
    assert len({interval for _, _, interval, _ in rows}) > 1


async def test_no_coin_is_listed_twice_and_those_above_are_named(client: Client) -> None:
    page = await prompted(client)

    moved, _, paid = page.partition("**Funding in a year**")
    listed = re.findall(r"^\| (\S+USDT) \|", moved, re.MULTILINE)
    coins = [re.sub("^1(0+|M)(?=[A-Z])", "", symbol) for symbol in listed]
    assert len(set(coins)) == len(coins) >= 12
    above = {symbol for line in re.findall("_Listed above: (.+)_", moved) for symbol in line.split(", ")}
    assert {"ETHUSDT", "BTCUSDT"} <= above | {*listed}
    funded = re.findall(r"^\| (\S+USDT) \|", paid, re.MULTILINE)
    assert len(set(funded)) == len(funded)


async def test_an_overview_costs_two_boards(client: Client, whole: WholeMarket) -> None:
    await prompted(client)
    await prompted(client)

    paths = [each.path for each in (*whole.exchange.requests, *whole.exchange.futures.requests)]
    assert sorted(path.split("/", 3)[3] for path in paths) == [
        "exchangeInfo", "exchangeInfo", "fundingInfo", "premiumIndex", "ticker/24hr", "ticker/24hr",
        "ticker/bookTicker",
    ]  # fmt: skip


@pytest.mark.night
@pytest.mark.slow
async def test_an_overview_is_short_and_gives_no_verdict(clock: FakeClock) -> None:
    exchange = SimulatedExchange(clock, crowd=200, contracts=200)
    async with whole_market(clock, exchange) as whole, Client(whole.app.server, cache=None) as client:
        page = await prompted(client)

    assert len(page.encode()) <= 6_000
    assert not [word for word in VERDICTS if word in page.lower()]
    assert "The more pairs are screened, the more stand out by chance." in page


async def test_without_the_toolset_it_is_of_spot_alone(clock: FakeClock, exchange: SimulatedExchange) -> None:
    async with (
        whole_market(clock, exchange, {"MCP_BINANCE_TOOLSETS": "market,analysis"}) as whole,
        Client(whole.app.server, cache=None) as client,
    ):
        page = await prompted(client)

    assert "## Spot" in page
    assert "erpetual" not in page
    assert exchange.futures.requests == []


@pytest.mark.parametrize("kind", ["region", "banned"])
async def test_futures_that_are_refused_cost_their_own_part_only(client: Client, whole: WholeMarket, kind: str) -> None:
    quirk = Quirk(kind="region") if kind == "region" else Quirk(kind="banned", ms=120_000)
    whole.exchange.futures.quirks.add(quirk)

    page = await prompted(client)

    assert "## Spot" in page
    assert "## Perpetuals" not in page
    assert re.search(r"\*Perpetuals are missing: .*(no second host|wait).*\*", page)


async def test_a_limit_of_spot_is_the_answer(client: Client, whole: WholeMarket) -> None:
    whole.exchange.faults.add(Fault(kind="status", status=429, code=-1003, path="*/ticker/24hr"))

    with pytest.raises(MCPError) as caught:
        await prompted(client)

    assert caught.value.code == -32001


async def test_an_asset_that_nothing_is_priced_in_is_refused_with_those_that_are(client: Client) -> None:
    with pytest.raises(MCPError, match="most are against USDT") as caught:
        await prompted(client, quote="NOPE")

    assert caught.value.code == -32602


async def test_another_asset_has_its_own_pairs(client: Client) -> None:
    page = await prompted(client, quote="btc")

    assert page.startswith("# Market overview against BTC\n")
    assert "| ETHBTC | " in page
    assert "USDT |" not in page


@requirement("ruling/41")
async def test_the_page_of_all_markets_may_be_kept_and_shared_for_ten_seconds(client: Client) -> None:
    result = await client.read_resource("binance://market")
    (content,) = result.contents

    assert (result.ttl_ms, result.cache_scope) == (10_000, "public")
    assert isinstance(content, types.TextResourceContents)
    assert "## Perpetuals" in content.text
