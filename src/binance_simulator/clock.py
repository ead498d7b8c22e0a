"""The clock of the simulator. A test passes a fake clock."""

from typing import Protocol


class Clock(Protocol):
    """UTC time, monotonic time and waiting, all in ms."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> float: ...

    async def sleep_ms(self, duration_ms: float) -> None: ...
