"""One process of a fleet as far as the live market goes: in a test's own process, or as a process of its own.

What `LEADS` starts with STATE_URL REST_URL STREAM_URL SYMBOL reads a symbol until it is ended; it prints `follows`, and
its lease as JSON when it leads. What `READS` starts with STATE_URL REST_URL STREAM_URL NEED COUNT reads so many members
of the crowd; it prints `live`, and for each line it is sent the CPU it has used.
"""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from time import process_time
from typing import get_args
from uuid import uuid4

import anyio
import httpx2
from anyio import to_thread

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
from mcp_binance_server.feeds.readers import Need
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.pace import LoopPace

PLENTY = 10_000_000
LEADS = """
import sys
import anyio
from support.fleet_member import main
anyio.run(main, *sys.argv[1:])
"""

READS = """
import sys
import anyio
from support.fleet_member import read
anyio.run(read, *sys.argv[1:])
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
    most: int = 20,
    weight_limit: int | None = None,
) -> AsyncGenerator[Member]:
    """Run a member on an exchange."""
    channel, time = Channel(deadline_secs=30, transport=transport), ServerTime(clock)
    # A budget of its own: twenty takeovers in a minute are more than one outgoing IP may spend on snapshots.
    budget = Budget(engine, time, clock, uuid4().hex)
    caller = ExchangeCaller(Attempts(network, channel, budget, time), clock)
    client = SpotClient(caller, engine, LoopPace(clock.monotonic_ms))
    await Directory(caller, engine, clock).table()
    budget.limit = weight_limit or budget.limit
    alone = Hub(
        url=f"{network.stream_url}/stream",
        dialer=dialer,
        fetch=lambda symbol: client.snapshot(symbol, SNAPSHOT_LEVELS),
        time=time,
        clock=clock,
        most=most,
        linger_ms=linger_ms,
    )
    fleet = Fleet(engine, clock, time, uuid4().hex)
    async with fleet.joined_by(alone).running() as hub:
        yield Member(fleet, hub, engine)
    await channel.close()


async def read(state_url: str, rest_url: str, stream_url: str, need: str, count: str) -> None:
    from mcp_binance_server.loading import tune_gc
    from mcp_binance_server.state.redis import RedisEngine

    needs: Need = next(each for each in get_args(Need) if each == need)
    symbols = [Symbol(f"CROWD{number:03}USDT") for number in range(int(count))]
    clock, engine = SystemClock(), RedisEngine.from_url(state_url)
    await engine.start()
    network = Network("load", rest_url, "", stream_url=stream_url)
    tune_gc()
    dialer = NetworkDialer()
    async with member(engine, network, dialer=dialer, clock=clock, most=len(symbols), weight_limit=PLENTY) as one:
        with ExitStack() as readers:
            feeds = [readers.enter_context(one.hub.reading(symbol, needs=needs)) for symbol in symbols]
            with anyio.fail_after(120):
                while not all(feed is not None and feed.is_live for feed in feeds):
                    await clock.sleep_ms(100)
            print("live", flush=True)  # noqa: T201 - the parent reads it
            while await to_thread.run_sync(sys.stdin.readline):
                print(process_time(), flush=True)  # noqa: T201 - the parent reads it
        await engine.close()


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
