"""Time that the machine took from this process: what a bound on real time must leave out to mean anything."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import process_time

import anyio

from mcp_binance_server.clock import SystemClock

CLOCK = SystemClock()
TICK_MS = 10


@dataclass
class Stolen:
    """Milliseconds by which the loop woke too late without this process having worked in them."""

    ms: float = 0.0

    async def watch(self) -> None:
        while True:
            began_ms, began_cpu = CLOCK.monotonic_ms(), process_time()
            await CLOCK.sleep_ms(TICK_MS)
            late_ms = CLOCK.monotonic_ms() - began_ms - TICK_MS
            self.ms += max(0.0, late_ms - 1000 * (process_time() - began_cpu))


@asynccontextmanager
async def stolen() -> AsyncGenerator[Stolen]:
    """Watch how much time others take for as long as the block lasts."""
    watched = Stolen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch)
        yield watched
        tasks.cancel_scope.cancel()
