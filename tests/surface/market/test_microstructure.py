"""Anomalies, health and the microstructure page: cold without streams, cold with them, and warm."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import anyio
import pytest
from jsonschema import validate
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.analytics.score_history import ScoreHistory
from mcp_binance_server.domain.market import BookDelta, Trade
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.channels import Structure, Text
from support.golden import Golden
from support.requirement import requirement
from support.score_history import live_through
from support.served import text_of
from support.stepped import LiveMarket, live_market

PROMPT = "market_microstructure_analysis"
TOOLS = ("detect_market_anomalies", "get_microstructure_health")
HEADINGS = ["# BTCUSDT Market Microstructure Analysis", "## Volume Profile", "## Order Book", "## Market Anomalies"]
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


def remember(market: LiveMarket, minutes: int) -> None:
    """Let a feed that has just begun look back on calm minutes."""
    live_through(market.feed.pasts, minutes)


def refill_best_bid(market: LiveMarket, times: int) -> str:
    """Let sellers take from the best bid and have it filled up by the same size, until the minute is over."""
    feed = market.feed
    best, newest = feed.book.best_bid, feed.tape.newest
    assert best is not None
    assert newest is not None
    price, size, taken = f"{best.price:f}", Decimal(100), Quantity(Decimal("0.5"))
    ended = len(feed.minutes.ended)

    def show() -> None:
        market.clock.advance(200)
        following, now_ms = feed.book.last_update_id + 1, market.clock.now_ms()
        feed.on_depth(BookDelta(following, following, now_ms, [(price, f"{size:f}")], []), now_ms)

    show()
    for at in range(1, times + 1):
        now_ms, number = market.clock.now_ms(), newest.trade_id + at
        trade = Trade(number, best.price, taken, now_ms, buyer_is_maker=True, first_id=number, last_id=number)
        feed.on_trade(trade, now_ms)
        show()
    while len(feed.minutes.ended) == ended:
        show()
    return f"{best.price.normalize():f}"


def section(text: str, heading: str) -> str:
    return text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]


async def test_without_streams_nothing_is_claimed_of_a_window(client: Client) -> None:
    found = (await measures(client, "detect_market_anomalies"))["metrics"]
    health = (await measures(client, "get_microstructure_health"))["metrics"]

    assert found["events"]["value"] is None
    assert {each["why"] for each in found["not_judged"]["value"]} == {"upstream_unavailable"}
    assert len(found["not_judged"]["value"]) == 5
    assert found["stress"]["value"] is None
    assert (health["score"]["value"], health["score"]["why_null"]) == (None, "upstream_unavailable")
    assert health["word"]["value"] is None
    assert health["spread_at_minimum"]["value"] is True


@requirement("data-model/prompt-market-microstructure-analysis")
async def test_without_streams_the_page_has_profile_and_book_and_says_what_it_lacks(client: Client) -> None:
    text = await page(client)

    positions = [text.index(heading) for heading in HEADINGS]
    assert positions == sorted(positions)
    assert re.search(
        r"^\*\*POC\*\*: \$[\d,.]+ · \*\*VAH\*\*: \$[\d,.]+ · \*\*VAL\*\*: \$[\d,.]+ \(70%, one-row", text, re.MULTILINE
    )
    assert "1000/1000 levels" in text
    assert "no live stream for this symbol" in section(text, "Market Anomalies and Health")
    assert text.count("live stream") == 1
    assert re.search(
        r"^\*\*Last 5 min\*\*: more volume than \d+% and a wider range than \d+% of the 287 windows", text, re.MULTILINE
    )
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

    assert market.feed.is_live
    asked = [request.params.get("limit") for request in market.exchange.requests if request.path.endswith("/depth")]
    assert len(asked) == 1, "the stream's own snapshot, and no other book"
    assert "1000/1000 levels" in pages[0]


async def test_a_cold_page_says_when_the_rest_is_ready(market: LiveMarket, golden: Golden) -> None:
    await market.watch("BTCUSDT", 1)

    text = await market.page(PROMPT, symbol="BTCUSDT")

    assert section(text, "Market Anomalies and Health").split("\n")[1].startswith("_Not judged: 0 of 49 minutes; ")
    assert len(re.findall("(?i)not judged", text)) == 1
    assert "ready about" not in text
    golden.check("views/microstructure.cold.md", text + "\n")


@pytest.mark.night
@pytest.mark.flood
async def test_a_warm_page_of_a_calm_market(market: LiveMarket, golden: Golden) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 64)
    await market.run(125)

    text = await market.page(PROMPT, symbol="btcusdt", profile_hours="24", analysis_depth="Standard")

    assert re.search(r"^## Market Health: (Usual|Thin|Strained|Broken) \(\d+\)$", text, re.MULTILINE)
    assert re.search(r"^\| Hidden size \| nothing unusual \(6\d min of own past\) \|", text, re.MULTILINE)
    assert re.search(r"seen in \d+ of 6\d minutes as busy \(\d+\.\d %\)", text)
    assert "judged unusual; by chance alone, about" in text
    assert text.splitlines()[1].startswith("**Spread**: 1 tick, at its minimum")
    bold = [line.split("**")[1] for line in text.splitlines()[1:7]]
    assert bold == ["Spread", "Depth", "Flow", "Cost", "Last 5 min", "Health"]
    golden.check("views/microstructure.warm.md", text + "\n")


@pytest.mark.night
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


@pytest.mark.night
async def test_a_market_without_any_data_prints_no_number_it_does_not_know(golden: Golden) -> None:
    async with live_market("quiet") as market:
        await market.watch("BTCUSDT", 70)
        text = await market.page(PROMPT, symbol="BTCUSDT")
        health = (await measures(market.client, "get_microstructure_health"))["metrics"]

    assert "## Market Health: not judged" in text
    assert "_Unavailable: the book is empty_" in section(text, "Order Book")
    assert "_Unavailable: nothing was traded_" in section(text, "Volume Profile")
    assert "$" not in text
    assert health["score"]["why_null"] == "one_sided_book"
    golden.check("views/microstructure.no_data.md", text + "\n")


@pytest.mark.night
@pytest.mark.flood
async def test_a_symbol_watched_for_twelve_minutes_is_not_judged_and_nothing_is_found(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 11)
    price = None
    while price is None:  # the first whole minute
        await market.run(30)
        price = refill_best_bid(market, times=6) if market.feed.minutes.ended else None
    answer = await measures(market.client, "detect_market_anomalies")

    waiting = {each["event"]: (each["have"], each["need"]) for each in answer["metrics"]["not_judged"]["value"]}
    assert waiting["hidden_size"] == (13, 49)
    assert len(waiting) == 5
    assert answer["metrics"]["events"]["value"] is None
    assert "not judged: 13 of 49 minutes" in answer["summary"]


@pytest.mark.night
@requirement("ruling/39")
@pytest.mark.flood
async def test_what_is_usual_for_markets_alike_is_said_in_both_channels_and_on_the_page(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 11)
    while not market.feed.minutes.ended:
        await market.run(30)

    result = await market.client.call_tool("detect_market_anomalies", {"symbol": "BTCUSDT"})
    text = await market.page(PROMPT, symbol="BTCUSDT", analysis_depth="quick")

    assert result.structured_content is not None
    metrics = result.structured_content["metrics"]
    waiting = {each["event"]: each for each in metrics["not_judged"]["value"]}
    assert len(waiting) == 5
    alike = "tick under 0.1 bps, 60 to 600 trades a minute"
    assert (waiting["hidden_size"]["usual_of_class"], waiting["hidden_size"]["reference_class"]) == (True, alike)
    assert "usual_of_class" not in waiting["absorption"], "nothing was measured yet"
    assert metrics["events"]["value"] is None
    assert f"usual for similar markets ({alike})" in section(text, "Market Anomalies")
    assert "not judged: 12 of 49 minutes" in section(text, "Market Anomalies")
    assert Text(text_of(result)).missing(result.structured_content) == []
    assert Structure(result.structured_content).missing(text_of(result)) == []


@pytest.mark.flood
async def test_stress_that_became_usual_is_told_once_on_page_and_tool(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 64)
    await market.run(12)
    spoke = [False] * 51 + [True] * 9
    market.feed.pasts.scores["stress"] = ScoreHistory([0.0] * 60, spoke=spoke)

    answer = await measures(market.client, "detect_market_anomalies")
    text = await market.page(PROMPT, symbol="BTCUSDT", analysis_depth="quick")

    words = "unusual in 9 of the last 60 minutes: compare with the hours before"
    assert f"Stress: {words}" in answer["summary"]
    assert f"**Stress**: {words}" in text
    assert text.count(words) == 1
    assert answer["metrics"]["stress"]["value"]["unusual"] is False
    assert [(each["event"], each["k"], each["n"]) for each in answer["metrics"]["changed"]["value"]] == [
        ("stress", 9, 60)
    ]


@pytest.mark.night
@pytest.mark.flood
async def test_equal_refills_in_the_stream_are_told_with_their_base_rate_and_nobodys_intent(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 1)
    remember(market, 64)
    await market.run(62)
    price = refill_best_bid(market, times=6)

    answer = await measures(market.client, "detect_market_anomalies")
    text = await market.page(PROMPT, symbol="BTCUSDT", analysis_depth="quick")

    assert answer["metrics"]["not_judged"]["value"] == []
    (found,) = [each for each in answer["metrics"]["events"]["value"] if each["event"] == "hidden_size"]
    assert (found["price"], found["side"], found["unusual"], found["finding"]) == (price, "bid", True, False)
    assert found["measured"]["equal_refills"] >= 6
    assert (found["base_rate"]["k"], found["confidence"]) == (0, "medium")
    assert found["p"] == pytest.approx(1 / (found["base_rate"]["n"] + 1), abs=1e-4)
    assert found["text"].startswith("consistent with hidden size at $")
    assert "| Hidden size | unusual: consistent with hidden size at $" in text
    assert re.search(r"seen in 0 of 6\d minutes as busy \(0\.0 %\)", section(text, "Market Anomalies"))
    assert not INTENT.search(text)


@pytest.mark.night
@pytest.mark.flood
async def test_a_lost_connection_spoils_its_minute_and_no_other(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 125)
    feed = market.feed
    before = len(feed.minutes.ended)
    feed.on_lost()
    await market.run(5)
    lost = await measures(market.client, "get_microstructure_health")
    await market.run(125)

    assert before >= 1
    assert lost["metrics"]["score"]["value"] is None
    assert len(feed.minutes.ended) == before + 1, "the minute of the loss is none"


@pytest.mark.night
@pytest.mark.flood
async def test_health_has_a_score_once_there_is_half_an_hour(market: LiveMarket) -> None:
    cold = await measures(market.client, "get_microstructure_health")
    await market.run(2)
    remember(market, 29)
    await market.run(62)
    short = await measures(market.client, "get_microstructure_health")
    remember(market, 2)
    await market.run(62)
    warm = await measures(market.client, "get_microstructure_health")

    assert cold["metrics"]["score"]["not_judged"] == {"have": 0, "need": 30, "unit": "minutes"}
    assert short["metrics"]["score"]["value"] is not None or short["metrics"]["score"]["not_judged"]["have"] >= 29
    assert 0 <= warm["metrics"]["score"]["value"] <= 100
    assert warm["metrics"]["score"]["confidence"] == "medium"
    assert warm["metrics"]["word"]["value"] in ("Usual", "Thin", "Strained", "Broken")
    assert set(warm["metrics"]["parts"]["value"]) == {"spread", "depth"}
    assert warm["context"]["source"] == ["book"]


@pytest.mark.night
@pytest.mark.flood
async def test_a_book_that_falls_silent_has_no_health_at_all(market: LiveMarket) -> None:
    await market.watch("BTCUSDT", 2)
    remember(market, 31)
    await market.run(62)
    known = await measures(market.client, "get_microstructure_health")
    market.clock.advance(6_000)
    asked = await measures(market.client, "get_microstructure_health")

    assert known["metrics"]["score"]["value"] is not None
    assert (asked["metrics"]["score"]["value"], asked["metrics"]["score"]["why_null"]) == (None, "stale_book")
    assert asked["context"]["source"] == ["depth"]


@pytest.mark.parametrize("depth", ["quick", "deep"])
async def test_the_deepest_analysis_says_what_a_minute_usually_moves(market: LiveMarket, depth: str) -> None:
    await market.watch("BTCUSDT", 40)
    market.asked()

    text = await market.page(PROMPT, symbol="BTCUSDT", analysis_depth=depth)

    intervals = [request.params.get("interval") for request in market.exchange.requests]
    assert ("5m" in intervals) is (depth == "deep")
    assert ("_Usual move in a minute: " in text) is (depth == "deep")


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
