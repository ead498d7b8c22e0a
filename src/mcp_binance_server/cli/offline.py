"""A server and a simulated exchange in one process, for `demo` and `ask --demo`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
from pydantic import SecretStr

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.settings import Settings
from mcp_binance_server.upstream import Upstream, opened_upstream

# Seed of the market of `demo`, unless another is named there.
DEMO_SEED = 7


@asynccontextmanager
async def offline_upstream(settings: Settings, *, seed: int) -> AsyncGenerator[Upstream]:
    """Open the simulated exchange in the same process, without a server."""
    transport = httpx2.ASGITransport(build_app(SimulatedExchange(SystemClock(), seed=seed)))
    async with opened_upstream(settings, network=OFFLINE, transport=transport) as upstream:
        yield upstream


@asynccontextmanager
async def offline_app(settings: Settings, *, seed: int) -> AsyncGenerator[App]:
    """Run the server on an exchange in the same process, without sockets.

    If trading is off, it reads the account of the simulated exchange.
    """
    clock = SystemClock()
    exchange = SimulatedExchange(clock, seed=seed)
    if settings.trading == "off":
        account = exchange.account
        keys = {"api_key": SecretStr(account.api_key), "secret_key": SecretStr(account.secret_key)}
        settings = settings.model_copy(update=keys)
    transport = httpx2.ASGITransport(build_app(exchange))
    dialer = Loopback(exchange)
    async with running_app(settings, clock=clock, network=OFFLINE, transport=transport, dialer=dialer) as app:
        yield app
