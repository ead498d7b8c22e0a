"""Two whole servers on one state: what one has asked the other knows, what one was told the other obeys."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import anyio
import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.settings import read_settings
from support.desk import NETWORK, Loop
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

PAGE = "binance://market/btcusdt"


@pytest.fixture
def exchange() -> SimulatedExchange:
    return SimulatedExchange(SystemClock())


@pytest.fixture
async def apps(server: StateServer, exchange: SimulatedExchange) -> AsyncIterator[list[App]]:
    settings = read_settings(
        {
            "MCP_BINANCE_STATE_URL": server.url,
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
        }
    )
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(running_app(settings, network=NETWORK, transport=Loop(exchange)))
            for _ in range(2)
        ]


async def read(app: App, uri: str = PAGE) -> str:
    async with Client(app.server, mode="legacy", cache=None) as client:
        return str(await client.read_resource(uri))


async def refusal(app: App, uri: str) -> MCPError:
    async with Client(app.server, mode="legacy", cache=None) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    return caught.value


async def test_the_symbol_table_is_fetched_once_for_both(apps: list[App], exchange: SimulatedExchange) -> None:
    for app in apps:
        assert "BTCUSDT" in await read(app)

    assert sum("exchangeInfo" in request.path for request in exchange.requests) == 1


async def test_weight_spent_by_one_counts_for_the_other(apps: list[App]) -> None:
    first, second = (app.market.directory.caller.budget for app in apps)

    await read(apps[0])

    assert await second.used() == await first.used() > 0


async def test_a_stop_told_to_one_holds_the_other_back(apps: list[App], exchange: SimulatedExchange) -> None:
    await read(apps[1])
    await apps[0].engine.stop_weight("local", ms=60_000, reason="HTTP 429")
    before = len(exchange.requests)

    refused = await refusal(apps[1], "binance://market/ethusdt")

    assert refused.code == -32001
    assert len(exchange.requests) == before


@pytest.mark.night
async def test_after_an_emptied_state_reads_go_on_within_the_limit(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    for app in apps:
        await read(app)
    await away_from_the_edge(exchange)
    # Weight that only the exchange still knows of when the state is lost: all but 40 of what public reads may use.
    exchange.meter.charge(2_660 - exchange.meter.used(exchange.now_ms()), exchange.now_ms())
    before = len(exchange.requests)

    server.command("FLUSHALL")
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(candles, apps[number % 2], number + 1)

    sent = [request.path.rpartition("/")[2] for request in exchange.requests[before:]]
    assert sent[0] == "time"
    assert 10 <= sent.count("klines") <= 20
    assert {request.status for request in exchange.requests} == {200}


async def away_from_the_edge(exchange: SimulatedExchange) -> None:
    """Wait for a moment after which a minute still has a while to go."""
    left_ms = 60_000 - exchange.now_ms() % 60_000
    if left_ms < 15_000:
        await SystemClock().sleep_ms(left_ms + 1_100)


async def candles(app: App, limit: int) -> None:
    with suppress(RateLimited):
        await app.context.live.client.candles(Symbol("BTCUSDT"), "1m", limit)


async def test_without_its_state_a_server_sends_nothing_and_says_why(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    await read(apps[0])
    server.kill()
    before = len(exchange.requests)

    refused = await refusal(apps[0], "binance://account/balances")

    assert refused.data["error_type"] == "engine_unavailable"
    assert refused.data["retryable"] is True
    assert len(exchange.requests) == before


async def test_nothing_of_a_key_is_ever_in_the_state(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    for uri in (PAGE, "binance://account/balances", "binance://orders/open"):
        await read(apps[0], uri)

    dump = server.dump()
    secrets = (exchange.account.api_key, exchange.account.secret_key)
    assert b"BTCUSDT" in dump
    assert not any(secret[start : start + 9].encode() in dump for secret in secrets for start in range(len(secret) - 8))
