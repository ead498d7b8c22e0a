"""A fleet in one process whose time, the state server's too, only a test moves: a busy machine changes nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from binance_simulator.exchange import SimulatedExchange
from support.state_server import StateServer, show_time
from support.stepped import BUCKET_MS, SteppedClock, settled

STEP_MS = BUCKET_MS // 2
# Only a defect keeps a call of the engine waiting for so long.
PATIENCE_SECS = 60.0


class HeldClock(SteppedClock):
    """A clock that is also that of a state server."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        show_time(file, self.now_ms())

    def advance(self, duration_ms: float) -> None:
        super().advance(duration_ms)
        show_time(self._file, self.now_ms())


@dataclass(frozen=True, slots=True)
class HeldFleet:
    """The clock of all, the exchange they hear, and the one way to let time pass for both."""

    clock: HeldClock
    exchange: SimulatedExchange
    server: StateServer

    async def run(self, duration_ms: float) -> None:
        """Let time pass; after each step everybody, the server included, has done what was to be done."""
        for _ in range(round(duration_ms / STEP_MS)):
            await self._step()

    async def until(self, holds: Callable[[], bool], within_ms: float = 30_000) -> float:
        """Let time pass until something holds; return how many milliseconds that took."""
        began_ms = self.clock.monotonic_ms()
        await self._drain()
        while not holds():
            assert self.clock.monotonic_ms() - began_ms < within_ms, "what was waited for never came"
            await self._step()
        return self.clock.monotonic_ms() - began_ms

    async def _step(self) -> None:
        self.clock.advance(STEP_MS)
        self.exchange.hub.wake()
        await self._drain()

    async def _drain(self) -> None:
        """Wait until the tasks wait for time only: between two looks the server was asked nothing but how it is."""
        await settled()
        if self.server.process.poll() is not None:
            return
        async with _operator(self.server) as commands:
            still, before = 0, await commands()
            while still < 2:
                await settled()
                now = await commands()
                still, before = (still + 1 if now == before + 1 else 0), now
            await settled()


@asynccontextmanager
async def _operator(server: StateServer) -> AsyncGenerator[Callable[[], "asyncio.Future[int]"]]:
    reader, writer = await asyncio.open_unix_connection(str(server.socket))

    async def commands() -> int:
        writer.write(b"INFO stats\r\n")
        told = (await reader.readexactly(int((await reader.readline())[1:]) + 2)).decode()
        return int(told.partition("total_commands_processed:")[2].partition("\r")[0])

    try:
        yield lambda: asyncio.ensure_future(commands())
    finally:
        writer.close()
        await writer.wait_closed()
