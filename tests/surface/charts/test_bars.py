"""get_chart_bars as a chart's page calls it: what is read of the exchange, what is shared, and who is served first."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.services.charts.candle_cache import (
    KEPT_MS,
    MOST_SERIES,
    CandleCache,
    WatchedPair,
    load_series,
)
from mcp_binance_server.settings import Settings
from mcp_binance_server.state.fair_turns import MOST_WAITING
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.holders import Holders
from support.webapp import HttpClient, assembled, http_client

if TYPE_CHECKING:
    from collections.abc import Callable

TOOL = "get_chart_bars"
MINUTE_MS = 60_000
CHART: dict[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1m"}
STUDIES = ({"name": "RSI"}, {"name": "Bollinger Bands"}, {"name": "MACD"})
BTC = "BTCUSDT"


async def bars(client: Client, config: object = CHART, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(TOOL, {"config": config, **arguments})
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def asked(exchange: SimulatedExchange) -> list[tuple[str, int]]:
    """Return whose candles were asked for since last time, and how many."""
    found = [(each.params["symbol"], int(each.params["limit"])) for each in exchange.requests if "klines" in each.path]
    exchange.requests.clear()
    return found


def weight(exchange: SimulatedExchange) -> int:
    return sum(each.weight for each in exchange.requests)


class Retold(Loop):
    """An exchange whose candles somebody changes on their way."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.change: Callable[[list[list[Any]]], list[list[Any]]] = lambda rows: rows

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not request.url.path.endswith("/klines"):
            return response
        rows = self.change(json.loads(await response.aread()))
        return httpx2.Response(200, stream=httpx2.ByteStream(json.dumps(rows).encode()), request=request)


