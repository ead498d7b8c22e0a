"""Answers of public reads, for as long as the read itself is shared: a crowd that asks the same costs one rendering."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mcp import types

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.surface.errors import LONGEST_SECS

Make = Callable[[], Awaitable[types.CallToolResult]]

# As long as the exchange's own answers are shared; what is rendered says by itself when it was true.
SHARED_MS = 1_000
# A thousand candles are a hundred kilobytes twice, as text and as a structure.
MOST_KEPT = 16


@dataclass
class SharedAnswers:
    """The last answers by what was asked, and those being made. A failure is told to all who wait and not kept."""

    clock: Clock
    flights: Flights[types.CallToolResult] = field(init=False, repr=False)
    _kept: dict[str, tuple[float, types.CallToolResult]] = field(
        default_factory=dict[str, tuple[float, types.CallToolResult]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    async def get(self, asked: str, make: Make) -> types.CallToolResult:
        """Return the answer to what is asked: one that was just made, is being made, or is made now."""
        made_at_ms, answer = self._kept.get(asked, (0.0, None))
        if answer is not None and self.clock.monotonic_ms() - made_at_ms < SHARED_MS:
            return answer

        async def produce() -> types.CallToolResult:
            began_ms = self.clock.monotonic_ms()
            made = await make()
            if not made.is_error:
                self._keep(asked, began_ms, made)
            return made

        return await self.flights.join(asked, produce, lock_ms=int(LONGEST_SECS * 1000))

    def _keep(self, asked: str, began_ms: float, answer: types.CallToolResult) -> None:
        self._kept.pop(asked, None)
        self._kept[asked] = (began_ms, answer)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
