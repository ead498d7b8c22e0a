"""Anomalies, health and the microstructure page: cold without streams, cold with them, and warm."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import anyio
import pytest
from jsonschema import validate
from mcp import Client, MCPError, types

from mcp_binance_server.domain.market import BookDelta, Trade
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.sampling import Second
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.faults import Fault
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.golden import Golden
from support.requirement import requirement
from support.served import text_of
from support.stepped import LiveMarket, live_market

PROMPT = "market_microstructure_analysis"
TOOLS = ("detect_market_anomalies", "get_microstructure_health")
HEADINGS = ["# BTCUSDT Market Microstructure Analysis", "## Volume Profile", "## Order Book", "## Market Anomalies",
            "## Market Health"]  # fmt: skip
INTENT = re.compile(r"manipulat|fraud|\bintend|\bintent|institution|whale|\bis (an? )?(iceberg|spoof)", re.IGNORECASE)


@pytest.fixture
async def market(era: str) -> AsyncIterator[LiveMarket]:
    async with live_market(era=era) as live:
        yield live


async def page(client: Client, **arguments: str) -> str:
    (message,) = (await client.get_prompt(PROMPT, {"symbol": "BTCUSDT", **arguments})).messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def measures(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    result = await client.call_tool(tool, {"symbol": "BTCUSDT", **arguments})
    assert not result.is_error
    spec = CATALOGUE.tool(tool)
    assert spec is not None
    validate(result.structured_content, spec.wire.output_schema or {})
    answer: dict[str, Any] = result.structured_content
    assert text_of(result).splitlines()[0] == answer["summary"]
    return answer


def feed_of(market: LiveMarket) -> SymbolFeed:
    hub = market.app.context.live.hub
    assert hub is not None
    (watched,) = hub.watched()
    return watched.feed


def remember(market: LiveMarket, seconds: int) -> None:
    """Let a feed that has just begun look back on calm seconds."""
    feed, now_s = feed_of(market), market.clock.now_ms() // 1000
    feed.seconds.clear()
    for at in range(seconds):
        time_ms = (now_s - seconds + at + 1) * 1000
        book = 118_000.0 + at % 3, 1.0 + at % 5 * 0.1, 10.0 + at % 4, 10.0 + at % 3, 90.0 + at % 7
        feed.seconds.add(Second(time_ms, *book, 20 + at % 9, 9, 9, 1 + at % 2, float(at % 5 - 2), 6))


def refill_best_bid(market: LiveMarket, times: int) -> str:
    """Let sellers take the whole best bid and have it shown again, the way the stream does it."""
    feed = feed_of(market)
    best, newest = feed.book.best_bid, feed.tape.newest
    assert best is not None
    assert newest is not None
    price, size = f"{best.price:f}", Decimal(100)  # more than stood there
    trade_id = newest.trade_id

    def show(quantity: Decimal) -> None:
        market.clock.advance(200)
        following, now_ms = feed.book.last_update_id + 1, market.clock.now_ms()
        feed.on_depth(BookDelta(following, following, now_ms, [(price, f"{quantity:f}")], []), now_ms)

    show(size)
    for at in range(1, times + 1):
        market.clock.advance(100)
        now_ms, number = market.clock.now_ms(), trade_id + at
        trade = Trade(number, best.price, Quantity(size), now_ms, buyer_is_maker=True, first_id=number, last_id=number)
        feed.on_trade(trade, now_ms)
        show(Decimal(0))
        show(size)
    return f"{best.price.normalize():f}"


def section(text: str, heading: str) -> str:
    return text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]


async def test_without_streams_nothing_is_claimed_of_a_window(client: Client) -> None:
    found = (await measures(client, "detect_market_anomalies"))["metrics"]
    health = (await measures(client, "get_microstructure_health"))["metrics"]

    assert found["anomalies"]["value"] == []
    assert {each["why_null"] for each in found["not_assessed"]["value"]} == {"upstream_unavailable"}
    assert len(found["not_assessed"]["value"]) == 5
    assert (health["score"]["value"], health["score"]["why_null"]) == (None, "insufficient_components")
    assert health["level"]["value"] == "Unknown"
    assert [each["component"] for each in health["missing"]["value"]] == ["spread", "depth", "resilience"]


@requirement("data-model/prompt-market-microstructure-analysis")
async def test_without_streams_the_page_has_profile_and_book_and_says_what_it_lacks(client: Client) -> None:
    text = await page(client)

    positions = [text.index(heading) for heading in HEADINGS]
    assert positions == sorted(positions)
    assert re.search(
        r"^\*\*POC\*\*: \$[\d,.]+ · \*\*VAH\*\*: \$[\d,.]+ · \*\*VAL\*\*: \$[\d,.]+ \(70%, one-row", text, re.MULTILINE
    )
    assert "1000/1000 levels" in text
    assert "no live stream for this symbol" in section(text, "Market Anomalies")
    assert text.split("\n")[-2] == "*Computed by the stated rules from public data; not financial advice.*"
    assert re.fullmatch(r"\*Last updated: [\d-]{10} [\d:]{8} UTC\*", text.split("\n")[-1])


async def test_a_page_waits_a_little_for_the_first_book(market: LiveMarket) -> None:
    pages = list[str]()

    async def ask() -> None:
        pages.append(await market.page(PROMPT, symbol="BTCUSDT"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        while not pages:
            await market.run(0.1)

    assert feed_of(market).is_live
    asked = [request.params.get("limit") for request in market.exchange.requests if request.path.endswith("/depth")]
    assert len(asked) == 1, "the stream's own snapshot, and no other book"
    assert "1000/1000 levels" in pages[0]


async def test_a_cold_page_says_when_the_rest_is_ready(market: LiveMarket, golden: Golden) -> None:
    await market.watch("BTCUSDT", 1)

    text = await market.page(PROMPT, symbol="BTCUSDT")

    assert "## Market Health: Unknown" in text
    assert re.search(r"Spoof-like: Collecting: [01] of 60 s \([12]%\), ready about [\d:]{8} UTC_", text)
    golden.check("views/microstructure.cold.md", text + "\n")


@pytest.mark.flood
async def test_a_warm_page_of_a_calm_market(market: LiveMarket, golden: Golden) -> None:
    await market.watch("BTCUSDT", 70)

    text = await market.page(PROMPT, symbol="btcusdt", profile_hours="24", analysis_depth="Standard")

    assert re.search(r"^## Market Health: \d+\.\d \((Excellent|Good|Fair), without resilience\)$", text, re.MULTILINE)
    assert "| Iceberg | none found |" in text
    golden.check("views/microstructure.warm.md", text + "\n")


@pytest.mark.parametrize("scenario", ["one_sided", "thin"])
async def test_pages_of_other_markets(scenario: str, golden: Golden) -> None:
    async with live_market(scenario) as market:
        await market.watch("BTCUSDT", 1)
        cold = await market.page(PROMPT, symbol="BTCUSDT")
        await market.run(70)
        warm = await market.page(PROMPT, symbol="BTCUSDT")

    for text in (cold, warm):
        assert not INTENT.search(text)
        assert not re.search(r"\b(nan|inf|None)\b", text)
    golden.check(f"views/microstructure.{scenario}.cold.md", cold + "\n")
    golden.check(f"views/microstructure.{scenario}.warm.md", warm + "\n")


async def test_a_market_without_any_data_prints_no_number_it_does_not_know(golden: Golden) -> None:
    async with live_market("quiet") as market:
        await market.watch("BTCUSDT", 70)
        text = await market.page(PROMPT, symbol="BTCUSDT")
        health = (await measures(market.client, "get_microstructure_health"))["metrics"]

    assert "## Market Health: Unknown" in text
    assert "_Unavailable: the book is empty_" in section(text, "Order Book")
    assert "_Unavailable: nothing was traded_" in section(text, "Volume Profile")
    assert "$" not in text
    assert health["score"]["why_null"] == "one_sided_book"
    golden.check("views/microstructure.no_data.md", text + "\n")


async def test_the_flags_need_minutes_and_a_flood_an_hour(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 400)
    after_minutes = (await measures(market.client, "detect_market_anomalies"))["metrics"]["not_assessed"]["value"]

    waiting = {each["type"]: each for each in after_minutes}
    assert "flash_crash_flags" not in waiting
    assert waiting["quote_stuffing"]["why_null"] == "insufficient_baseline"
    assert waiting["quote_stuffing"]["progress"]["need_ms"] == 3_600_000
    assert 399_000 <= waiting["quote_stuffing"]["progress"]["have_ms"] <= 401_000


@pytest.mark.flood
async def test_after_an_hour_every_rule_is_applied(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 3_600)
    await market.run(62)

    answer = await measures(market.client, "detect_market_anomalies")
    text = await market.page(PROMPT, symbol="BTCUSDT")

    assert answer["metrics"]["not_assessed"]["value"] == []
    assert "not assessed" not in text
    assert "Collecting" not in text
    assert "for this symbol over the last hour" in text


@pytest.mark.flood
async def test_an_iceberg_in_the_stream_is_told_with_its_rule_and_nobodys_intent(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 62)
    price = refill_best_bid(market, times=3)

    answer = await measures(market.client, "detect_market_anomalies")
    text = await market.page(PROMPT, symbol="BTCUSDT")

    (found,) = [each for each in answer["metrics"]["anomalies"]["value"] if each["type"] == "iceberg"]
    assert (found["price"], found["side"], found["severity"]) == (price, "bid", "Medium")
    assert found["measured"]["executed_over_displayed"] == pytest.approx(3.0, abs=0.1)
    assert found["measured"]["refills"] >= 3
    assert found["text"].startswith("consistent with hidden size at $")
    assert found["rule"] == "executed/displayed >=2, >=2 refills within 1 s"
    assert "| Iceberg | consistent with hidden size at $" in text
    assert not INTENT.search(text)


@pytest.mark.flood
async def test_a_window_fills_second_by_second_and_a_lost_connection_empties_it(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 40)
    half = (await measures(market.client, "detect_market_anomalies"))["metrics"]["not_assessed"]["value"]
    await market.run(30)
    full = (await measures(market.client, "detect_market_anomalies"))["metrics"]["not_assessed"]["value"]
    feed_of(market).on_lost()
    lost = (await measures(market.client, "detect_market_anomalies"))["metrics"]["not_assessed"]["value"]

    waiting = {each["type"]: each for each in half}
    assert waiting["iceberg"]["why_null"] == "collecting"
    assert 38_000 <= waiting["iceberg"]["progress"]["have_ms"] <= 40_000
    assert {each["type"] for each in full} == {"quote_stuffing", "flash_crash_flags"}
    assert {each["type"]: each for each in lost}["iceberg"]["progress"]["have_ms"] == 0


async def test_health_has_a_score_half_a_minute_after_the_first_call(market: LiveMarket) -> None:
    cold = await measures(market.client, "get_microstructure_health")
    await market.run(35)
    warm = await measures(market.client, "get_microstructure_health")

    assert cold["metrics"]["score"]["value"] is None
    assert cold["metrics"]["available_weight"]["value"] == pytest.approx(0.3)
    score = warm["metrics"]["score"]
    assert 0 < score["value"] <= 100
    assert score["confidence"] == "low"
    assert [each["component"] for each in warm["metrics"]["missing"]["value"]] == ["resilience"]
    assert warm["metrics"]["available_weight"]["value"] == pytest.approx(0.85)
    assert warm["context"]["source"] == ["book"]


@pytest.mark.flood
async def test_a_book_that_falls_silent_loses_freshness_then_is_asked_for_again(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 40)
    market.clock.advance(4_000)
    stale = await measures(market.client, "get_microstructure_health")
    market.clock.advance(2_000)
    asked = await measures(market.client, "get_microstructure_health")

    assert stale["metrics"]["score"]["confidence"] == "none"
    assert stale["metrics"]["components"]["value"]["freshness"] < 0.3
    assert asked["context"]["source"] == ["depth"]


@pytest.mark.parametrize("depth", ["quick", "deep"])
async def test_the_depth_of_an_analysis_is_its_baseline(market: LiveMarket, depth: str) -> None:
    await market.watch("BTCUSDT", 40)
    market.asked()

    text = await market.page(PROMPT, symbol="BTCUSDT", analysis_depth=depth)

    intervals = [request.params.get("interval") for request in market.exchange.requests]
    assert ("5m" in intervals) is (depth == "deep")
    assert ("_Volatility compared with a day of 5m bars" in text) is (depth == "deep")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"profile_hours": "0"}, "from 1 to 168"),
        ({"profile_hours": "169"}, "from 1 to 168"),
        ({"profile_hours": "a day"}, "from 1 to 168"),
        ({"analysis_depth": "thorough"}, "'quick', 'standard' or 'deep'"),
    ],
)
async def test_arguments_out_of_range_are_refused_with_the_range(
    client: Client, arguments: dict[str, str], named: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await page(client, **arguments)

    assert caught.value.code == -32602
    assert named in str(caught.value.data)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("seconds", [9, 301])
async def test_a_window_out_of_range_is_refused(client: Client, tool: str, seconds: int) -> None:
    result = await client.call_tool(tool, {"symbol": "BTCUSDT", "window_duration_secs": seconds})

    assert result.is_error
    assert result.structured_content["code"] == -32602


async def test_empty_arguments_count_as_not_given(client: Client) -> None:
    text = await page(client, profile_hours="", analysis_depth=" ")

    assert "## Volume Profile (Last 24h)" in text


async def test_a_rate_limit_is_an_error_and_never_half_a_page(client: Client, exchange: SimulatedExchange) -> None:
    await page(client)
    fault = Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "9"}, path="/api/v3/klines")
    exchange.faults.add(fault)

    with pytest.raises(MCPError) as caught:
        await page(client, profile_hours="3")

    assert caught.value.code == -32001


@pytest.mark.parametrize(("path", "missing"), [("klines", "Volume Profile"), ("depth", "Order Book")])
async def test_a_part_that_fails_is_marked_and_the_rest_is_there(
    client: Client, exchange: SimulatedExchange, path: str, missing: str
) -> None:
    exchange.faults.add(Fault(kind="status", status=500, code=-1000, path=f"/api/v3/{path}", times=None))

    text = await page(client)

    assert "_Unavailable: " in section(text, missing)
    present = "Order Book" if missing == "Volume Profile" else "Volume Profile"
    assert "_Unavailable: " not in section(text, present)
    assert text.endswith(" UTC*")
