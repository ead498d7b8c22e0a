"""The clock. No other module reads the time."""

import time
from math import inf
from typing import Protocol

import anyio


class Clock(Protocol):
    """Wall time, monotonic time for deadlines, and waiting."""

    def now_ms(self) -> int:
        """Return the UTC time in ms since the epoch. It can jump when the system clock is set."""
        ...

    def monotonic_ms(self) -> float:
        """Return monotonic time in ms. Only differences have a meaning."""
        ...

    async def sleep_ms(self, duration_ms: float) -> None:
        """Wait for a duration in ms. Zero still yields to other tasks."""
        ...

    async def sleep_until_ms(self, monotonic_ms: float) -> None:
        """Wait until a monotonic time, which can be infinity.

        A test clock does not advance for this wait.
        """
        ...


class SystemClock:
    """The system clocks."""

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
    """Return the CPU time of this thread in ms."""
    return time.thread_time_ns() / 1_000_000
