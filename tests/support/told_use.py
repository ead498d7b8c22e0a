"""Processes of a fleet that tell each other what is used in them, all in a test's own, on a clock that it moves."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio.lowlevel

from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.shared_use import TELLS_MS, FleetUse
from mcp_binance_server.transports.http.server.loop_use import LoopUse
from support.clock import FakeClock

Sharing = LoopUse | FairTurns


class Told:
    """The clock of all of them; whatever is due is told and heard before time goes on."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    async def pass_ms(self, ms: float = TELLS_MS) -> None:
        self.clock.advance(ms)
        for _ in range(6):  # woken, told, heard
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def telling_each_other(clock: FakeClock, sharing: Sequence[Sharing]) -> AsyncGenerator[Told]:
    """Let each of these be the one of a process of its own."""
    engine = MemoryEngine(clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        for each in sharing:
            fleet_use = FleetUse(engine, clock)
            fleet_use.share("it", each.elsewhere, each.used_here)
            await stack.enter_async_context(fleet_use.running())
        told = Told(clock)
        await told.pass_ms(0)
        yield told
