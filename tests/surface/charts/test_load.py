"""Many charts at once: equal ones are drawn once."""

from collections.abc import Callable, Coroutine, Sequence

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import Settings, read_settings
from support.charts import ENVIRONMENT
from support.clock import FakeClock
from support.desk import NETWORK, Loop

pytestmark = pytest.mark.flood

TOOL = "generate_chart_image"
CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "theme": "dark", "range": "7D"}
CROWD = 50


async def ask_all(
    client: Client, configs: Sequence[object], then: Callable[[], Coroutine[object, object, None]] | None = None
) -> list[dict[str, object]]:
    """Ask for all at once, and after them do something else."""
    answers: list[dict[str, object]] = []

    async def ask(config: object) -> None:
        answers.append((await client.call_tool(TOOL, {"config": config, "includeData": True})).structured_content)

    async with anyio.create_task_group() as group:
        for config in configs:
            group.start_soon(ask, config)
        if then is not None:
            group.start_soon(then)
    return answers


def drawn(caplog: pytest.LogCaptureFixture) -> int:
    return sum(record.getMessage().startswith("drawing BTCUSDT") for record in caplog.records)


class Held(Loop):
    """An exchange, or a chart service, that answers some requests only when it is let go."""

    def __init__(self, exchange: SimulatedExchange, *, holds: Callable[[httpx2.Request], bool]) -> None:
        super().__init__(exchange)
        self._holds = holds
        self.go = anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._holds(request):
            await self.go.wait()
        return await super().handle_async_request(request)


async def crowd_of(client: Client, transport: Held, configs: Sequence[object]) -> list[dict[str, object]]:
    """Let all ask before anybody is answered."""

    async def let_go() -> None:
        await client.call_tool(TOOL, {"config": {}})  # answered when all before it have been taken up
        transport.go.set()

    return await ask_all(client, configs, let_go)


async def test_fifty_who_ask_for_the_same_chart_get_one_picture(
    clock: FakeClock, exchange: SimulatedExchange, settings: Settings, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    one = {**CHART, "width": 400, "height": 300, "studies": [{"name": "RSI"}]}
    same = {**one, "symbol": "binance:btcusdt", "studies": [{"name": "RSI@tv-basicstudies", "inputs": {"length": 14}}]}
    transport = Held(exchange, holds=lambda request: request.url.path.endswith("/klines"))
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        answers = await crowd_of(client, transport, [one, same] * (CROWD // 2))

    assert len(answers) == CROWD
    assert all(answer == answers[0] for answer in answers)
    assert drawn(caplog) == 1


async def test_fifty_who_ask_the_service_for_the_same_chart_cost_one_image(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    transport = Held(exchange, holds=lambda request: request.method == "POST")
    settings = read_settings({**ENVIRONMENT, "CHART_IMG_API_KEY": exchange.charts.api_key, "CHART_IMG_PLAN": "PRO"})
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        answers = await crowd_of(client, transport, [CHART] * CROWD)

    assert len(answers) == CROWD
    assert all(answer == answers[0] for answer in answers)
    assert len(exchange.charts.bodies) == 1


async def test_the_next_minute_is_drawn_anew(
    client: Client, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    small = {**CHART, "width": 400, "height": 300}

    first = await client.call_tool(TOOL, {"config": small, "includeData": True})
    clock.advance(60_000)
    second = await client.call_tool(TOOL, {"config": small, "includeData": True})

    assert drawn(caplog) == 2
    assert first.structured_content["imageData"] != second.structured_content["imageData"]


async def test_one_who_gives_up_takes_the_picture_from_nobody(app: App) -> None:
    async with Client(app.server, mode="legacy", cache=None) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, TOOL, {"config": CHART})
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        answer = await client.call_tool(TOOL, {"config": CHART})

    assert answer.is_error is False
