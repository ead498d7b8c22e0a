"""One real server, several engines; without a server these tests say that they did not run."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from mcp_binance_server.clock import Clock, SystemClock
from support.state_server import BINARY, Connect, StateServer, state_server

PATIENCE_SECS = 60


@pytest.fixture
def server() -> Iterator[StateServer]:
    if BINARY is None:
        pytest.skip("the engine of a fleet is not tested here: no redis-server or valkey-server is installed")
    with state_server() as running:
        yield running


@pytest.fixture
def patient_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whole servers wait for their state as long as a busy machine stands still; how soon is not their tests'."""
    from mcp_binance_server.state.redis import RedisEngine

    usual = RedisEngine.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(RedisEngine.__init__, "__kwdefaults__", {**usual, "call_secs": PATIENCE_SECS})


@pytest.fixture
async def connect(server: StateServer) -> AsyncIterator[Connect]:
    """Return what starts an engine; afterwards nothing may have been left unheard in the event loop."""
    from mcp_binance_server.state.redis import RedisEngine
    from mcp_binance_server.state.redis.link import CALL_SECS, StateAddress

    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))
    async with AsyncExitStack() as stack:

        async def start(url: str = "", clock: Clock | None = None, call_secs: float = CALL_SECS) -> RedisEngine:
            engine = RedisEngine(StateAddress.parse(url or server.tcp_url), clock or SystemClock(), call_secs=call_secs)
            await engine.start()
            stack.push_async_callback(engine.close)
            return engine

        yield start
    gc.collect()
    await SystemClock().sleep_ms(0)
    assert complaints == []
