"""Present and recent readers of each symbol, and the choice of the symbol to evict at the limit. Pure."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_binance_server.domain.holdings import Holdings
from mcp_binance_server.domain.symbols import Symbol

# Time for which a symbol still belongs to its last readers: switching back and forth would cost a snapshot each time.
KEPT_MS = 60_000
MOST_REMEMBERED = 64
# Maximum evictions for one party in a minute; each costs a snapshot of weight 50, all together a third of the
# snapshots' budget.
MOST_REPLACED = 20
MINUTE_MS = 60_000
# Levels in most answers: a reader that needs no more can be shown a book that another process keeps.
FINISHED_LEVELS = 20

Need = Literal["book", "events"]
"""The best levels of a symbol's book, or all events of its streams."""


@dataclass(eq=False)
class Readers:
    """Readers of one symbol, by party. `wanted_ms` is the time of the last read reported by another process.

    `needs` is the highest need of any of them.
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
        """Time of the last read here, or of the last demand by another process."""
        return max(self.idle_since_ms, self.wanted_ms)

    def enter(self, party: str, needs: Need = "events") -> bool:
        """Count one more reader; return whether it is the first one that needs events."""
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
        """Return the parties that read, or did within a minute; this process itself counts only while it reads."""
        recent = {party for party, left_ms in self._left_ms.items() if party and now_ms - left_ms < KEPT_MS}
        return recent | self._now.keys()

    def _remember(self, party: str, now_ms: float) -> None:
        if len(self._left_ms) >= MOST_REMEMBERED:
            self._left_ms = {each: at for each, at in self._left_ms.items() if now_ms - at < KEPT_MS}
        if len(self._left_ms) < MOST_REMEMBERED or party in self._left_ms:
            self._left_ms[party] = now_ms


class Replacing:
    """Number of evictions in favour of each party within a minute."""

    def __init__(self) -> None:
        self._when: deque[tuple[float, str]] = deque()
        self._often: Counter[str] = Counter()

    def allows(self, party: str, now_ms: float) -> bool:
        """Return whether the party is under its limit. This process itself has none."""
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

    Symbols without readers come first: the asker's own and those without an owner, then those of parties that hold
    more. Then comes a symbol with readers, of the largest holder, by the rule of `Holdings`.
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
