"""Current and recent readers of each symbol, and the choice of a symbol to evict at the limit. Pure."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_binance_server.domain.holdings import Holdings
from mcp_binance_server.domain.symbols import Symbol

# A party keeps its symbols for this long after reading: switching back and forth would cost a snapshot each time.
KEPT_MS = 60_000
MOST_REMEMBERED = 64
# Evictions for one party in a minute. Each costs a snapshot of weight 50. Together they use a third of the weight
# budget of snapshots.
MOST_REPLACED = 20
MINUTE_MS = 60_000
# Number of levels that most answers need. A reader that needs no more can use the book of another process.
FINISHED_LEVELS = 20

Need = Literal["book", "events"]
"""The best levels of a symbol's book, or all events of its streams."""


@dataclass(eq=False)
class Readers:
    """Readers of one symbol, counted by party.

    `wanted_ms` is the time of the last read that another process has reported. `needs` is "events" if any reader needs
    them.
    """

    needs: Need = "book"
    idle_since_ms: float = 0.0
    wanted_ms: float = 0.0
    _now: Counter[str] = field(default_factory=Counter[str])
    _left_ms: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def count(self) -> int:
        return self._now.total()

    @property
    def used_ms(self) -> float:
        """Time of the last read in this or another process."""
        return max(self.idle_since_ms, self.wanted_ms)

    def enter(self, party: str, needs: Need = "events") -> bool:
        """Add a reader. Return whether it is the first one that needs events."""
        self._now[party] += 1
        if self.needs in (needs, "events"):
            return False
        self.needs = needs
        return True

    def leave(self, party: str, now_ms: float) -> None:
        self._now[party] -= 1
        if not self._now[party]:
            del self._now[party]
            self._remember(party, now_ms)
        self.idle_since_ms = now_ms

    def parties(self, now_ms: float) -> set[str]:
        """Return the parties that read now or have read within a minute.

        This process itself counts only while it reads.
        """
        recent = {party for party, left_ms in self._left_ms.items() if party and now_ms - left_ms < KEPT_MS}
        return recent | self._now.keys()

    def _remember(self, party: str, now_ms: float) -> None:
        if len(self._left_ms) >= MOST_REMEMBERED:
            self._left_ms = {each: at for each, at in self._left_ms.items() if now_ms - at < KEPT_MS}
        if len(self._left_ms) < MOST_REMEMBERED or party in self._left_ms:
            self._left_ms[party] = now_ms


class Replacing:
    """Number of recent evictions for each party."""

    def __init__(self) -> None:
        self._when: deque[tuple[float, str]] = deque()
        self._often: Counter[str] = Counter()

    def allows(self, party: str, now_ms: float) -> bool:
        """Return whether the party may cause another eviction. This process itself has no limit."""
        while self._when and now_ms - self._when[0][0] >= MINUTE_MS:
            _, other = self._when.popleft()
            self._often[other] -= 1
            if not self._often[other]:
                del self._often[other]
        return not party or self._often[party] < MOST_REPLACED

    def note(self, party: str, now_ms: float) -> None:
        if party:
            self._when.append((now_ms, party))
            self._often[party] += 1


def to_stop(readers: Mapping[Symbol, Readers], asker: str, now_ms: float) -> Symbol | None:
    """Return the symbol to evict for a party, or None if no party is over its share.

    First choice is a symbol without readers that only the asking party or no party has used. Next is a symbol without
    readers that belongs to a party with more symbols. Last is a symbol with readers, of the largest holder; see
    `Holdings`.
    """
    idle = sorted((each for each in readers if not readers[each].count), key=lambda each: readers[each].used_ms)
    held: Holdings[Symbol] = Holdings()
    for symbol in (*idle, *(each for each in readers if readers[each].count)):
        for party in readers[symbol].parties(now_ms):
            held.hold(symbol, party)
    for symbol in idle:
        if readers[symbol].parties(now_ms) <= {asker}:
            return symbol
    return held.surplus(asker, lead=1, among=frozenset(idle)) or held.surplus(asker)
