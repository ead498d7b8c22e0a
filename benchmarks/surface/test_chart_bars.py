"""What a live chart costs: the bytes and processor time of a poll, the bytes of the whole, the memory of candles."""

import json
from time import process_time
from tracemalloc import get_traced_memory, start, stop
from typing import Any

import pytest
from mcp import Client

from mcp_binance_server.app import App
from mcp_binance_server.services.charts.candle_cache import MOST_KEPT, CandleCache, WatchedPair
from support.clock import FakeClock

TOOL = "get_chart_bars"
CHART: dict[str, Any] = {
    "symbol": "BINANCE:BTCUSDT",
    "interval": "1m",
    "studies": [{"name": "Bollinger Bands"}, {"name": "Relative Strength Index"}, {"name": "MACD"}],
}
POLL_BYTES, WHOLE_BYTES, LARGEST_BYTES = 2_000, 40_000, 250_000
POLL_SECS = 0.1
POLLS = 40


async def asked(client: Client, **arguments: object) -> tuple[dict[str, Any], int]:
    """Return an answer, and how long it is with all that surrounds it."""
    result = await client.call_tool(TOOL, {"config": CHART, **arguments})
    assert result.structured_content is not None
    assert result.structured_content["success"], result.structured_content
    return result.structured_content, len(result.model_dump_json(by_alias=True, exclude_none=True).encode())


async def test_a_poll_with_three_studies_is_short_and_quick(client: Client, clock: FakeClock) -> None:
    whole, length = await asked(client)
    lengths, spent = list[int](), list[float]()
    for _ in range(POLLS):
        clock.advance(2_000)
        before = process_time()
        poll, size = await asked(client, since=whole["rows"][-2][0])
        spent.append(process_time() - before)
        lengths.append(size)
        assert poll["as_of_ms"] == clock.now_ms()
        whole["rows"] = [*whole["rows"], *poll["rows"]]
    told = {"whole": length, "poll": max(lengths), "ms": round(sorted(spent)[POLLS // 2] * 1000)}

    assert length <= WHOLE_BYTES, told
    assert max(lengths) <= POLL_BYTES, told
    # The simulated exchange and the client work in this process too.
    assert sorted(spent)[POLLS // 2] <= POLL_SECS, told


async def test_a_poll_costs_a_fraction_of_the_picture(client: Client, clock: FakeClock) -> None:
    await asked(client)
    times = dict[str, list[float]]()
    for tool in ("generate_chart_image", TOOL) * 5:
        clock.advance(60_000)
        before = process_time()
        await client.call_tool(tool, {"config": CHART})
        times.setdefault(tool, []).append(process_time() - before)

    # What the rasteriser's own process takes is not even counted.
    assert min(times[TOOL]) < min(times["generate_chart_image"]), times


async def test_a_thousand_bars_of_many_studies_are_bounded(client: Client) -> None:
    names = ("Ichimoku Cloud", "Bollinger Bands", "MACD", "Stochastic", "Directional Movement")
    config = {**CHART, "range": "7D", "studies": [{"name": name} for name in names], "height": 1200}
    result = await client.call_tool(TOOL, {"config": config})

    assert result.structured_content is not None
    assert len(result.structured_content["rows"]) == 1_000
    assert len(json.dumps(result.structured_content, separators=(",", ":"))) <= LARGEST_BYTES


@pytest.mark.flood
async def test_candles_that_are_kept_are_bounded(app: App, clock: FakeClock) -> None:
    kept = CandleCache(app.market.client, clock)
    symbol = (await app.market.rules("BTCUSDT")).symbol
    await kept.newest(WatchedPair(symbol, "1m"), 1_000)
    start()
    try:
        for hours in range(MOST_KEPT // 1_000 + 4):
            await kept.newest(WatchedPair(symbol, "1m", clock.now_ms() - hours * 3_600_000), 1_000)
        held, _ = get_traced_memory()
    finally:
        stop()

    assert held < 48 * 2**20, held
