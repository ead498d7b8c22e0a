"""Order flow, cold and warm: every figure computed again from raw answers, and no word its own past does not allow."""

import json
import re
from decimal import Decimal
from statistics import fmean, median
from typing import Any

import anyio
import pytest
from jsonschema import validate
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.surface.tools.flow import GET_ORDER_FLOW
from support.clock import FakeClock
from support.desk import raw
from support.golden import Golden
from support.independent import flow_of, order_flow_imbalance, seconds_of
from support.requirement import requirement
from support.served import text_of
from support.stepped import LiveMarket, live_market

SIDES = ("ONE-SIDED (bought)", "ONE-SIDED (sold)")


async def flow(client: Client, symbol: str = "BTCUSDT", seconds: int = 60) -> dict[str, Any]:
    result = await client.call_tool("get_order_flow", {"symbol": symbol, "window_duration_secs": seconds})
    assert not result.is_error, text_of(result)
    validate(result.structured_content, GET_ORDER_FLOW.wire.output_schema or {})
    return result.structured_content


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"{pattern} is not in:\n{text}"
    return float(found[1].replace(",", ""))


TICKS = {"BTCUSDT": 1e-2, "ETHBTC": 1e-5, "PEPEUSDT": 1e-8}


@pytest.mark.parametrize(("symbol", "seconds"), [("BTCUSDT", 300), ("ETHBTC", 60), ("PEPEUSDT", 10)])
async def test_a_cold_answer_without_streams_is_exact_in_its_volumes(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, symbol: str, seconds: int
) -> None:
    answer = await flow(client, symbol, seconds)
    end = clock.now_ms() // 1000 * 1000
    expected = flow_of(await seconds_of(exchange, symbol, end - seconds * 1000, end))

    metrics = answer["metrics"]
    assert Decimal(metrics["buy_volume"]["value"]) == expected.bought
    assert Decimal(metrics["sell_volume"]["value"]) == expected.sold
    assert Decimal(metrics["net_pressure"]["value"]) == expected.bought - expected.sold
    assert float(metrics["vwap"]["value"]) == pytest.approx(expected.vwap, abs=TICKS[symbol] / 19)
    assert metrics["trades"]["value"] == expected.trades
    assert metrics["imbalance_ratio"]["value"]["value"] == pytest.approx(expected.ratio, abs=0.0001)
    assert answer["context"]["source"] == ["klines_1s"]
    assert answer["context"]["coverage"] == 1
    assert answer["context"]["window"]["ms"] == seconds * 1000
    assert metrics["ofi"] == {"value": None, "unit": "queues", "why_null": "upstream_unavailable"}


async def test_every_measure_has_a_value_or_says_why_not(client: Client) -> None:
    for symbol in ("BTCUSDT", "ETHBTC", "LUNAUSDT"):
        for name, metric in (await flow(client, symbol))["metrics"].items():
            assert (metric["value"] is None) is ("why_null" in metric), name


async def test_a_market_without_candles_claims_no_volume_at_all(client: Client) -> None:
    answer = await flow(client, "LUNAUSDT")

    assert answer["context"]["coverage"] == 0
    assert answer["metrics"]["buy_volume"] == {"value": None, "why_null": "insufficient_history"}
    assert answer["metrics"]["direction"]["value"] is None


