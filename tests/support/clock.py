"""A clock that moves only when a test, or a sleeper, moves it."""

from heapq import heappop, heappush
from itertools import count

import anyio
import anyio.lowlevel


class FakeClock:
    """Time that stands still; sleeping advances it at once, so no test ever waits."""

    def __init__(self, now_ms: int = 1_784_592_123_456) -> None:
        self._now_ms = float(now_ms)
        self._monotonic_ms = 0.0
        self.slept_ms: list[float] = []
        self._watchers: list[tuple[float, int, anyio.Event]] = []
        self._order = count()

    def now_ms(self) -> int:
        return int(self._now_ms)

    def monotonic_ms(self) -> float:
        return self._monotonic_ms

    async def sleep_ms(self, duration_ms: float) -> None:
        self.slept_ms.append(duration_ms)
        self.advance(max(0.0, duration_ms))
        await anyio.lowlevel.checkpoint()

    async def sleep_until_ms(self, monotonic_ms: float) -> None:
        """Wait for others to move the clock: one who watches time does not take it."""
        if monotonic_ms <= self._monotonic_ms:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        heappush(self._watchers, (monotonic_ms, next(self._order), woken))
        await woken.wait()

    def advance(self, duration_ms: float) -> None:
        """Advance both clocks, and wake the tasks whose time has come."""
        self._now_ms += duration_ms
        self._monotonic_ms += duration_ms
        while self._watchers and self._watchers[0][0] <= self._monotonic_ms:
            heappop(self._watchers)[2].set()

    def set_wall(self, now_ms: int) -> None:
        """Jump the wall clock, as an operator or NTP would; monotonic time does not notice."""
        self._now_ms = float(now_ms)
