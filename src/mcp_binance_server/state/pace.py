"""Limit on long work per round of the event loop, and the order of the waiting parties."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator

from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LEAST_LEAD

# CPU time per round for long work, in ms. The rest of the round is for other tasks.
ROUND_MS = 4.0
# Most steps that a round wakes. After a round that used up its time, fewer steps are woken. A step that wakes too late
# in the round keeps its place.
MOST_WOKEN = 16
# Factor for the pause after a round of long work. The pause is as long as the round, or this multiple of the time
# beyond `ROUND_MS` if that is longer. The pause ends early if other tasks need less. A loop accepts one connection per
# round; without the pause, the last of two hundred connections would wait for as many steps.
GIVES_WAY = 4.0
IDLE_MS = 0.25

TakenPlace = tuple[str, str, float]
"""A member, its party and its remaining time."""


class _WaitingStep:
    """A waiting step. It keeps its place until its turn."""

    def __init__(self) -> None:
        self.woken: asyncio.Future[None] | None = None

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self.woken = loop.create_future()
        await self.woken

    def wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class LoopWatch:
    """Detector of rounds of the event loop since its creation. A new round may also have woken other tasks."""

    __slots__ = ("_noticed", "_noticing")

    def __init__(self) -> None:
        self._noticed = False
        self._noticing = asyncio.get_running_loop().call_soon(self._notice)

    def _notice(self) -> None:
        self._noticed = True

    def has_gone_round(self) -> bool:
        """Return True if the loop has begun a new round. Stop watching."""
        self._noticing.cancel()
        return self._noticed


class LoopPace:
    """Limit on long work in one round of the event loop. Further steps wait, and the parties take turns.

    A round is measured in `spent_ms`, which is CPU time. Elapsed time would be wrong, because it passes without work in
    this process while other processes are busy.
    """

    def __init__(self, spent_ms: Callable[[], float]) -> None:
        self._spent_ms = spent_ms
        self._queues: dict[str, deque[_WaitingStep]] = {}
        self._began_ms: float | None = None
        self._is_watched = False
        self._wakes = MOST_WOKEN
        self._rests_until_ms = self._round_ms = 0.0

    async def step(self, *, goes_on: bool = False) -> None:
        """Continue in this round of the loop while the round has time left, otherwise in a later round.

        Await this before every piece of work that takes milliseconds, because all readers of one answer are woken in
        one round. Work that `goes_on` comes before new work of its party, because half-finished work can hold as much
        memory as the whole.
        """
        loop = asyncio.get_running_loop()
        if self._queues or self._is_used_up:
            await self._turn(loop, goes_on=goes_on)
        if self._began_ms is None:
            self._began_ms = self._spent_ms()
        self._watch(loop)

    @property
    def _is_used_up(self) -> bool:
        return self._began_ms is not None and self._spent_ms() - self._began_ms >= ROUND_MS

    async def _turn(self, loop: asyncio.AbstractEventLoop, *, goes_on: bool) -> None:
        party, waiting = PARTY.get(), _WaitingStep()
        queue = self._queues.setdefault(party, deque())
        (queue.appendleft if goes_on else queue.append)(waiting)
        self._watch(loop)
        try:
            await waiting.wait(loop)
            while self._is_used_up:
                await waiting.wait(loop)
        finally:
            # This party is now behind the others, even if the step was cancelled.
            queue = self._queues.pop(party)
            queue.remove(waiting)
            if queue:
                self._queues[party] = queue

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedule the start of the next round."""
        if not self._is_watched:
            self._is_watched = True
            loop.call_soon(self._begin_round, loop)

    def _begin_round(self, loop: asyncio.AbstractEventLoop) -> None:
        now, last_ms = self._spent_ms(), self._round_ms
        if self._began_ms is not None:
            took_ms = now - self._began_ms
            self._rests_until_ms = now + max(took_ms, GIVES_WAY * (took_ms - ROUND_MS))
            self._wakes = max(1, self._wakes // 2) if took_ms >= ROUND_MS else min(MOST_WOKEN, self._wakes * 2)
        elif now - last_ms < IDLE_MS:
            self._rests_until_ms = now
        self._is_watched, self._began_ms, self._round_ms = False, None, now
        if now >= self._rests_until_ms:
            for waiting in self._next():
                waiting.wake()
        if self._queues:
            self._watch(loop)  # after the wake-ups, because their CPU time belongs to the round that ends there

    def _next(self) -> Iterator[_WaitingStep]:
        """Yield the next steps: one step of each party, then a second step of each party, and so on."""
        queues, place, left = [*self._queues.values()], 0, self._wakes
        while left and (queues := [queue for queue in queues if place < len(queue)]):
            for queue in queues[:left]:
                yield queue[place]
            left -= min(left, len(queues))
            place += 1


def gives_way(places: Collection[TakenPlace], party: str) -> str | None:
    """Return the member to evict, or None. Of the parties with the most places, it is the member that expires first."""
    held = Counter([holder for _, holder, _ in places])
    del held[""]
    most = max(held.values(), default=0)
    if not party or held[party] + LEAST_LEAD > most:
        return None
    return min((left_ms, member) for member, holder, left_ms in places if held[holder] == most)[1]
