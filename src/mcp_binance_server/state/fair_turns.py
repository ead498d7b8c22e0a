"""Turns for work with few slots.

Waiting parties get turns in round-robin order, independent of the amount of their work.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.state.shared_use import MOST_NAMED, MOST_TOLD, PartyUse, RemoteUsage

MOST_WAITING: Final = 30
# Time in ms for which the last slot is reserved for other parties, counted from their last request.
KEPT_FREE_MS: Final = 60_000
LONGEST_REST_MS: Final = 2_000.0


@dataclass(eq=False)
class FairTurn:
    """A piece of work. It waits in the queue of every party that wants it, is in progress, or has ended."""

    name: str
    wanted_by: set[str] = field(default_factory=set[str])
    party: str | None = None
    """The party whose turn the work uses; None while it waits."""
    begun_ms: float = 0.0
    gives_way: bool = False
    """Whether the work runs at low priority, because its party has more work waiting while other parties ask."""
    is_over: bool = False
    begun: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_waiting(self) -> bool:
        return self.party is None and not self.is_over


class FairTurns:
    """Slots for `at_a_time` pieces of work, given to the parties (callers) in round-robin order.

    While other parties have recently asked, the last slot is not given to a party that already has a slot. So an
    occasional party starts at once, even if a busy party has much work waiting. A party should have at most
    `most_waiting` pieces of work waiting; this process itself has no limit. `elsewhere` contains the reports of other
    processes. While other parties ask in any process, a party with work in several processes pauses after each turn. So
    it uses about one slot in all processes together.
    """

    def __init__(self, clock: Clock, *, at_a_time: int, most_waiting: int = MOST_WAITING) -> None:
        self.most_waiting = most_waiting
        self._clock = clock
        self._at_a_time = at_a_time
        self._queues: dict[str, deque[FairTurn]] = {}
        self._waiting: dict[str, FairTurn] = {}
        self._held: Counter[str] = Counter()
        self._asked_ms: dict[str, float] = {}
        self._rests_until_ms: dict[str, float] = {}
        self.elsewhere = RemoteUsage(self._grant)

    def has_room(self) -> bool:
        """Return True if the current party can queue one more piece of work."""
        party = PARTY.get()
        queue = self._queues.get(party)
        if not party or queue is None or len(queue) < self.most_waiting:
            return True
        return sum(each.is_waiting for each in queue) < self.most_waiting

    def ask(self, name: str) -> FairTurn:
        """Queue a piece of work for the current party."""
        turn = self._waiting[name] = FairTurn(name)
        self._enqueue(turn)
        return turn

    def join(self, name: str) -> None:
        """Queue another party's waiting work for the current party too.

        The first turn of either party starts the work.
        """
        turn = self._waiting.get(name)
        if turn is not None and self.has_room():
            self._enqueue(turn)

    async def wait(self, turn: FairTurn, longest_secs: float) -> None:
        """Wait for a requested turn. Its holder must call `end`.

        Raises:
            TimeoutError: the turn did not come in time.
        """
        try:
            with anyio.fail_after(longest_secs):
                await turn.begun.wait()
        except BaseException:
            self.end(turn)
            raise

    def end(self, turn: FairTurn) -> None:
        """End a turn and start the next turn. A second call has no effect."""
        if not turn.is_over:
            turn.is_over = True
            if turn.party is not None:
                self._held[turn.party] -= 1
                if not self._held[turn.party]:
                    del self._held[turn.party]
                self._rest(turn.party, self._clock.monotonic_ms() - turn.begun_ms)
            self._forget(turn)
            self._grant()

    def used_here(self) -> PartyUse:
        """Return the report for other processes: recent parties, and each party's work in progress or waiting."""
        now = self._clock.monotonic_ms()
        asked = [each for each, at in self._asked_ms.items() if each and now - at < KEPT_FREE_MS]
        waiting = Counter({each: sum(turn.is_waiting for turn in queue) for each, queue in self._queues.items()})
        used = self._held + waiting
        del used[""]
        return PartyUse(asked[-MOST_NAMED:], dict(used.most_common(MOST_TOLD)))

    def _enqueue(self, turn: FairTurn) -> None:
        party = PARTY.get()
        now = self._clock.monotonic_ms()
        self._asked_ms = {each: at for each, at in self._asked_ms.items() if now - at < KEPT_FREE_MS}
        self._asked_ms.pop(party, None)
        self._asked_ms[party] = now
        if party not in turn.wanted_by:
            turn.wanted_by.add(party)
            queue = self._queues.setdefault(party, deque())
            if len(queue) >= self.most_waiting:
                queue = self._queues[party] = deque(each for each in queue if each.is_waiting)
            queue.append(turn)
            self._grant()

    def _rest(self, party: str, worked_ms: float) -> None:
        now = self._clock.monotonic_ms()
        self._rests_until_ms = {each: until for each, until in self._rests_until_ms.items() if until > now}
        rest_ms = min(LONGEST_REST_MS, worked_ms * self.elsewhere.processes(party))
        if rest_ms:
            self._rests_until_ms[party] = now + rest_ms

    def _is_resting(self, party: str) -> bool:
        until_ms = self._rests_until_ms.get(party, 0.0)
        return self._clock.monotonic_ms() < until_ms and self.elsewhere.processes(party) > 0

    def _grant(self) -> None:
        while (free := self._at_a_time - self._held.total()) > 0 and (found := self._next(free)) is not None:
            turn, party = found
            turn.party, turn.begun_ms = party, self._clock.monotonic_ms()
            has_more = party in self._queues or self.elsewhere.processes(party) > 0
            turn.gives_way = has_more and not self._is_alone(party)
            self._held[party] += 1
            self._forget(turn)
            turn.begun.set()

    def _next(self, free: int) -> tuple[FairTurn, str] | None:
        for party in tuple(self._queues):
            has_its_part = (free == 1 and self._held[party]) or self._is_resting(party)
            if has_its_part and not self._is_alone(party):
                continue
            queue = self._queues.pop(party)
            while queue:
                turn = queue.popleft()
                if turn.is_waiting:
                    if queue:
                        self._queues[party] = queue
                    return turn, party
        return None

    def _is_alone(self, party: str) -> bool:
        now = self._clock.monotonic_ms()
        is_alone_here = not any(now - at < KEPT_FREE_MS for each, at in self._asked_ms.items() if each != party)
        return is_alone_here and not self.elsewhere.has_others(party)

    def _forget(self, turn: FairTurn) -> None:
        if self._waiting.get(turn.name) is turn:
            del self._waiting[turn.name]
