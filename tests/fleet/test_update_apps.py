"""Subscribers of two whole servers on one market: what one process hears is told by both."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.state_server import StateServer
from support.stepped import STREAMED
from support.updates import BTC, hearing

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.flood]

CLOCK = SystemClock()
# Seconds are promised; should another process lead in the end, its first book may have to wait for the next minute.
PATIENCE_SECS = 75


@pytest.fixture
def exchange() -> SimulatedExchange:
    return SimulatedExchange(CLOCK, scenario="busy")


@pytest.fixture
async def apps(server: StateServer, exchange: SimulatedExchange) -> AsyncIterator[list[App]]:
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                running_app(settings, network=STREAMED, transport=Loop(exchange), dialer=Loopback(exchange))
            )
            for _ in range(2)
        ]


def readers(app: App) -> list[int]:
    assert app.context.live.hub is not None
    return [each.readers for each in app.context.live.hub.watched()]


def lost(app: App) -> int:
    assert app.context.live.hub is not None
    return sum(each.feed.counts.lost for each in app.context.live.hub.watched())


async def more(heard: list[str], count: int) -> None:
    heard.clear()
    with anyio.fail_after(PATIENCE_SECS):
        while len(heard) < count:
            await CLOCK.sleep_ms(20)


@pytest.mark.night
async def test_a_subscriber_hears_what_another_process_streams_and_still_after_the_state_was_away(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    leads, follows = apps
    async with hearing(leads.server, "auto", BTC) as told:
        await more(told, 1)
        async with hearing(follows.server, "legacy", BTC) as heard:
            await more(heard, 2)
            assert set(exchange.hub.streams().values()) == {1}
            assert [readers(app) for app in apps] == [[1], [1]]

            server.freeze()
            with anyio.fail_after(PATIENCE_SECS):
                while not lost(follows):
                    await CLOCK.sleep_ms(50)
            server.thaw()
            await more(heard, 2)
            await more(told, 2)
            assert set(heard) == {BTC}

    assert [readers(app) for app in apps] == [[0], [0]]
