"""The only place where time is read; everything else takes a Clock."""

import time
from math import inf
from typing import Protocol

import anyio


class Clock(Protocol):
    """Wall time for people and the exchange, monotonic time for deadlines, and the only way to wait."""

    def now_ms(self) -> int:
        """Return UTC as milliseconds since the epoch; it may jump when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> float:
        """Return monotonic time in milliseconds; only differences mean anything."""
        ...

    async def sleep_ms(self, duration_ms: float) -> None:
        """Wait for a duration in ms; zero still yields to other tasks."""
        ...

    async def sleep_until_ms(self, monotonic_ms: float) -> None:
        """Wait until a monotonic time, which can be infinity.

        For tasks that watch time; they do not advance a test clock.
        """
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / 1_000_000

    async def sleep_ms(self, duration_ms: float) -> None:
        await anyio.sleep(max(0.0, duration_ms) / 1000)  # noqa: TID251 - this is the one place

    async def sleep_until_ms(self, monotonic_ms: float) -> None:
        if monotonic_ms == inf:
            await anyio.sleep_forever()
        await self.sleep_ms(monotonic_ms - self.monotonic_ms())


def processor_ms() -> float:
    """Return the CPU time of this thread in ms, without the time of other processes."""
    return time.thread_time_ns() / 1_000_000
