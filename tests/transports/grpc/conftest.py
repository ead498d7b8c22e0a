"""A provider.v1 service on the simulated exchange, reached over a real socket."""

from collections.abc import AsyncIterator

import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import Settings, read_settings
from support.charts import ENVIRONMENT
from support.clock import FakeClock
from support.desk import Loop
from support.futures import FUTURES
from support.provider import Provider, provided

SAID_MS = 20


@pytest.fixture
def settings(exchange: SimulatedExchange) -> Settings:
    account = exchange.account
    keys = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}
    return read_settings({**keys, **ENVIRONMENT})


@pytest.fixture
async def app(settings: Settings, clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[App]:
    async with running_app(settings, clock=clock, network=FUTURES, transport=Loop(exchange)) as running:
        yield running
    # What the library still has to say is for this loop; said when that is closed, it ends whichever test is next.
    await SystemClock().sleep_ms(SAID_MS)


@pytest.fixture
async def provider(app: App) -> AsyncIterator[Provider]:
    async with provided(app.dispatcher) as served:
        yield served
