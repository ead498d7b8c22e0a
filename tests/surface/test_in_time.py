"""No call keeps a client for ever: what takes too long is answered with what to do."""

from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import LONGEST_SECS
from mcp_binance_server.surface.server import build_server
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement


class Silent(Loop):
    """An exchange that takes every request and never says anything."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        return await super().handle_async_request(request)


async def asked(client: Client, kind: str) -> Any:  # noqa: ANN401 - the data of an error
    """Ask for a price and return what the refusal says to programs."""
    if kind == "tool":
        return (await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})).structured_content
    page, prompt = "binance://market/btcusdt", ("trading_analysis", {"symbol": "BTCUSDT"})
    with pytest.raises(MCPError) as caught:
        await (client.read_resource(page) if kind == "resource" else client.get_prompt(*prompt))
    return caught.value.error.data


@requirement("ruling/45")
@pytest.mark.parametrize("kind", ["tool", "resource", "prompt"])
async def test_what_takes_longer_than_clients_wait_is_answered_with_what_to_do(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, era: str, kind: str
) -> None:
    silent = Silent(exchange)
    async with running_app(settings, clock=clock, network=NETWORK, transport=silent, attempt_secs=600) as app:
        server = build_server(replace(app.dispatcher, longest_secs=0.02))
        async with Client(server, mode=era, cache=None) as client:
            told = await asked(client, kind)

    assert (told["error_type"], told["retryable"]) == ("took_too_long", True)
    assert "Try again in a minute" in told["recovery_suggestion"]


@requirement("ruling/45")
def test_the_longest_wait_is_below_45_seconds() -> None:
    assert Dispatcher.longest_secs < LONGEST_SECS <= 45
