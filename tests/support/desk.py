"""The parts of a client on the simulated exchange, built by hand so that a test can look inside."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Any

import httpx2

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.upstream import FuturesSide

NETWORK = Network("testnet", "http://exchange.test", "https://testnet.binance.vision/")

# The simulated futures are told apart by the name of their host.
FUTURES = Network("testnet", "http://futures.simulator.invalid", "https://testnet.binance.vision/")


# Its transport imports this at every request, and where it is not installed looks for it everywhere each time.
if "sniffio" not in sys.modules and find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # pyright: ignore[reportArgumentType] - how Python remembers that there is none


class Loop(httpx2.ASGITransport):
    """The exchange in this process; a connection that it cuts looks to the client as one cut on a network."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(build_app(exchange))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except ConnectionResetError as cut:
            raise httpx2.ReadError(str(cut)) from cut


async def raw(exchange: SimulatedExchange, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the exchange answers to a plain GET, past everything that is under test."""
    async with httpx2.AsyncClient(transport=Loop(exchange), base_url=NETWORK.rest_url) as http:
        return (await http.get(f"/api/v3/{path}")).json()


class Desk:
    """One client, taken apart."""

    def __init__(self, engine: MemoryEngine, channel: Channel, clock: Clock, network: Network) -> None:
        self.engine, self.channel = engine, channel
        self.time = ServerTime(clock)
        self.budget = Budget(engine, self.time, clock, "test")
        self.caller = ExchangeCaller(Attempts(network, channel, self.budget, self.time), clock)
        self.spot = SpotClient(self.caller, engine, LoopPace(clock.monotonic_ms))
        self.directory = Directory(self.caller, engine, clock)
        self.budget.find_limit = self.directory.table

    def account(self, api_key: str, secret: str) -> AccountClient:
        return AccountClient(self.caller, Principal.of(Credentials(api_key, secret)))


OpenDesk = Callable[..., AbstractAsyncContextManager[Desk]]
OpenFutures = Callable[..., AbstractAsyncContextManager[FuturesSide]]
