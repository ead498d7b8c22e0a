"""A hub on the simulated exchange, in this process and on a clock that a test lets run."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.channel import Channel
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.pace import LoopPace
from support.desk import NETWORK, Loop
from support.stepped import SteppedClock


@dataclass
class Floor:
    """The exchange, the hub on it, and the way to let time pass on both."""

    clock: SteppedClock
    exchange: SimulatedExchange
    hub: Hub
    time: ServerTime

    async def run(self, duration_ms: float, step_ms: float = 100) -> None:
        await self.clock.run(duration_ms, self.exchange.hub.wake, step_ms=step_ms)

    def snapshots(self) -> int:
        return sum(request.path.endswith("/depth") for request in self.exchange.requests)


OpenFloor = Callable[..., AbstractAsyncContextManager[Floor]]


@pytest.fixture
def open_floor() -> OpenFloor:
    @asynccontextmanager
    async def opened(*, most: int = 20, linger_ms: int = 60_000) -> AsyncGenerator[Floor]:
        clock = SteppedClock()
        exchange = SimulatedExchange(clock)
        exchange.hub.by_hand = True
        engine = MemoryEngine(clock)
        channel = Channel(deadline_secs=30, transport=Loop(exchange))
        time = ServerTime(clock)
        caller = ExchangeCaller(Attempts(NETWORK, channel, Budget(engine, time, clock, "test"), time), clock)
        client = SpotClient(caller, engine, LoopPace(clock.monotonic_ms))
        await Directory(caller, engine, clock).table()
        hub = Hub(
            url="ws://exchange.test/stream",
            dialer=Loopback(exchange),
            fetch=lambda symbol: client.snapshot(symbol, SNAPSHOT_LEVELS),
            time=time,
            clock=clock,
            most=most,
            linger_ms=linger_ms,
        )
        async with hub.running():
            yield Floor(clock, exchange, hub, time)
        await channel.close()
        await engine.close()

    return opened
