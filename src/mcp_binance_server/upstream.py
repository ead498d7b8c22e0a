"""Access to the exchange. It can be opened before the other modules of the server are imported."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import httpx2

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.clock import Clock, SystemClock, processor_ms
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, NETWORKS, TIME, Network
from mcp_binance_server.exchange.futures.contracts import ContractList
from mcp_binance_server.exchange.futures.endpoints import FUTURES_TIME, REQUESTS_PER_MINUTE, USUAL_LIMIT
from mcp_binance_server.exchange.futures.rest import FuturesClient
from mcp_binance_server.exchange.futures.side import FuturesSide
from mcp_binance_server.exchange.key_probe import OtherNetworks
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import TELLS_RIGHTS, AccountClient, warn_of_rights
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import engine_of, missing_for_futures, network_of, principal_of
from mcp_binance_server.state.engine import Reserves, StateEngine
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.pace import LoopPace

# Timeout of one attempt of a read, in seconds. All attempts together take at most 10 s, because a person is waiting.
ATTEMPT_SECS = 3.0
# A first analysis with a key sends eight requests at once. One connection is open already, from loading the symbol
# list.
MORE_CONNECTIONS = 7
# Pause after a refusal because of the server's location (HTTP 451), which rarely changes.
SILENCE_MS = 600_000


@dataclass(frozen=True, slots=True)
class Upstream:
    """Access to the exchange: client, key, clock, weight budget and symbol list."""

    principal: Principal | None
    clock: Clock
    engine: StateEngine
    client: SpotClient
    directory: Directory
    background_tasks: Flights[None]
    """Requests in the background, for which no caller waits."""
    scans: Mapping[BoardMarket, Allowance]
    """Weight per minute that market scans can use. It is checked before the host's own budget."""
    futures: FuturesSide | None = None
    """Client of the futures host; None if futures are off or have no address."""
    key_is_judged: bool = False
    """Whether trading checks and logs the key's permissions before the first order."""
    serves_callers: bool = False
    """Whether callers come over HTTP or gRPC. If not, the process has one local client."""

    @property
    def caller(self) -> ExchangeCaller:
        return self.client.caller

    async def prepare(self) -> None:
        """Load the symbol list.

        Open more connections at the same time, because a TLS handshake takes three round trips.
        """
        self.directory.begin()
        self.examine_key()
        async with anyio.create_task_group() as tasks:
            for _ in range(MORE_CONNECTIONS):
                tasks.start_soon(self._connect)

    def examine_key(self) -> None:
        """Check this process's key in the background and log dangerous permissions."""
        own = AccountClient(self.caller, self.principal)

        async def examine() -> None:
            with suppress(AppError):
                await self.directory.table()  # load this first, because the first question needs the symbol list
            await warn_of_rights(own)

        if self.principal is not None and not self.key_is_judged:
            self.background_tasks.begin("key", examine, lock_ms=self.caller.longest_ms(EXCHANGE_INFO))

    async def _connect(self) -> None:
        # The first question will fail in the same way and report the error.
        with suppress(AppError, NoAnswer, ExchangeRefused):
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
    """Open the access to the exchange, and close it on exit. Opening sends no request.

    Weight is reserved for private reads if the process has a key or callers bring their own. Weight is also reserved
    for orders if the trading mode is practice or live.

    Raises:
        SettingsError: the private key or the address of the state cannot be used.
    """
    clock = clock or SystemClock()
    principal = principal_of(settings)
    async with AsyncExitStack() as stack:
        has_keys = principal is not None or callers_bring_keys
        engine = engine_of(settings, clock, _reserves(settings) if has_keys else Reserves.none())
        await engine.start()
        stack.push_async_callback(engine.close)
        channel = _opened_channel(stack, settings, attempt_secs, transport)
        time = ServerTime(clock)
        budget = Budget(engine, time, clock, settings.egress_id)
        attempts = Attempts(network or network_of(settings), channel, budget, time)
        others = OtherNetworks.beside(attempts, asked_about_keys(settings, networks), clock)
        caller = ExchangeCaller(attempts, clock, others)
        directory = Directory(caller, engine, clock)
        budget.find_limit = directory.table
        stack.push_async_callback(directory.flights.close)
        background_tasks: Flights[None] = Flights(clock)
        stack.push_async_callback(background_tasks.close)
        pace = LoopPace(processor_ms)
        scans: dict[BoardMarket, Allowance] = {"spot": _scans(budget, settings.scan_percent)}
        futures = None
        asked = caller.network.futures
        if asked is not None and missing_for_futures(settings, caller.network) is None:
            # Use a separate channel, so that futures requests without an answer do not block the connections of spot
            # reads.
            apart = _opened_channel(stack, settings, attempt_secs, transport)
            futures = futures_side(asked, apart, engine, clock, pace, egress_id=settings.egress_id)
            stack.push_async_callback(futures.contracts.close)
            scans["perpetual"] = _scans(futures.client.caller.budget, settings.scan_percent)
        client = SpotClient(caller, engine, pace)
        is_judged = settings.trading == "live"
        yield Upstream(
            principal, clock, engine, client, directory, background_tasks, scans, futures, is_judged, callers_bring_keys
        )


def futures_side(
    network: Network, channel: Channel, engine: StateEngine, clock: Clock, pace: LoopPace, *, egress_id: str
) -> FuturesSide:
    """Build the client of a futures host without sending a request."""
    time = ServerTime(clock)
    budget = Budget(
        engine,
        time,
        clock,
        f"{egress_id}:futures",
        least_limit=USUAL_LIMIT,
        usual_limit=USUAL_LIMIT,
        has_private_calls=False,
        counters={
            name: Allowance(engine, time, clock, f"{egress_id}:{name}", most)
            for name, most in REQUESTS_PER_MINUTE.items()
        },
    )
    attempts = Attempts(network, channel, budget, time, time_call=FUTURES_TIME, silence_ms=SILENCE_MS)
    caller = ExchangeCaller(attempts, clock, market="perpetual")
    client = FuturesClient(caller, engine, pace)
    contracts = ContractList(caller, engine, clock, client.reads)
    budget.find_limit = contracts.table
    return FuturesSide(client, contracts)


def _reserves(settings: Settings) -> Reserves:
    return Reserves() if settings.trading in ("practice", "live") else Reserves(order_percent=0)


def asked_about_keys(settings: Settings, networks: Mapping[str, Network]) -> Mapping[str, Network]:
    """Return the networks that may be queried about a refused key. In practice mode mainnet is never queried."""
    if settings.trading != "practice":
        return networks
    return {name: each for name, each in networks.items() if name != TELLS_RIGHTS}


def _opened_channel(
    stack: AsyncExitStack, settings: Settings, attempt_secs: float, transport: httpx2.AsyncBaseTransport | None
) -> Channel:
    channel = Channel(deadline_secs=attempt_secs, transport=transport, proxies=settings.proxies)
    stack.push_async_callback(channel.close)
    return channel


def _scans(host: Budget, percent: int) -> Allowance:
    """Return the weight per minute for market scans. It follows the host's real limit."""
    return Allowance(host.engine, host.time, host.clock, f"{host.egress_id}:scan", lambda: host.limit * percent // 100)
