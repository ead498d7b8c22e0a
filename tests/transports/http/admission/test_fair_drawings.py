"""Charts drawn here are drawn for everybody: one token with many of them waiting keeps no other waiting."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.state.fair_turns import MOST_WAITING
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.holders import Holders
from support.webapp import HttpClient, assembled, http_client

TOOL = "generate_chart_image"
BEYOND = 3
PATIENCE_SECS = 60.0


class HeldBitcoin(Loop):
    """An exchange that says nothing of bitcoin, and notes who asks."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.held = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/klines") and request.url.params["symbol"] == "BTCUSDT":
            self.held += 1
            await anyio.sleep_forever()
        return await super().handle_async_request(request)


async def draw(client: HttpClient, symbol: str, height: int, **headers: str) -> dict[str, Any]:
    config = {"symbol": f"BINANCE:{symbol}", "interval": "1h", "range": "2D", "width": 400, "height": height}
    asked = {"name": TOOL, "arguments": {"config": config, "includeData": True}}
    answer = await client.modern("tools/call", asked, **headers)
    return answer.json()["result"]["structuredContent"]


@pytest.mark.slow
async def test_one_who_has_many_charts_waiting_keeps_nobody_else_waiting(
    clock: FakeClock, exchange: SimulatedExchange, settings: Settings, tmp_path: Path
) -> None:
    holders = Holders(tmp_path / "tokens", "ann", "hog")
    transport = HeldBitcoin(exchange)
    drawn: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        assembled(app, authentication=holders.authentication(clock)) as http,
        http_client(http) as client,
        anyio.create_task_group() as group,
    ):
        ann = holders.bearer("ann")
        drawn.append(await draw(client, "ETHUSDT", 300, **ann))

        async def hoard(height: int) -> None:
            refused.append(await draw(client, "BTCUSDT", height, **holders.bearer("hog")))

        for more in range(1 + MOST_WAITING + BEYOND):
            group.start_soon(hoard, 300 + more)
        with anyio.fail_after(PATIENCE_SECS):
            while len(refused) < BEYOND:
                await anyio.lowlevel.checkpoint()
        drawn.append(await draw(client, "ETHUSDT", 301, **ann))
        group.cancel_scope.cancel()

    assert [each["success"] for each in drawn] == [True, True]
    assert transport.held == 1
    said = f"The chart could not be drawn locally: {MOST_WAITING} of your charts are already waiting for their turn."
    assert [(each["error"], each["retryable"]) for each in refused] == [(said, True)] * BEYOND
