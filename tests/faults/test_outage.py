"""The exchange cuts every connection while fifty callers go on asking; `--scale 20` is a minute of it."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult

from binance_simulator.faults import Fault
from mcp_binance_server.app import App, running_app
from mcp_binance_server.channel import MOST_CONNECTIONS
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.endpoints import network_at
from mcp_binance_server.settings import read_settings
from support.exchange_socket import ServedExchange, served_exchange
from support.served import text_of

pytestmark = [pytest.mark.anyio, pytest.mark.flood]

CLOCK = SystemClock()
CALLERS, OUTAGE_SECS = 50, 3


@pytest.fixture
def exchange_socket() -> Iterator[ServedExchange]:
    with served_exchange() as served:
        yield served


@asynccontextmanager
async def connected(served: ServedExchange) -> AsyncGenerator[tuple[App, Client]]:
    settings = read_settings({"MCP_BINANCE_ORDERBOOK_ANALYTICS": "off"})
    network = network_at("mainnet", served.rest_url)
    async with running_app(settings, network=network) as app, Client(app.server, cache=None) as client:
        await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
        yield app, client


@pytest.mark.night
async def test_an_outage_is_met_with_one_try_a_second_and_its_end_with_no_herd(
    exchange_socket: ServedExchange, scale: int
) -> None:
    exchange, answers = exchange_socket.exchange, list[CallToolResult]()
    tries, lasted_ms = 0, 0.0
    async with connected(exchange_socket) as (app, client):
        attempts = app.context.live.client.caller.attempts

        async def ask(number: int) -> CallToolResult:
            arguments = {"symbol": "BTCUSDT", "interval": "1m", "limit": number + 1}
            return await client.call_tool("get_klines", arguments)

        async def ask_until_answered(number: int) -> None:
            while not answers or answers[-1].is_error or CLOCK.monotonic_ms() < began_ms + OUTAGE_SECS * scale * 1000:
                answers.append(await ask(number))
                await CLOCK.sleep_ms(200)

        exchange.faults.add(Fault(kind="cut_before", times=None))
        await ask(0)
        assert attempts.hosts_down == 1
        exchange.requests.clear()
        began_ms = CLOCK.monotonic_ms()
        async with anyio.create_task_group() as group:
            for number in range(CALLERS):
                group.start_soon(ask_until_answered, number)
            await CLOCK.sleep_ms(OUTAGE_SECS * scale * 1000)
            tries, lasted_ms = len(exchange.requests), CLOCK.monotonic_ms() - began_ms
            exchange.faults.clear()
        assert attempts.hosts_down == 0

    assert 1 <= tries <= lasted_ms / 1000 + 1
    arrived = [request.at_ms for request in exchange.requests[tries:]]
    assert sum(moment < arrived[0] + 1_000 for moment in arrived) <= MOST_CONNECTIONS
    told: list[dict[str, Any]] = [each.structured_content or {} for each in answers if each.is_error]
    assert {(each["error_type"], each["retryable"]) for each in told} == {("exchange_unavailable", True)}
    assert sum(each.get("retry_after_secs") == 1 for each in told) >= len(told) - tries
    assert any("retried once a second" in text_of(each) for each in answers[:CALLERS])
