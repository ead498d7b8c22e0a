"""Thin ranges, costs and stops: computed again from raw answers, cold and warm, in markets of every temper."""

import re
from decimal import Decimal
from math import exp
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.surface.tools.liquidity import GET_LIQUIDITY_VACUUMS
from support.clock import FakeClock
from support.desk import raw
from support.golden import Golden
from support.independent import cost_bps, middle_of, thin_bins, trades_of
from support.requirement import requirement
from support.stepped import live_market


async def vacuums(client: Client, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    result = await client.call_tool("get_liquidity_vacuums", {"symbol": "BTCUSDT", **arguments})
    assert not result.is_error, result.structured_content
    validate(result.structured_content, GET_LIQUIDITY_VACUUMS.wire.output_schema or {})
    return result.structured_content


async def page(client: Client, **arguments: str) -> str:
    (message,) = (await client.get_prompt("liquidity_mapping", arguments)).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@pytest.mark.parametrize("minutes", [90, 180])
async def test_low_volume_ranges_are_the_thinnest_bins_of_every_trade(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, minutes: int
) -> None:
    answer = await vacuums(client, lookback_minutes=minutes, percentile=20)
    end = clock.now_ms() // 60_000 * 60_000
    trades = await trades_of(exchange, "BTCUSDT", end - minutes * 60_000, end)
    edges, volumes = thin_bins(trades, Decimal("0.01"))
    width, middle = edges[1] - edges[0], middle_of(volumes)

    assert answer["context"]["n"]["trades"] == len(trades) > 1000
    assert answer["context"]["source"] == ["aggTrades"]
    cut = sorted(volumes)[-(-len(volumes) * 20 // 100) - 1]
    runs: list[list[int]] = []
    for at in (at for at, volume in enumerate(volumes) if volume < cut):
        if runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    expected = [
        {
            "low": f"{edges[first]:.2f}",
            "high": f"{edges[last] + width:.2f}",
            "of_median": pytest.approx(
                float(sum(volumes[first : last + 1], Decimal(0)) / (last - first + 1) / middle), abs=1e-4
            ),
        }
        for first, last in runs
    ]
    assert answer["metrics"]["low_volume_ranges"]["value"] == expected != []
    assert answer["metrics"]["low_volume_ranges"]["method"] == "below_percentile_20"
    assert "low_volume_ranges" not in (await vacuums(client, lookback_minutes=minutes))["metrics"]


async def test_a_market_without_jumps_has_no_thin_range_beyond_chance(client: Client) -> None:
    answer = await vacuums(client, lookback_minutes=120)

    metrics = answer["metrics"]
    assert metrics["thin_ranges"]["value"] == []
    assert "p" not in metrics["thin_ranges"]
    assert metrics["inside_thin_range"]["value"] is False
    assert answer["summary"].startswith("BTCUSDT, last 2 h: no thinly traded range wider than by chance in ")
    assert 0 <= metrics["widest_run"]["value"]["sigmas"] < 0.15


async def test_a_stop_is_a_usual_move_of_the_horizon_away(client: Client, exchange: SimulatedExchange) -> None:
    price = Decimal((await raw(exchange, "ticker/price?symbol=BTCUSDT"))["price"])

    day = (await vacuums(client))["metrics"]
    hour = (await vacuums(client, horizon_hours=1))["metrics"]
    short = (await vacuums(client, side="short"))["metrics"]

    stop = day["stop_guidance"]["value"]["long"]
    away = float(1 - Decimal(stop["price"]) / price)
    assert stop["from"] == "noise"
    assert away == pytest.approx(1 - exp(-day["usual_move"]["value"] / 100), rel=1e-3)
    assert stop["noise_chance"] == pytest.approx(0.317, abs=0.002)
    assert hour["usual_move"]["value"] == pytest.approx(day["usual_move"]["value"] / 24**0.5, rel=1e-2)
    assert hour["stop_guidance"]["value"]["long"]["horizon_hours"] == 1
    assert [*short["stop_guidance"]["value"]] == ["buy_back_reference"]
    assert Decimal(short["stop_guidance"]["value"]["buy_back_reference"]["price"]) > price


async def test_too_few_trades_are_not_judged_and_still_have_a_stop(client: Client) -> None:
    metrics = (await vacuums(client, lookback_minutes=5))["metrics"]

    assert metrics["thin_ranges"]["value"] is None
    assert metrics["thin_ranges"]["why_null"] == "insufficient_events"
    assert metrics["inside_thin_range"]["value"] is None
    assert metrics["stop_guidance"]["value"]["long"]["from"] == "noise"


async def test_a_busy_window_is_read_from_bars_of_a_second_and_a_day_from_bars_of_a_minute(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.set_scenario("busy")
    exchange.weight_limit = 10**6

    short = await vacuums(client)
    exchange.requests.clear()
    day = await vacuums(client, lookback_minutes=1440)

    assert short["context"]["source"] == ["klines_1s"]
    assert day["context"]["source"] == ["klines"]
    assert [each.path[8:] for each in exchange.requests].count("klines") == 2
    assert short["context"]["coverage"] == day["context"]["coverage"] == 1


@requirement("data-model/prompt-liquidity-mapping")
async def test_costs_are_those_of_walking_the_raw_book(client: Client, exchange: SimulatedExchange) -> None:
    text = await page(client, symbol="ethusdt")
    book = await raw(exchange, "depth?symbol=ETHUSDT&limit=500")

    mid = (float(book["bids"][0][0]) + float(book["asks"][0][0])) / 2
    rows = re.findall(r"^\| \$([0-9,]+) \| (\S+) \| (\S+) \| (.+) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["10,000", "100,000", "1,000,000", "10,000,000"]
    for notional, buy, sell, complete in rows:
        amount = float(notional.replace(",", ""))
        expected = cost_bps(book["asks"], amount, mid), cost_bps(book["bids"], amount, mid)
        for shown, cost in zip((buy, sell), expected, strict=True):
            assert shown == "n/a" if cost is None else float(shown) == pytest.approx(cost, abs=0.051)
        assert (complete == "yes") is (None not in expected)
    assert text.startswith("# ETHUSDT Liquidity Map\n**Spread**: ")
    assert "\n**Current Price**: $" in text
    assert "## Standing Size\n_Not judged: " in text


@pytest.mark.parametrize("minutes", ["4", "1441", "half an hour"])
async def test_minutes_out_of_range_are_refused_with_the_range(client: Client, minutes: str) -> None:
    with pytest.raises(MCPError) as caught:
        await page(client, symbol="BTCUSDT", lookback_minutes=minutes)

    assert caught.value.code == -32602
    assert "a whole number from 5 to 1440" in caught.value.message


@pytest.mark.parametrize("path", ["*/klines", "*/depth", "*/aggTrades", "*/ticker/24hr"])
async def test_a_rate_limit_on_the_way_is_an_error_and_never_half_a_page(
    client: Client, exchange: SimulatedExchange, path: str
) -> None:
    await page(client, symbol="ETHUSDT")
    exchange.faults.add(Fault(kind="status", path=path, status=429, code=-1003, headers={"Retry-After": "60"}))

    with pytest.raises(MCPError) as caught:
        await page(client, symbol="BTCUSDT")

    assert caught.value.code == -32001


@pytest.mark.parametrize(
    ("path", "marked", "kept"),
    [
        ("*/klines", "trades)\n_Unavailable: Binance API", "## Slippage (market order now, excl. fees)\n| Notional"),
        ("*/depth", "excl. fees)\n_Unavailable: Binance API", "## Stop Loss Guidance\n- Stop for a holder: $"),
    ],
)
async def test_a_part_that_cannot_be_had_is_marked_and_the_rest_stays(
    client: Client, exchange: SimulatedExchange, path: str, marked: str, kept: str
) -> None:
    exchange.faults.add(Fault(kind="html", path=path, times=None))

    text = await page(client, symbol="BTCUSDT")

    assert marked.removeprefix("trades)\n") in text
    assert kept in text


@pytest.mark.flood
async def test_pages_of_calm_one_sided_thin_and_silent_markets_are_as_reviewed(golden: Golden) -> None:
    for scenario, name, seconds in (("busy", "calm", 35), ("one_sided", "one_sided", 0), ("thin", "thin", 35)):
        async with live_market(scenario) as market:
            await market.watch("BTCUSDT", 3)
            text = await market.page("liquidity_mapping", symbol="BTCUSDT")
            golden.check(f"views/liquidity.{name}.cold.md", text + "\n")
            if seconds:
                await market.run(seconds)
                text = await market.page("liquidity_mapping", symbol="BTCUSDT", lookback_minutes="120")
                golden.check(f"views/liquidity.{name}.warm.md", text + "\n")
    async with live_market("quiet") as market:
        text = await market.page("liquidity_mapping", symbol="BTCUSDT")
        golden.check("views/liquidity.silent.md", text + "\n")


@pytest.mark.night
async def test_the_size_called_cheap_is_the_least_of_the_last_half_minute() -> None:
    async with live_market("busy") as market:
        await market.watch("BTCUSDT", 40)
        text = await market.page("liquidity_mapping", symbol="BTCUSDT")
        hub = market.app.context.live.hub
        assert hub is not None
        ((feed, _),) = [(each.feed, each.readers) for each in hub.watched()]
        least = min(each.cheap for each in feed.cheap)

    found = re.search(
        r"^\*\*Cost\*\*: market orders up to \$([0-9,]+) cost under 2 bps now \(minimum of the last (\d+) s\)",
        text,
        re.MULTILINE,
    )
    assert found is not None
    shown = float(found[1].replace(",", ""))
    assert 0.9 * least < shown <= least
    assert int(found[2]) in {29, 30}


@pytest.mark.parametrize(("pair", "quote", "market"), [("ETHBTC", "BTC", "BTCUSDT"), ("BTCTRY", "TRY", "USDTTRY")])
async def test_a_size_in_another_quote_asset_has_its_dollar_value(
    client: Client, exchange: SimulatedExchange, pair: str, quote: str, market: str
) -> None:
    text = await page(client, symbol=pair)
    price = float((await raw(exchange, f"ticker/price?symbol={market}"))["price"])

    found = re.search(rf"up to (?:at least )?([0-9.,]+) {quote} \(\$([0-9,.]+)\)", text)
    assert found is not None, text
    amount, shown = (float(each.replace(",", "")) for each in found.groups())
    assert shown == pytest.approx(amount / price if market.startswith("USDT") else amount * price, rel=0.12)


async def test_without_its_dollar_value_a_size_is_shown_all_the_same(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/ticker/bookTicker", times=None))

    text = await page(client, symbol="ETHBTC")

    assert re.search(r"up to (?:at least )?[0-9.,]+ BTC (cost|at)", text)


async def test_a_rate_limit_on_the_dollar_value_is_an_error(client: Client, exchange: SimulatedExchange) -> None:
    limit = Fault(kind="status", path="*/bookTicker", status=429, code=-1003, headers={"Retry-After": "60"})
    exchange.faults.add(limit)

    with pytest.raises(MCPError) as caught:
        await page(client, symbol="ETHBTC")

    assert caught.value.code == -32001
