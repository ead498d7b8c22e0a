"""How much long work goes in one round of the loop, and whose turn is next."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator

from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LEAST_LEAD

# So much of a round is given to long work; the rest of it is for everything else.
ROUND_MS = 4.0
# So many are woken for a round, fewer where the last one was used up. Whoever finds it used up goes back to its place.
MOST_WOKEN = 16
# Others then have as long, unless they need less, and so many times what a step took beyond its round. A loop lets in
# one connection a round, and whoever comes last of two hundred would wait for as many steps.
GIVES_WAY = 4.0
IDLE_MS = 0.25

TakenPlace = tuple[str, str, float]
"""A member, its party, and how long it still has."""


class _WaitingStep:
    """Somebody who waits, and keeps the place until it is their turn."""

    def __init__(self) -> None:
        self.woken: asyncio.Future[None] | None = None

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self.woken = loop.create_future()
        await self.woken

    def wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class LoopWatch:
    """Tells whether the loop goes round meanwhile: then others may be woken together with whoever waited."""

    __slots__ = ("_noticed", "_noticing")

    def __init__(self) -> None:
        self._noticed = False
        self._noticing = asyncio.get_running_loop().call_soon(self._notice)

    def _notice(self) -> None:
        self._noticed = True

    def has_gone_round(self) -> bool:
        """Tell so, and watch no longer."""
        self._noticing.cancel()
        return self._noticed


class LoopPace:
    """Lets steps of work begin until a round of the loop is used up; the others wait, each party for its turn.

    A round is measured in `spent_ms`: where other processes are busy, time passes in which nobody here has worked.
    """

    def __init__(self, spent_ms: Callable[[], float]) -> None:
        self._spent_ms = spent_ms
        self._queues: dict[str, deque[_WaitingStep]] = {}
        self._began_ms: float | None = None
        self._is_watched = False
        self._wakes = MOST_WOKEN
        self._rests_until_ms = self._round_ms = 0.0

    async def step(self, *, goes_on: bool = False) -> None:
        """Go on in this round of the loop while it has time left, else in one of the next.

        Ask before every piece of work that takes milliseconds: readers of one answer are all woken in one round. Work
        that `goes_on` comes before what its party has not begun: half of it may hold as much memory as the whole.
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
            # Behind the others now, whether this one goes on or has left.
            queue = self._queues.pop(party)
            queue.remove(waiting)
            if queue:
                self._queues[party] = queue

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """See to it that the next round of the loop is noticed."""
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
            self._watch(loop)  # after them: what they take is of the round that ends there

    def _next(self) -> Iterator[_WaitingStep]:
        """Return who is next: one of each party, then a second one of each."""
        queues, place, left = [*self._queues.values()], 0, self._wakes
        while left and (queues := [queue for queue in queues if place < len(queue)]):
            for queue in queues[:left]:
                yield queue[place]
            left -= min(left, len(queues))
            place += 1


def gives_way(places: Collection[TakenPlace], party: str) -> str | None:
    """Return the member, of a party that holds most, whose time ends first; None if nobody has to go."""
    held = Counter([holder for _, holder, _ in places])
    del held[""]
    most = max(held.values(), default=0)
    if not party or held[party] + LEAST_LEAD > most:
        return None
    return min((left_ms, member) for member, holder, left_ms in places if held[holder] == most)[1]
