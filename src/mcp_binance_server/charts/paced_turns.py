"""Who may ask next where requests must follow each other at a pace: the parties go round, however much each wants."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY

LONGEST_WAIT_MS = 5_000


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests a second, how many of them at once, and images a day; None when nobody said how many."""

    per_second: float
    burst: int
    per_day: int | None

    @property
    def step_ms(self) -> float:
        return 1000 / self.per_second


@dataclass(eq=False, slots=True)
class _WaitingCall:
    party: str
    until_ms: float
    has_turn: bool = False
    is_refused: bool = False

    @property
    def is_over(self) -> bool:
        return self.has_turn or self.is_refused


class PacedTurns:
    """Gives turns at a pace, to one party after the other.

    So many wait as get a turn within five seconds. One more makes the last of the party go that has the most waiting:
    nobody is refused who has no more than an equal part of them.
    """

    def __init__(self, clock: Clock, pace: Callable[[], Pace]) -> None:
        self._clock = clock
        self._pace = pace
        self._next_ms = float("-inf")
        self._closed_until_ms = float("-inf")
        # The party that is first here is next.
        self._queues: dict[str, deque[_WaitingCall]] = {}

    def close_for(self, duration_ms: float) -> None:
        """Give nobody a turn for a while."""
        self._closed_until_ms = max(self._closed_until_ms, self._clock.monotonic_ms() + duration_ms)

    async def take(self) -> None:
        """Wait for a turn of the party at hand.

        Raises:
            ChartLimitReached: that would be too long.
        """
        party, now = PARTY.get(), self._clock.monotonic_ms()
        self._give(now)
        if self._ms_until_turn(now) > LONGEST_WAIT_MS:
            raise self._refusal(now)
        mine = _WaitingCall(party, now + LONGEST_WAIT_MS)
        self._queues.setdefault(party, deque()).append(mine)
        self._give(now)
        if self._ms_until_all_gone(now) > LONGEST_WAIT_MS:
            self._dismiss_one(party)
        try:
            while not mine.is_over:
                await self._clock.sleep_ms(max(0.0, min(self._ms_until_turn(now), mine.until_ms - now)))
                now = self._clock.monotonic_ms()
                self._give(now)
                mine.is_refused = not mine.has_turn and (mine.is_refused or now >= mine.until_ms)
        finally:
            self._forget(mine)
        if mine.is_refused:
            raise self._refusal(now)

    def _give(self, now: float) -> None:
        step_ms = self._pace().step_ms
        while self._queues and self._ms_until_turn(now) <= 0:
            party = next(iter(self._queues))
            queue = self._queues.pop(party)
            queue.popleft().has_turn = True
            if queue:
                self._queues[party] = queue
            self._next_ms = max(self._next_ms, now) + step_ms

    def _dismiss_one(self, asks: str) -> None:
        """Refuse the last of the party that has the most waiting; of several that have, who asks."""
        most = max(self._queues, key=lambda party: (len(self._queues[party]), party == asks))
        last = self._queues[most][-1]
        last.is_refused = True
        self._forget(last)

    def _forget(self, one: _WaitingCall) -> None:
        queue = self._queues.get(one.party, deque())
        if one in queue:
            queue.remove(one)
        if not queue:
            self._queues.pop(one.party, None)

    def _ms_until_turn(self, now: float) -> float:
        # Each turn books the step behind the last one; the burst may be booked ahead of time.
        pace = self._pace()
        return max(0.0, self._next_ms - (pace.burst - 1) * pace.step_ms - now, self._closed_until_ms - now)

    def _ms_until_all_gone(self, now: float) -> float:
        count = sum(map(len, self._queues.values()))
        return self._ms_until_turn(now) + (count - 1) * self._pace().step_ms if count else 0.0

    def _refusal(self, now: float) -> ChartLimitReached:
        count = sum(map(len, self._queues.values()))
        wait_ms = self._ms_until_turn(now) + count * self._pace().step_ms
        return ChartLimitReached(retry_after_secs=max(1, ceil(wait_ms / 1000)))
