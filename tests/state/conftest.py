"""The engines under contract, on a clock that stands still."""

from collections.abc import AsyncIterator

import pytest

from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory"])
async def engine(request: pytest.FixtureRequest, clock: FakeClock) -> AsyncIterator[StateEngine]:
    engines = {"memory": MemoryEngine}
    engine: StateEngine = engines[request.param](clock)
    await engine.start()
    yield engine
    await engine.close()
