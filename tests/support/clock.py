"""A clock that moves only when a test, or a sleeper, moves it."""

import anyio.lowlevel


class FakeClock:
    """Time that stands still; sleeping advances it at once, so no test ever waits."""

    def __init__(self, now_ms: int = 1_784_592_123_456) -> None:
        self._now_ms = float(now_ms)
        self._monotonic_ms = 0.0
        self.slept_ms: list[float] = []

    def now_ms(self) -> int:
        return int(self._now_ms)

    def monotonic_ms(self) -> float:
        return self._monotonic_ms

    async def sleep_ms(self, duration_ms: float) -> None:
        self.slept_ms.append(duration_ms)
        self.advance(max(0.0, duration_ms))
        await anyio.lowlevel.checkpoint()

    def advance(self, duration_ms: float) -> None:
        """Let both clocks run on."""
        self._now_ms += duration_ms
        self._monotonic_ms += duration_ms

    def set_wall(self, now_ms: int) -> None:
        """Jump the wall clock, as an operator or NTP would; monotonic time does not notice."""
        self._now_ms = float(now_ms)