async def test_a_poll_asks_for_the_newest_candles_only(
    client: Client, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    whole = await bars(client, {**CHART, "studies": [*STUDIES]})
    assert asked(exchange) == [(BTC, 1000)]

    clock.advance(2 * MINUTE_MS)
    poll = await bars(client, {**CHART, "studies": [*STUDIES]}, since=whole["rows"][-2][0])

    assert asked(exchange) == [(BTC, 3)]
    assert [row[0] - whole["rows"][-2][0] for row in poll["rows"]] == [0, MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS]
    assert poll["rows"][0] == whole["rows"][-2]
    assert poll["as_of_ms"] == clock.now_ms()
    fresh = await bars(client, {**CHART, "studies": [*STUDIES], "theme": "dark"})
    assert fresh["rows"][-4:] == poll["rows"]


@pytest.mark.slow
@pytest.mark.night
async def test_ten_views_of_one_pair_cost_one_read_a_second(
    client: Client, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    charts = [{**CHART, "studies": [*STUDIES[: place % 4]], "width": 800 + place} for place in range(10)]
    for chart in charts:
        await bars(client, chart)
    exchange.requests.clear()

    for _ in range(20):
        clock.advance(500)
        async with anyio.create_task_group() as group:
            for chart in charts:
                group.start_soon(bars, client, chart)

    assert weight(exchange) == 20  # a read of candles weighs two, once a second for ten seconds
    assert asked(exchange) == [(BTC, 3)] * 10


async def test_one_who_needs_more_candles_makes_the_others_ask_for_no_more(
    client: Client, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    short, long = (
        {**CHART, "range": {"from": "2026-07-20T23:30:00Z", "to": "2026-07-22T00:00:00Z"}},
        {**CHART, "studies": [{"name": "RSI"}]},
    )
    own = await bars(client, short)
    await bars(client, long)
    clock.advance(1_000)

    again = await bars(client, short, since=0)

    counts = [count for _, count in asked(exchange)]
    assert counts[1:] == [1000, 3]
    assert len(again["rows"]) == len(own["rows"])


async def test_bars_that_were_missed_are_loaded(client: Client, clock: FakeClock, exchange: SimulatedExchange) -> None:
    before = await bars(client)
    asked(exchange)
    clock.advance(4 * MINUTE_MS)

    after = await bars(client)

    assert [count for _, count in asked(exchange)] == [3, 200]
    times = [row[0] for row in after["rows"]]
    assert times == [before["rows"][0][0] + (4 + bar) * MINUTE_MS for bar in range(200)]


async def test_a_closed_bar_that_changed_loads_all_anew(
    clock: FakeClock, exchange: SimulatedExchange, settings: Settings
) -> None:
    transport = Retold(exchange)

    def corrected(rows: list[list[Any]]) -> list[list[Any]]:
        return [[*row[:5], "7.00000000", *row[6:]] for row in rows]

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, cache=None) as client,
    ):
        before = await bars(client)
        transport.change = corrected
        clock.advance(MINUTE_MS)
        after = await bars(client)

    assert [count for _, count in asked(exchange)] == [200, 3, 200]
    assert "7" not in {row[5][0] for row in before["rows"]}
    assert {row[5][0] for row in after["rows"]} == {"7"}


async def test_what_is_over_is_read_once(client: Client, clock: FakeClock, exchange: SimulatedExchange) -> None:
    past = {**CHART, "range": {"from": "2026-07-20T20:00:00Z", "to": "2026-07-20T22:00:00Z"}}
    first = await bars(client, past)
    clock.advance(100_000)

    second = await bars(client, past)

    assert first["is_over"]
    assert len(asked(exchange)) == 1
    assert second["rows"] == first["rows"]
    assert second["last_bar_closed"]


async def test_a_range_that_ends_within_a_running_bar_is_not_over(
    client: Client, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    past = {**CHART, "interval": "1h", "range": {"from": "2026-07-20T10:00:00Z", "to": "2026-07-21T00:01:00Z"}}
    first = await bars(client, past)
    clock.advance(2 * MINUTE_MS)

    second = await bars(client, past)

    assert not first["is_over"]
    assert first["rows"][-1][0] == second["rows"][-1][0]
    assert first["rows"][-1] != second["rows"][-1]
    assert first["rows"][:-1] == second["rows"][:-1]
    assert [count for _, count in asked(exchange)][1:] == [3]


async def test_compared_markets_are_kept_too(client: Client, clock: FakeClock, exchange: SimulatedExchange) -> None:
    compared = {**CHART, "compare": ["BINANCE:ETHUSDT"]}
    await bars(client, compared)
    asked(exchange)
    clock.advance(1_000)

    await bars(client, compared)

    assert asked(exchange) == [(BTC, 3), ("ETHUSDT", 3)]


async def test_nobody_is_told_what_the_exchange_did_not_say_now(
    client: Client, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    await bars(client)
    exchange.weight_limit = 1
    clock.advance(1_000)

    refused = await client.call_tool(TOOL, {"config": CHART})

    assert refused.is_error
    assert refused.structured_content is not None
    assert refused.structured_content["retry_after_secs"] > 0


async def test_candles_are_forgotten_five_minutes_after_the_last_question(app: App, clock: FakeClock) -> None:
    kept = CandleCache(app.market.client, clock)
    one, other = WatchedPair((await app.market.rules(BTC)).symbol, "1m"), (await app.market.rules("ETHUSDT")).symbol
    await kept.newest(one, 10)
    clock.advance(KEPT_MS - 1)
    await kept.newest(one, 10)
    clock.advance(KEPT_MS - 1)
    await kept.newest(WatchedPair(other, "1m"), 10)
    assert len(kept) == 2

    clock.advance(1)
    await kept.newest(WatchedPair(other, "1m"), 10)

    assert len(kept) == 1


@pytest.mark.slow
async def test_one_who_looks_at_many_pairs_makes_nobody_else_load_anew(
    app: App, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    kept = CandleCache(app.market.client, clock)
    symbol = (await app.market.rules(BTC)).symbol
    own = [WatchedPair(symbol, interval) for interval in ("1m", "5m", "1h")]
    with acting_for("ann"):
        for pair in own:
            await kept.newest(pair, 300)
    with acting_for("hog"):
        for hour in range(2 * MOST_SERIES):
            await kept.newest(WatchedPair(symbol, "1m", clock.now_ms() - hour * 60 * MINUTE_MS), 20)
            clock.advance(1)
    exchange.requests.clear()

    with acting_for("ann"):
        for pair in own:
            clock.advance(1_000)
            await kept.newest(pair, 300)

    assert len(kept) == MOST_SERIES
    assert [count for _, count in asked(exchange)] == [3, 3, 3]


@pytest.mark.slow
async def test_candles_that_are_kept_are_those_that_would_be_loaded(app: App, clock: FakeClock) -> None:
    kept = CandleCache(app.market.client, clock)
    pair = WatchedPair((await app.market.rules(BTC)).symbol, "1m")

    for step in (0, 1_000, 59_000, 120_000, 61_500, 600_000, 30_000):
        clock.advance(step)
        loaded = await load_series(app.market.client, pair, 1_100)

        assert await kept.newest(pair, 1_100) == loaded
        assert len(loaded.candles) == 1_100


async def test_equal_questions_at_once_are_computed_once(app: App) -> None:
    readings: list[object] = []

    async def ask() -> None:
        readings.append(await app.context.chart_bars.read(CHART))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)

    assert len({id(each) for each in readings}) == 1


async def poll(client: HttpClient, width: int, **headers: str) -> dict[str, Any]:
    config = {"symbol": "BINANCE:BTCUSDT", "interval": "1m", "width": width}
    answer = await client.modern("tools/call", {"name": TOOL, "arguments": {"config": config}}, **headers)
    return answer.json()["result"]["structuredContent"]


@pytest.mark.slow
async def test_one_who_asks_for_many_charts_keeps_nobody_else_waiting(
    clock: FakeClock, exchange: SimulatedExchange, settings: Settings, tmp_path: Path
) -> None:
    holders = Holders(tmp_path / "tokens", "ann", "hog")
    order: list[str] = []
    refused: list[dict[str, Any]] = []
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        assembled(app, authentication=holders.authentication(clock)) as http,
        http_client(http) as client,
    ):
        await poll(client, 400, **holders.bearer("ann"))
        await app.context.charting.local.composing.acquire_on_behalf_of("the test")

        async def ask(name: str, width: int) -> None:
            answer = await poll(client, width, **holders.bearer(name))
            order.append(name) if answer["success"] else refused.append(answer)

        async with anyio.create_task_group() as group:
            for more in range(MOST_WAITING + 4):
                group.start_soon(ask, "hog", 500 + more)
            while not refused:
                await anyio.lowlevel.checkpoint()
            group.start_soon(ask, "ann", 401)
            turns = app.context.chart_bars.turns
            with anyio.fail_after(60):
                while len(turns.used_here().used) < 2:
                    await anyio.lowlevel.checkpoint()
            app.context.charting.local.composing.release_on_behalf_of("the test")

    assert order.index("ann") <= 2
    assert {each["error"] for each in refused} == {
        f"The chart could not be drawn locally: {MOST_WAITING} of your charts are already waiting for their turn."
    }
