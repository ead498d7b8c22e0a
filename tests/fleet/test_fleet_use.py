"""Two servers on one state know of each other who uses them, and go on alone when the state is away."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.fair_turns import FairTurns
from support.desk import NETWORK, Loop
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

HOG, ANN = "hog", "ann"


@pytest.fixture
async def apps(server: StateServer) -> AsyncIterator[list[App]]:
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    async with AsyncExitStack() as stack:
        transport = Loop(SimulatedExchange(SystemClock()))
        yield [
            await stack.enter_async_context(running_app(settings, network=NETWORK, transport=transport))
            for _ in range(2)
        ]


def turns_of(app: App) -> FairTurns:
    return app.context.charting.local.turns


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not holds():
            await SystemClock().sleep_ms(10)


@pytest.mark.night
async def test_a_party_that_has_charts_drawn_in_two_servers_rests_in_each(apps: list[App]) -> None:
    here, there = (turns_of(app) for app in apps)
    with acting_for(ANN):
        there.end(there.ask("hers"))
    await until(lambda: here.elsewhere.has_others(HOG))
    with acting_for(HOG):
        first, second = here.ask("0"), here.ask("1")
        elsewhere = there.ask("2")
    await until(lambda: here.elsewhere.processes(HOG) == there.elsewhere.processes(HOG) == 1)

    here.end(first)
    rested = not second.begun.is_set()
    await until(second.begun.is_set)

    assert first.begun.is_set()
    assert elsewhere.begun.is_set()
    assert rested


@pytest.mark.night
async def test_while_the_state_is_away_each_server_is_fair_for_itself(apps: list[App], server: StateServer) -> None:
    here, there = (turns_of(app) for app in apps)
    with acting_for(HOG):
        asked = [here.ask("0"), here.ask("1"), here.ask("2"), there.ask("3")]
    await until(lambda: here.elsewhere.processes(HOG) == 1)

    server.kill()
    await until(lambda: not here.elsewhere.told)
    here.end(asked[0])
    alone = asked[2].begun.is_set()
    server.start_empty()
    await until(lambda: here.elsewhere.processes(HOG) == 1)

    assert alone


async def test_a_server_without_a_shared_state_tells_nobody(app: App) -> None:
    assert app.context.fleet_use is None
