"""A threshold that was changed changes the answer, and every answer says which ones were."""

import re
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.analytics.tuning import TUNABLE, plain_number
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import ANALYTICS_PREFIX as PREFIX
from support.clock import FakeClock
from support.served import Place, text_of
from support.stepped import live_market

pytestmark = pytest.mark.flood

LIVE_PROMPTS = ("order_flow_trading", "liquidity_mapping", "market_microstructure_analysis")
LIVE_TOOLS = (
    "get_orderbook_metrics",
    "get_order_flow",
    "get_volume_profile",
    "get_liquidity_vacuums",
    "detect_market_anomalies",
    "get_microstructure_health",
)


async def told(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401
    result = await client.call_tool(tool, {"symbol": "BTCUSDT", **arguments})
    assert not result.is_error, text_of(result)
    return text_of(result), result.structured_content or {}


def changed(**given: str) -> dict[str, str]:
    return {f"{PREFIX}{name.upper()}": text for name, text in given.items()}


@pytest.mark.night
async def test_flow_is_judged_by_as_many_events_as_the_threshold_asks_for() -> None:
    async with live_market(environment=changed(min_events="4000")) as live:
        await live.watch("BTCUSDT", 12)
        text, answer = await told(live.client, "get_order_flow", window_duration_secs=300)
        page = await live.page("order_flow_trading", symbol="BTCUSDT")
    async with live_market() as live:
        await live.watch("BTCUSDT", 12)
        _, usual = await told(live.client, "get_order_flow", window_duration_secs=300)

    assert usual["metrics"]["direction"]["value"] is not None
    assert usual["metrics"]["ofi"]["value"] is not None
    assert answer["metrics"]["direction"]["why_null"] == "insufficient_events"
    assert answer["metrics"]["ofi"]["why_null"] == "insufficient_events"
    assert re.search(r"too few trades yet \([0-9]+ of 4000\)", text)
    assert text.endswith("; thresholds: min_events 4000 (default 30)*")
    assert re.search(r"^_Not known yet: OFI: [0-9,]+ of 4,000 events; ", page, re.MULTILINE)
    assert "_Thresholds: min_events 4000 (default 30)_" in page


@pytest.mark.night
@pytest.mark.parametrize(("percentile", "top"), [("50", 50), ("90", 10)])
async def test_a_large_trade_is_in_the_top_that_the_threshold_leaves(percentile: str, top: int) -> None:
    given = changed(large_trade_min_n="10", large_trade_percentile=percentile)
    async with live_market("busy", environment=given) as live:
        await live.watch("BTCUSDT", 40)
        _, answer = await told(live.client, "get_order_flow", window_duration_secs=20)
        page = await live.page("order_flow_trading", symbol="BTCUSDT", window_minutes="1")

    large = answer["metrics"]["large_trades"]["value"]
    assert large["buys"] + large["sells"] > 0
    assert f", the top {top}% of " in page
    assert f"large_trade_percentile {percentile} (default 99)" in answer["thresholds"]
    assert f"large_trade_percentile {percentile} (default 99)" in page


@pytest.mark.parametrize(("given", "is_stale"), [({}, False), ({"stale_ms": "1000"}, True)])
async def test_a_book_is_stale_from_the_age_that_the_threshold_says(given: dict[str, str], is_stale: bool) -> None:  # noqa: FBT001
    async with live_market(environment=changed(**given)) as live:
        await live.watch("BTCUSDT", 5)
        live.clock.advance(1_500)
        text, answer = await told(live.client, "get_orderbook_metrics")
        live.exchange.requests.clear()
        await live.client.call_tool("get_order_book", {"symbol": "BTCUSDT"})
        asked = live.asked()

    # The exchange had stamped the last event some moments before it came.
    assert 1_500 <= answer["context"]["age_ms"] < 1_600
    assert (answer["metrics"]["mid"]["confidence"] == "none") is is_stale
    assert ("stale" in text.partition("\n")[0]) is is_stale
    assert ("depth" in asked) is is_stale
    assert answer["thresholds"] == ("stale_ms 1000 (default 2000)" if is_stale else "project defaults")


async def test_every_live_page_and_answer_says_what_it_compared_with() -> None:
    async with live_market(environment=changed(depletion_drop="0.25", profile_area="0.8")) as live:
        await live.watch("BTCUSDT", 2)
        pages = [await live.page(name, symbol="BTCUSDT") for name in LIVE_PROMPTS]
        answers = [await told(live.client, name) for name in LIVE_TOOLS]

    said = "profile_area 0.8 (default 0.7); depletion_drop 0.25 (default 0.3)"
    for page in pages:
        lines = page.splitlines()
        assert lines[-5] == f"_Thresholds: {said}_"
    for text, answer in answers:
        assert answer["thresholds"] == said
        assert text.endswith(f"; thresholds: {said}*")
    assert "(80%, one-row rule)" in pages[2]


async def test_the_value_area_grows_by_the_rows_of_the_threshold_unless_a_caller_asks() -> None:
    async with live_market(environment=changed(profile_rows="2")) as live:
        _, left_out = await told(live.client, "get_volume_profile")
        _, asked = await told(live.client, "get_volume_profile", rows=1)

    assert left_out["metrics"]["vah"]["method"] == "value_area_two_row"
    assert asked["metrics"]["vah"]["method"] == "value_area_one_row"


async def test_the_portfolio_and_trading_pages_use_the_thresholds_and_name_them(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    place, account = Place(clock, exchange, era), exchange.account
    key = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}
    async with place.served(key | changed(market_shock="-0.5", momentum_sigmas="100")) as client:
        risk, trading = [
            (await client.get_prompt(name, arguments)).messages[0].content
            for name, arguments in (("portfolio_risk", {}), ("trading_analysis", {"symbol": "BTCUSDT"}))
        ]

    said = "_Thresholds: momentum_sigmas 100 (default 1); market_shock -0.5 (default -0.2)_"
    assert "| Every non-stable asset -50% |" in str(getattr(risk, "text", ""))
    assert "little net movement" in str(getattr(trading, "text", ""))
    for content in (risk, trading):
        assert said in str(getattr(content, "text", ""))


@pytest.mark.night
@pytest.mark.parametrize("end", ["low", "high"])
async def test_at_either_end_of_the_bounds_everything_still_answers_and_pages_stay_short(end: str) -> None:
    single = [name for name in TUNABLE if not isinstance(getattr(DEFAULTS, name), tuple)]
    given = {name: plain_number(getattr(TUNABLE[name], end)) for name in single}
    async with live_market(environment=changed(**given)) as live:
        await live.watch("BTCUSDT", 5)
        pages = [await live.page(name, symbol="BTCUSDT") for name in (*LIVE_PROMPTS, "trading_analysis")]
        for name in LIVE_TOOLS:
            await told(live.client, name)

    assert all("_Unavailable: the" not in page for page in pages)
    assert max(page.count("\n") for page in pages) < 80


@pytest.mark.parametrize("given", [{"bias_t": "a lot"}, {"wall_z": "4"}, {"stale_ms": "9000"}])
async def test_a_wrong_threshold_stops_the_start(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=PREFIX):
        async with live_market(environment=changed(**given)):
            pytest.fail("it started")
