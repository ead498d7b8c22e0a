"""Clients below the surface, on the simulated exchange."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.upstream import FuturesSide, futures_side
from support.clock import FakeClock
from support.desk import FUTURES, NETWORK, Desk, Loop, OpenDesk, OpenFutures


@pytest.fixture
def open_desk(clock: FakeClock, exchange: SimulatedExchange) -> OpenDesk:
    @asynccontextmanager
    async def opened(
        network: Network = NETWORK, transport: httpx2.AsyncBaseTransport | None = None, deadline_secs: float = 3
    ) -> AsyncGenerator[Desk]:
        engine = MemoryEngine(clock, reserves=Reserves.none())
        await engine.start()
        channel = Channel(deadline_secs=deadline_secs, transport=transport or Loop(exchange))
        try:
            yield Desk(engine, channel, clock, network)
        finally:
            await channel.close()
            await engine.close()

    return opened


@pytest.fixture
def open_futures(clock: FakeClock, exchange: SimulatedExchange) -> OpenFutures:
    @asynccontextmanager
    async def opened(
        transport: httpx2.AsyncBaseTransport | None = None, reserves: Reserves | None = None
    ) -> AsyncGenerator[FuturesSide]:
        engine = MemoryEngine(clock, reserves=reserves or Reserves.none())
        await engine.start()
        channel = Channel(deadline_secs=3, transport=transport or Loop(exchange))
        pace = LoopPace(clock.monotonic_ms)
        side = futures_side(FUTURES, channel, engine, clock, pace, egress_id="test")
        try:
            yield side
        finally:
            await side.contracts.close()
            await channel.close()
            await engine.close()

    return opened


@pytest.fixture
async def futures(open_futures: OpenFutures) -> AsyncIterator[FuturesSide]:
    async with open_futures() as opened:
        yield opened


@pytest.fixture
async def desk(open_desk: OpenDesk) -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        yield opened
