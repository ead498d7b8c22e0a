"""Open connections of a host, and its request log."""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import anyio

from binance_simulator.faults import StreamFaults

DAY_MS = 86_400_000
MINUTE_MS = 60_000


class Visitor(Protocol):
    """An open connection and its streams."""

    @property
    def streams(self) -> tuple[str, ...]: ...


class Hub:
    """Stream settings and open connections of a host.

    With `by_hand` the connections do not wait for the clock: set the clock, then call `wake`. This is needed for a
    test clock that jumps at every sleep, because sleeping connections would otherwise advance it endlessly.

    Lifetimes, limits and faults use the exchange's clock. The server's pings, one every 20 s, and its pong timeout are
    uvicorn's and use the machine's clock. `no_pong` simulates a missing pong on the exchange's clock.
    """

    def __init__(self) -> None:
        self.faults = StreamFaults()
        self.most_streams = 1024
        self.messages_a_second = 5
        self.most_waiting = 100_000
        self.life_ms = DAY_MS
        self.pong_ms = MINUTE_MS
        self.by_hand = False
        self.user_delay_ms = 0
        self.user_events = 0
        self._visitors: list[Visitor] = []
        self.beats = 0
        self._pulse: anyio.Event | None = None

    @property
    def open_connections(self) -> int:
        return len(self._visitors)

    def streams(self) -> Counter[str]:
        """Count the subscriptions by stream name."""
        return Counter(name for visitor in self._visitors for name in visitor.streams)

    def enter(self, visitor: Visitor) -> None:
        """Add an open connection."""
        self._visitors.append(visitor)

    def leave(self, visitor: Visitor) -> None:
        """Remove a connection."""
        self._visitors.remove(visitor)

    def wake(self) -> None:
        """Make every connection send its due events now."""
        self.beats += 1
        if self._pulse is not None:
            self._pulse.set()
            self._pulse = None

    async def pulse(self, beats: int) -> None:
        """Wait for the next `wake`. Return immediately if `wake` was called after `beats` was read."""
        if beats == self.beats:
            self._pulse = self._pulse or anyio.Event()
            await self._pulse.wait()


@dataclass(slots=True)
class ReceivedRequest:
    """One API request as received, and its answer. The status is 0 until there is an answer."""

    method: str
    path: str
    params: dict[str, str]
    signed: bool
    at_ms: int
    status: int = 0
    weight: int = 0
