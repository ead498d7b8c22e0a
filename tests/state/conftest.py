"""The engines under contract, on a clock that stands still."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.state_server import ServerClock, StateServer, held_server

# What is promised here is not how soon: a busy machine may stand still for a second.
PATIENCE_SECS = 60


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def held() -> Iterator[tuple[StateServer, Path]]:
    with held_server() as running:
        yield running


@pytest.fixture(params=["memory", "redis"])
def engine_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def clock(engine_kind: str, request: pytest.FixtureRequest) -> FakeClock:
    if engine_kind == "memory":
        return FakeClock()
    server, shown = request.getfixturevalue("held")
    server.command("FLUSHALL")
    return ServerClock(shown)


@pytest.fixture
async def engine(engine_kind: str, clock: FakeClock, request: pytest.FixtureRequest) -> AsyncIterator[StateEngine]:
    engine: StateEngine
    if engine_kind == "memory":
        engine = MemoryEngine(clock)
    else:
        from mcp_binance_server.state.redis import RedisEngine
        from mcp_binance_server.state.redis.link import StateAddress

        address = StateAddress.parse(request.getfixturevalue("held")[0].url)
        engine = RedisEngine(address, clock, call_secs=PATIENCE_SECS)
    await engine.start()
    yield engine
    await engine.close()