async def test_a_cold_answer_costs_its_window_its_past_and_a_week_and_a_second_one_only_the_window(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await flow(client, "ETHUSDT")
    exchange.requests.clear()

    await flow(client, "BTCUSDT")
    first = sorted(each.path[8:] for each in exchange.requests)
    weight = sum(each.weight for each in exchange.requests)
    exchange.requests.clear()
    clock.advance(2_000)
    await flow(client, "BTCUSDT")

    assert first == ["aggTrades", *["klines"] * 5]
    assert weight == 14
    assert sum(each.weight for each in exchange.requests) == 6


@pytest.mark.parametrize(("seconds", "calls"), [(10, 1), (45, 3), (100, 4), (120, 1), (300, 1)])
async def test_the_past_of_a_window_is_at_most_four_calls(
    client: Client, exchange: SimulatedExchange, seconds: int, calls: int
) -> None:
    await flow(client, "ETHUSDT")
    exchange.requests.clear()

    await flow(client, "BTCUSDT", seconds)

    window, week = 1, 3
    assert sum(each.path.endswith("klines") for each in exchange.requests) == window + week + calls


async def test_a_length_that_four_calls_cannot_cover_is_not_judged_and_asks_for_no_past(
    client: Client, exchange: SimulatedExchange
) -> None:
    await flow(client, "ETHUSDT")
    exchange.requests.clear()

    answer = await flow(client, "BTCUSDT", 101)

    assert sum(each.path.endswith("klines") for each in exchange.requests) == 1 + 3
    assert answer["metrics"]["direction"]["why_null"] == "insufficient_history"
    assert "not judged: past values exist only for whole minutes and for windows up to 100 s" in answer["summary"]


async def test_the_word_is_the_rank_among_the_windows_of_the_raw_candles(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.set_scenario("busy")
    answer = await flow(client, "ETHUSDT", 300)
    end = clock.now_ms() // 1000 * 1000
    until = (end - 300_000) // 300_000 * 300_000
    rows = await raw(exchange, f"klines?symbol=ETHUSDT&interval=5m&limit=66&endTime={until - 1}")
    past = [abs(2 * float(row[9]) / float(row[5]) - 1) for row in rows]
    now = abs(2 * answer["metrics"]["imbalance_ratio"]["value"]["value"] - 1)

    direction = answer["metrics"]["direction"]
    high = sum(each >= now - 1e-4 for each in past)
    assert direction["p"] == pytest.approx((1 + high) / 67, abs=0.001)
    assert direction["base_rate"]["n"] == 66
    assert f"more one-sided than {66 - high} of the last 66 windows of 5 min" in answer["summary"]


async def test_a_market_that_turns_one_sided_is_named_and_one_that_always_was_is_not(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.set_scenario("busy")
    await flow(client, "BTCUSDT")
    exchange.set_scenario("one_sided")
    clock.advance(30_000)

    turned, always = await flow(client, "BTCUSDT"), await flow(client, "SOLUSDT")

    assert turned["metrics"]["direction"]["value"] == "ONE-SIDED (bought)"
    assert turned["metrics"]["direction"]["p"] == 0.0149
    assert turned["metrics"]["direction"]["base_rate"] == {"k": 0, "n": 66, "low": 0, "high": 0.055}
    assert turned["summary"].endswith(
        "ONE-SIDED (bought), 96.5% of taker volume bought: more one-sided than 66 of the last 66 windows of 60 s. "
        "It foretells nothing: the minute after ONE-SIDED moved -0.22 bps on average, against it (95%: -0.31 to -0.13; "
        "58 months of minutes of 7 Binance perpetuals, 2024-2026)."
    )
    assert always["metrics"]["imbalance_ratio"]["value"]["value"] > 0.6
    assert always["metrics"]["direction"]["value"] == "USUAL"


async def test_a_page_names_a_side_and_says_how_often_that_is_chance(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.set_scenario("busy")
    await client.get_prompt("order_flow_trading", {"symbol": "DOGEUSDT"})
    exchange.set_scenario("one_sided")
    clock.advance(30_000)

    result = await client.get_prompt("order_flow_trading", {"symbol": "DOGEUSDT"})

    text = json.loads(result.model_dump_json())["messages"][0]["content"]["text"]
    assert (
        "## Taker Flow: ONE-SIDED (bought)\n"
        "- 89.3% of taker volume bought: more one-sided than 66 of the last 66 windows of 5 min\n"
        "- It foretells nothing: the minute after ONE-SIDED moved -0.22 bps on average, against it (95%: -0.31 to "
        "-0.13; 58 months of minutes of 7 Binance perpetuals, 2024-2026); by chance alone, up to 5% of windows are "
        "ONE-SIDED\n"
    ) in text


@pytest.mark.night
async def test_a_past_that_cannot_be_had_is_not_judged_and_a_rate_limit_is_an_error() -> None:
    async with live_market("busy") as market:
        await market.page("liquidity_mapping", symbol="ETHUSDT")
        await market.run(25)
        market.exchange.faults.add(Fault(kind="html", path="*/klines", times=None))
        answer = await market.answered(lambda: flow(market.client, "ETHUSDT", 20))
        market.exchange.faults.clear()
        market.exchange.faults.add(Fault(kind="status", path="*/klines", status=429, code=-1003))
        refused = await market.client.call_tool("get_order_flow", {"symbol": "ETHUSDT", "window_duration_secs": 20})

    metrics = answer["metrics"]
    assert answer["context"]["source"] == ["aggTrade"]
    assert metrics["direction"]["why_null"] == "upstream_unavailable"
    assert "; not judged: the exchange did not answer." in answer["summary"]
    assert metrics["vpin"] == {"value": None, "unit": "ratio", "why_null": "upstream_unavailable"}
    assert metrics["buy_volume"]["value"] is not None
    assert refused.is_error


@pytest.mark.night
async def test_takers_paid_what_the_raw_quotes_and_trades_say() -> None:
    quotes: list[tuple[int, float]] = []
    prints: list[tuple[int, float, bool]] = []
    answers: list[dict[str, Any]] = []

    async def listen(market: LiveMarket) -> None:
        streams = "ws://own/stream?streams=ethusdt@bookTicker/ethusdt@aggTrade"
        connection = await Loopback(market.exchange).connect(streams)
        while True:
            told = json.loads(await connection.recv())["data"]
            if "A" in told:
                quotes.append((market.clock.now_ms(), (float(told["b"]) + float(told["a"])) / 2))
            else:
                prints.append((told["T"], float(told["p"]), told["m"]))

    async with live_market("busy") as market, anyio.create_task_group() as tasks:
        await market.watch("ETHUSDT", 3)
        tasks.start_soon(listen, market)
        await market.run(70)
        answers.append(await flow(market.client, "ETHUSDT", 60))
        tasks.cancel_scope.cancel()

    end = market.clock.now_ms() // 1000 * 1000
    paid = [
        (-2 if sold else 2) * (price - mid) / mid * 10_000
        for at, price, sold in prints
        if end - 60_000 <= at < end
        for mid in [max(row for row in quotes if row[0] < at)[1]]
    ]
    (answer,) = answers
    spread = answer["metrics"]["paid_spread"]
    assert spread["value"]["n"] == len(paid) > 100
    assert spread["value"]["effective"] == pytest.approx(median(paid), abs=0.002)
    assert spread["value"]["quoted"] > 0
    assert spread["method"] == "medians_5s"
    line = answer["metrics"]["kyle_lambda"]["value"]
    assert line["n"] >= 60
    assert abs(line["t"]) < 3  # trades of the simulator do not move its price


@pytest.mark.night
async def test_with_streams_the_first_answer_collects_and_a_later_one_has_it_all(era: str) -> None:
    heard: list[tuple[int, dict[str, Any]]] = []
    answers: list[dict[str, Any]] = []

    async def listen(market: LiveMarket) -> None:
        connection = await Loopback(market.exchange).connect("ws://own/stream?streams=solusdt@bookTicker")
        while True:
            quote = json.loads(await connection.recv())["data"]
            heard.append((market.clock.now_ms(), quote))

    async with live_market("busy", era=era) as market, anyio.create_task_group() as tasks:
        answers.append(await flow(market.client, "SOLUSDT"))
        tasks.start_soon(listen, market)
        await market.run(12)
        answers.append(await flow(market.client, "SOLUSDT", 10))
        tasks.cancel_scope.cancel()

    first, later = answers
    assert first["metrics"]["ofi"]["why_null"] == "collecting"
    assert first["metrics"]["ofi"]["progress"] == {
        "have_ms": 0, "need_ms": 10_000, "have_n": 0, "need_n": 30, "ready_at": "2026-07-21T00:02:13.456Z",
    }  # fmt: skip
    now_ms = heard[-1][0]
    before = sum(at < now_ms - 10_000 for at, _ in heard)
    states = [quote for _, quote in heard[before - 1 :]]
    assert len(states) > 30
    touch = fmean((float(each["B"]) + float(each["A"])) / 2 for each in states[1:])
    assert later["metrics"]["ofi"]["value"] == pytest.approx(order_flow_imbalance(states) / touch, abs=0.006)
    assert later["metrics"]["ofi"]["not_judged"] == {"have": 0, "need": 40, "unit": "windows"}
    assert later["metrics"]["flow_rates"]["value"]["bids"] > 0


@pytest.mark.night
@pytest.mark.parametrize("scenario", ["busy", "market"])
async def test_the_tape_says_what_the_candles_say_and_asks_for_nothing(scenario: str, era: str) -> None:
    async with live_market(scenario, era=era) as market:
        cold = await flow(market.client, "ETHUSDT", 20)
        await market.run(25)
        await flow(market.client, "ETHUSDT", 20)
        market.asked()
        warm = await flow(market.client, "ETHUSDT", 20)
        asked = market.asked()
        end = market.clock.now_ms() // 1000 * 1000
        expected = flow_of(await seconds_of(market.exchange, "ETHUSDT", end - 20_000, end))

    assert (cold["context"]["source"], warm["context"]["source"]) == (["klines_1s"], ["aggTrade"])
    assert asked == []
    metrics = warm["metrics"]
    assert Decimal(metrics["buy_volume"]["value"]) == expected.bought
    assert Decimal(metrics["sell_volume"]["value"]) == expected.sold
    assert metrics["trades"]["value"] == expected.trades
    assert float(metrics["vwap"]["value"]) == pytest.approx(expected.vwap, abs=TICKS["BTCUSDT"] / 19)
    if scenario == "busy":
        interval = metrics["imbalance_ratio"]["value"]
        assert interval["lo"] == pytest.approx(expected.low, abs=0.05)
        assert interval["hi"] == pytest.approx(expected.high, abs=0.05)
    else:
        assert metrics["imbalance_ratio"]["value"]["lo"] is None
    assert metrics["vpin"]["method"] == "vpin_true_flags_5m"
    assert 0 < metrics["vpin"]["value"]["value"] < 1
    assert 0 < metrics["vpin"]["p"] <= 1


@pytest.mark.night
async def test_after_a_lost_connection_the_tape_is_not_trusted_until_it_is_whole_again() -> None:
    async with live_market("busy") as market:
        await market.watch("ETHUSDT", 25)
        market.exchange.hub.life_ms = 1  # every connection has outlived itself
        await market.run(1)
        broken = await flow(market.client, "ETHUSDT", 20)
        end = market.clock.now_ms() // 1000 * 1000
        expected = flow_of(await seconds_of(market.exchange, "ETHUSDT", end - 20_000, end))

    assert broken["context"]["source"] == ["klines_1s"]
    assert Decimal(broken["metrics"]["buy_volume"]["value"]) == expected.bought


@requirement("data-model/prompt-order-flow-trading")
async def test_the_page_has_the_figures_of_the_raw_candles(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    result = await client.get_prompt("order_flow_trading", {"symbol": "btcusdt", "window_minutes": "10"})
    text = json.loads(result.model_dump_json())["messages"][0]["content"]["text"]
    end = clock.now_ms() // 1000 * 1000
    expected = flow_of(await seconds_of(exchange, "BTCUSDT", end - 600_000, end))

    assert text.startswith("# BTCUSDT Order Flow Analysis (Last 10 min)\n**Spread**: ")
    assert text.index("## Taker Flow: ") < text.index("## Flow Metrics\n**Buy Volume**: ")
    assert number(r"Buy Volume\*\*: ([0-9.,]+) BTC", text) == pytest.approx(float(expected.bought), abs=0.006)
    assert number(r"Sell Volume\*\*: ([0-9.,]+) BTC", text) == pytest.approx(float(expected.sold), abs=0.006)
    assert number(r"Imbalance Ratio\*\*: ([0-9.]+)", text) == pytest.approx(expected.ratio, abs=0.0006)
    assert number(r"Imbalance Ratio\*\*: [0-9.]+ \(([0-9.]+)-", text) == pytest.approx(expected.low, abs=0.05)
    assert number(r"VWAP\*\*: \$([0-9.,]+)", text) == pytest.approx(expected.vwap, abs=0.006)
    assert f"**Trades**: {expected.trades:,}\n" in text
    assert text.endswith(
        "\n*Computed by the stated rules from public data; not financial advice.*\n"
        "*Last updated: 2026-07-21 00:02:03 UTC*"
    )


async def test_reference_levels_are_the_last_swings_and_the_value_area_of_the_day(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.set_scenario("one_sided")
    clock.advance(3_600_000)  # after midnight alone no low of the last hours was below the price
    result = await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT", "window_minutes": "15"})
    text = json.loads(result.model_dump_json())["messages"][0]["content"]["text"]
    profile = await client.call_tool("get_volume_profile", {"symbol": "BTCUSDT"})
    end = clock.now_ms() // 60_000 * 60_000
    rows = await raw(exchange, f"klines?symbol=BTCUSDT&interval=1m&limit=240&endTime={end - 1}")
    lows, last = [float(row[3]) for row in rows], float(rows[-1][4])

    swings = [
        lows[at]
        for at in range(3, len(lows) - 3)
        if all(lows[at] < other for other in (*lows[at - 3 : at], *lows[at + 1 : at + 4])) and lows[at] < last
    ]
    assert number(r"Reference levels\*\*: below swing \$([0-9.,]+) \(1m\)", text) == swings[-1]
    vah = float(profile.structured_content["metrics"]["vah"]["value"])
    assert number(r"VAH \$([0-9.,]+) \(24h\)", text) == pytest.approx(vah, abs=0.006)


async def test_an_hour_says_how_much_of_it_is_known(client: Client) -> None:
    result = await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT", "window_minutes": "60"})

    assert "1,000 of 3,600 s, gaps 0: all numbers cover only these seconds_" in result.model_dump_json()
    assert "not judged: 1,000 of 3,600 s known" in result.model_dump_json()


@pytest.mark.parametrize("minutes", ["0", "61", "-5", "5.5", "five", "99999999999", "1e1"])
async def test_minutes_out_of_range_are_refused_with_the_range(client: Client, minutes: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT", "window_minutes": minutes})

    assert caught.value.code == -32602
    assert "a whole number from 1 to 60" in caught.value.message
    assert caught.value.data["errors"][0]["argument"] == "window_minutes"


@pytest.mark.parametrize("seconds", [9, 301, "sixty"])
async def test_seconds_out_of_range_are_refused(client: Client, seconds: object) -> None:
    result = await client.call_tool("get_order_flow", {"symbol": "BTCUSDT", "window_duration_secs": seconds})

    assert result.is_error
    assert result.structured_content["code"] == -32602


async def test_empty_minutes_are_the_default(client: Client) -> None:
    result = await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT", "window_minutes": " "})

    assert "(Last 5 min)" in result.model_dump_json()


@pytest.mark.parametrize("path", ["*/klines", "*/aggTrades"])
async def test_a_rate_limit_on_the_way_is_an_error_and_never_half_a_page(
    client: Client, exchange: SimulatedExchange, path: str
) -> None:
    await client.get_prompt("order_flow_trading", {"symbol": "ETHUSDT"})
    exchange.faults.add(Fault(kind="status", path=path, status=429, code=-1003, headers={"Retry-After": "60"}))

    with pytest.raises(MCPError) as caught:
        await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT"})

    assert caught.value.code == -32001


async def test_trades_that_cannot_be_had_leave_the_page_with_the_gap_marked(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/aggTrades", times=None))

    result = await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT"})

    assert "large trades: the exchange did not answer_" in result.model_dump_json()
    assert "**Buy Volume**: " in result.model_dump_json()


@pytest.mark.flood
async def test_pages_of_calm_one_sided_thin_and_silent_markets_are_as_reviewed(golden: Golden) -> None:
    async with live_market("busy") as market:
        await market.watch("ETHUSDT", 3)
        golden.check("views/order_flow.calm.cold.md", await market.page("order_flow_trading", symbol="ETHUSDT") + "\n")
        await market.run(60)
        warm = await market.page("order_flow_trading", symbol="ETHUSDT", window_minutes="1")
        golden.check("views/order_flow.calm.warm.md", warm + "\n")
    async with live_market("one_sided") as market:
        await market.watch("BTCUSDT", 3)
        cold = await market.page("order_flow_trading", symbol="BTCUSDT", window_minutes="15")
        golden.check("views/order_flow.one_sided.cold.md", cold + "\n")
        await market.run(60)
        warm = await market.page("order_flow_trading", symbol="BTCUSDT", window_minutes="1")
        golden.check("views/order_flow.one_sided.warm.md", warm + "\n")
        assert "## Taker Flow: USUAL" in cold
        assert "## Taker Flow: USUAL" in warm
    async with live_market("thin") as market:
        await market.watch("BTCUSDT", 65)
        text = await market.page("order_flow_trading", symbol="BTCUSDT", window_minutes="1")
        golden.check("views/order_flow.thin.warm.md", text + "\n")
    async with live_market("quiet") as market:
        text = await market.page("order_flow_trading", symbol="BTCUSDT")
        golden.check("views/order_flow.silent.md", text + "\n")
        assert not any(word in text for word in SIDES)


@pytest.mark.night
async def test_the_page_of_the_microstructure_says_what_takers_paid() -> None:
    async with live_market("busy") as market:
        await market.watch("ETHUSDT", 3)
        early = await market.page("market_microstructure_analysis", symbol="ETHUSDT")
        await market.run(40)
        text = await market.page("market_microstructure_analysis", symbol="ETHUSDT")

    assert "**Takers paid**" not in early
    assert number(r"\*\*Takers paid\*\* \(last 5 min\): effective spread ([0-9.]+) bps \(quoted ", text) > 0
