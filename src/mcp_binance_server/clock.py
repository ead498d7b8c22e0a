"""The only place where time is read; everything else takes a Clock."""

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """Wall time for people and the exchange, monotonic time for deadlines, and the one way to wait."""

    def now_ms(self) -> int:
        """Return UTC as milliseconds since the epoch; it may jump when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> float:
        """Return milliseconds that never run backwards; only differences mean anything."""
        ...

    async def sleep_ms(self, duration_ms: float) -> None:
        """Wait; zero still yields to other tasks."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / 1_000_000

    async def sleep_ms(self, duration_ms: float) -> None:
        await anyio.sleep(max(0.0, duration_ms) / 1000)  # noqa: TID251 - this is the one place
