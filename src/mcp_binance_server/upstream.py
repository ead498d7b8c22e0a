"""The way to the exchange that all parts share; it can be open before the rest of the server is even loaded."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import httpx2

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.clock import Clock, SystemClock, processor_ms
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, NETWORKS, TIME, Network
from mcp_binance_server.exchange.key_probe import OtherNetworks
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient, warn_of_rights
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import engine_of, network_of, principal_of
from mcp_binance_server.state.engine import Reserves, StateEngine
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.pace import LoopPace

# A read answers a person who waits: three seconds an attempt, ten in all.
ATTEMPT_SECS = 3.0
# A first analysis with a key asks eight things at once; the symbol list has left one connection open.
MORE_CONNECTIONS = 7


@dataclass(frozen=True, slots=True)
class Upstream:
    """Who asks the exchange, by which clock, within which budget, and the list of its symbols."""

    principal: Principal | None
    clock: Clock
    engine: StateEngine
    client: SpotClient
    directory: Directory
    errands: Flights[None]
    """What is asked by itself, and nobody waits for."""

    @property
    def caller(self) -> ExchangeCaller:
        return self.client.caller

    async def prepare(self) -> None:
        """Ask for the symbol list, and open connections beside it: with TLS a handshake takes three round trips."""
        self.directory.begin()
        self.examine_key()
        async with anyio.create_task_group() as tasks:
            for _ in range(MORE_CONNECTIONS):
                tasks.start_soon(self._connect)

    def examine_key(self) -> None:
        """Find out in the background whether the key of this process may do what no key should, and log it."""
        own = AccountClient(self.caller, self.principal)

        async def examine() -> None:
            with suppress(AppError):
                await self.directory.table()  # the first question needs it, and comes first
            await warn_of_rights(own)

        if self.principal is not None:
            self.errands.begin("key", examine, lock_ms=self.caller.longest_ms(EXCHANGE_INFO))

    async def _connect(self) -> None:
        with suppress(AppError, NoAnswer, ExchangeRefused):  # the first question meets the same, and says so
            await self.caller.attempts.send(TIME, {})


@asynccontextmanager
async def opened_upstream(
    settings: Settings,
    *,
    clock: Clock | None = None,
    network: Network | None = None,
    networks: Mapping[str, Network] = NETWORKS,
    transport: httpx2.AsyncBaseTransport | None = None,
    attempt_secs: float = ATTEMPT_SECS,
    callers_bring_keys: bool = False,
) -> AsyncGenerator[Upstream]:
    """Open the way to the exchange and close it again; nothing is sent by itself.

    Where callers bring keys of their own, weight is kept back for private reads though the process has no key.

    Raises:
        SettingsError: the private key or the address of the state cannot be used.
    """
    clock = clock or SystemClock()
    principal = principal_of(settings)
    async with AsyncExitStack() as stack:
        # Nothing here places orders, so nothing is kept back for them.
        has_keys = principal is not None or callers_bring_keys
        engine = engine_of(settings, clock, Reserves(order_percent=0) if has_keys else Reserves.none())
        await engine.start()
        stack.push_async_callback(engine.close)
        channel = Channel(deadline_secs=attempt_secs, transport=transport)
        stack.push_async_callback(channel.close)
        time = ServerTime(clock)
        budget = Budget(engine, time, clock, settings.egress_id)
        attempts = Attempts(network or network_of(settings), channel, budget, time)
        caller = ExchangeCaller(attempts, clock, OtherNetworks.beside(attempts, networks, clock))
        directory = Directory(caller, engine, clock)
        budget.find_limit = directory.table
        stack.push_async_callback(directory.flights.close)
        errands: Flights[None] = Flights(clock)
        stack.push_async_callback(errands.close)
        yield Upstream(principal, clock, engine, SpotClient(caller, engine, LoopPace(processor_ms)), directory, errands)
