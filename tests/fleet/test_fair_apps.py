"""Four servers on one state: who spends on all of them leaves the others their shares on each."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import count, cycle

import pytest

from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.settings import read_settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from support.desk import NETWORK, Loop
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

# A small limit is soon spent: of nine tenths of it all is for public calls where there is no key.
LIMIT, PUBLIC = 600, 540


@pytest.fixture
async def apps(server: StateServer) -> AsyncIterator[tuple[list[App], SimulatedExchange]]:
    exchange = SimulatedExchange(SystemClock())
    exchange.weight_limit = LIMIT
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    async with AsyncExitStack() as stack:
        running = [
            await stack.enter_async_context(running_app(settings, network=NETWORK, transport=Loop(exchange)))
            for _ in range(4)
        ]
        for app in running:
            await app.market.directory.table()
        left_ms = 60_000 - exchange.now_ms() % 60_000
        if left_ms < 20_000:
            await SystemClock().sleep_ms(left_ms + 1_100)
        yield running, exchange


async def is_refused(app: App, party: str, limit: int) -> bool:
    """Ask one of the servers for a party, for something that nobody has asked for yet."""
    with acting_for(party):
        arguments = {"symbol": "BTCUSDT", "limit": limit}
        told = await app.dispatcher.call_tool(None, "get_recent_trades", arguments)
    return bool(told.is_error)


async def test_one_who_spends_on_every_server_leaves_the_others_something_on_each(
    apps: tuple[list[App], SimulatedExchange],
) -> None:
    servers, exchange = apps
    turns, limits = cycle(servers), count(1)
    while not await is_refused(next(turns), "mallory", next(limits)):
        pass

    elsewhere = [await is_refused(app, "mallory", next(limits)) for app in servers]
    bob = [await is_refused(app, "bob", next(limits)) for app in servers[:2]]

    minutes = Counter[int]()
    for request in exchange.requests:
        minutes[request.at_ms // 60_000] += request.weight
    assert elsewhere == [True] * 4
    assert bob == [False, False]
    assert PUBLIC * 0.8 < max(minutes.values()) <= PUBLIC
