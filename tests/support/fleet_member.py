"""One process of a fleet as far as the live market goes: in a test's own process, or as a process of its own.

What `LEADS` starts with STATE_URL REST_URL STREAM_URL SYMBOL reads a symbol until it is ended; it prints `follows`, and
its lease as JSON when it leads.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from uuid import uuid4

import httpx2

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.dialing import Dialer, NetworkDialer
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.fleet.leader import Leader
from mcp_binance_server.feeds.fleet.source import Fleet
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.pace import LoopPace

LEADS = """
import sys
import anyio
from support.fleet_member import main
anyio.run(main, *sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Member:
    """A hub that is one of a fleet, and the engine it shares."""

    fleet: Fleet
    hub: Hub
    engine: StateEngine

    def leader(self, symbol: Symbol) -> Leader | None:
        """Return who leads a symbol, if that is this member."""
        share = self.fleet.shares.get(symbol)
        return share.leader if share else None


@asynccontextmanager
async def member(
    engine: StateEngine,
    network: Network,
    *,
    dialer: Dialer,
    clock: Clock,
    transport: httpx2.AsyncBaseTransport | None = None,
    linger_ms: int = 60_000,
) -> AsyncGenerator[Member]:
    """Run a member on an exchange."""
    channel, time = Channel(deadline_secs=30, transport=transport), ServerTime(clock)
    # A budget of its own: twenty takeovers in a minute are more than one outgoing IP may spend on snapshots.
    budget = Budget(engine, time, clock, uuid4().hex)
    caller = ExchangeCaller(Attempts(network, channel, budget, time), clock)
    client = SpotClient(caller, engine, LoopPace(clock.monotonic_ms))
    await Directory(caller, engine, clock).table()
    alone = Hub(
        url=f"{network.stream_url}/stream",
        dialer=dialer,
        fetch=lambda symbol: client.snapshot(symbol, SNAPSHOT_LEVELS),
        time=time,
        clock=clock,
        most=20,
        linger_ms=linger_ms,
    )
    fleet = Fleet(engine, clock, time, uuid4().hex)
    async with fleet.joined_by(alone).running() as hub:
        yield Member(fleet, hub, engine)
    await channel.close()


async def main(state_url: str, rest_url: str, stream_url: str, symbol: str) -> None:
    from mcp_binance_server.state.redis import RedisEngine

    clock, engine = SystemClock(), RedisEngine.from_url(state_url)
    await engine.start()
    network = Network("load", rest_url, "", stream_url=stream_url)
    async with member(engine, network, dialer=NetworkDialer(), clock=clock) as one:
        with one.hub.reading(Symbol(symbol)):
            print("follows", flush=True)  # noqa: T201 - the parent reads it
            while (leader := one.leader(Symbol(symbol))) is None:
                await clock.sleep_ms(20)
            print(json.dumps(asdict(leader.lease)), flush=True)  # noqa: T201 - the parent reads it
            await clock.sleep_ms(600_000)
