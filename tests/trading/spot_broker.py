"""The broker of an account at the simulated exchange, with nothing above it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.spot import SpotBroker, horizon_of
from support.clock import FakeClock
from support.desk import NETWORK, Desk, Loop

RECV_WINDOW_MS = 2_000


@asynccontextmanager
async def spot_broker(
    exchange: SimulatedExchange, clock: FakeClock, way: Loop | None = None
) -> AsyncGenerator[SpotBroker]:
    """Open a broker for the first account, whose key may trade."""
    exchange.rights = KeyRights(trading=True)
    channel = Channel(deadline_secs=3, transport=way or Loop(exchange))
    parts = Desk(MemoryEngine(clock), channel, clock, NETWORK)
    keys = exchange.account.api_key, exchange.account.secret_key
    counts = OrderCounts(parts.time, lambda: parts.directory.order_limits)
    client = OrderClient(parts.caller, Principal.of(Credentials(*keys)), counts, RECV_WINDOW_MS)
    venue = Venue(NETWORK.name, "exchange.test", simulated=True)
    try:
        yield SpotBroker(client, parts.account(*keys), parts.directory, venue, horizon_of(RECV_WINDOW_MS))
    finally:
        await channel.close()
