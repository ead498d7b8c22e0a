"""A frozen exchange answers every request with the same book: its age is that of the last change."""

from typing import Any

import pytest

from support.frozen import freeze
from support.stepped import LiveMarket, live_market

pytestmark = pytest.mark.anyio

SYMBOL = "BTCUSDT"
TOOLS = ("detect_market_anomalies", "get_microstructure_health", "get_order_flow", "get_orderbook_metrics")
PAGES = ("market_microstructure_analysis", "order_flow_trading", "liquidity_mapping")
JUDGED = {
    "detect_market_anomalies": "stress",
    "get_microstructure_health": "score",
    "get_order_flow": "direction",
}


async def asked(live: LiveMarket, tool: str) -> dict[str, Any]:
    answer = await live.client.call_tool(tool, {"symbol": SYMBOL})
    assert answer.structured_content is not None
    return answer.structured_content


async def test_no_answer_about_a_frozen_exchange_is_fresh_or_judged() -> None:
    answers: list[tuple[float, str, dict[str, Any]]] = []
    async with live_market("busy") as live:
        await live.watch(SYMBOL, 12)
        freeze(live.exchange, SYMBOL)
        began_ms = live.clock.now_ms()
        for pause in (8.0, 2.0, 12.0, 45.0):
            await live.run(pause)
            answers += [(live.clock.now_ms() - began_ms, tool, await asked(live, tool)) for tool in TOOLS]

    ids = {each["metrics"]["last_update_id"]["value"] for _, tool, each in answers if tool == "get_orderbook_metrics"}
    assert len(ids) == 1
    for passed_ms, tool, answer in answers:
        metrics, context = answer["metrics"], answer["context"]
        if tool != "get_order_flow":
            assert passed_ms - 1_500 <= context["age_ms"] <= passed_ms + 1_500, tool
            assert (context["stale"], context["unchanged_for_ms"]) == (True, context["age_ms"])
        if tool in JUDGED:
            assert metrics[JUDGED[tool]]["why_null"] == "stale_book", tool
        assert {"low", "medium", "high"}.isdisjoint(each.get("confidence") for each in metrics.values()), tool
    counted = [each for _, tool, each in answers if tool == "detect_market_anomalies"]
    assert all(row["why"] == "stale_book" for each in counted for row in each["metrics"]["not_judged"]["value"])


async def test_the_first_lines_of_a_page_give_the_time_of_the_last_change_after_a_minute() -> None:
    async with live_market() as live:
        await live.watch(SYMBOL, 12)
        freeze(live.exchange, SYMBOL)
        changed = (await asked(live, "get_orderbook_metrics"))["context"]["as_of"][11:19]
        await live.run(30)
        before = [await live.page(name, symbol=SYMBOL) for name in PAGES]
        await live.run(35)
        after = [await live.page(name, symbol=SYMBOL) for name in PAGES]

    assert not any("has sent nothing" in page for page in before)
    assert all(page.split("\n")[1] == f"*Stale: the stream has sent nothing since {changed} UTC*" for page in after)
    assert all("the book has not changed for too long" in page for page in after)


async def test_a_book_that_moves_again_is_fresh_again() -> None:
    async with live_market() as live:
        await live.watch(SYMBOL, 12)
        freeze(live.exchange, SYMBOL)
        await live.run(20)
        frozen = await asked(live, "get_orderbook_metrics")
        live.exchange.stage.market.sources = {}
        await live.run(8)
        moving = await asked(live, "get_orderbook_metrics")

    assert frozen["context"]["stale"]
    assert "stale" not in moving["context"]
    assert moving["metrics"]["mid"]["confidence"] == "high"
