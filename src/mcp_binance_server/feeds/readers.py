"""Who reads a symbol and who did of late, and which symbol makes room when as many are streamed as may be. Pure."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_binance_server.domain.holdings import Holdings
from mcp_binance_server.domain.symbols import Symbol

# So long a symbol is still its last readers': one that went back and forth would cost a snapshot each time.
KEPT_MS = 60_000
MOST_REMEMBERED = 64
# A snapshot for each costs 50 of the request weight: a third of what snapshots may take in a minute.
MOST_REPLACED = 20
MINUTE_MS = 60_000
# What most answers show: a reader of no more can be shown a book that another process keeps.
FINISHED_LEVELS = 20

Need = Literal["book", "events"]
"""The best levels of a symbol's book, or all that its streams tell."""


@dataclass(eq=False)
class Readers:
    """The readers of one symbol, by party; `wanted_ms` is when another process last said that somebody reads there.

    `needs` is the most that any of them has needed.
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
        """When somebody last read here, or wanted to elsewhere."""
        return max(self.idle_since_ms, self.wanted_ms)

    def enter(self, party: str, needs: Need = "events") -> bool:
        """Count one more reader; tell whether it is the first one that needs events."""
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
        """Return who reads, or did within a minute; this process itself counts only while it reads."""
        recent = {party for party, left_ms in self._left_ms.items() if party and now_ms - left_ms < KEPT_MS}
        return recent | self._now.keys()

    def _remember(self, party: str, now_ms: float) -> None:
        if len(self._left_ms) >= MOST_REMEMBERED:
            self._left_ms = {each: at for each, at in self._left_ms.items() if now_ms - at < KEPT_MS}
        if len(self._left_ms) < MOST_REMEMBERED or party in self._left_ms:
            self._left_ms[party] = now_ms


class Replacing:
    """How often each party had room made for it within a minute."""

    def __init__(self) -> None:
        self._when: deque[tuple[float, str]] = deque()
        self._often: Counter[str] = Counter()

    def allows(self, party: str, now_ms: float) -> bool:
        """Tell whether it may be done once more; this process itself may as often as it likes."""
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
    """Return which symbol makes room for a party; None where nobody has too much.

    First one that nobody reads: the asker's own or nobody's any more, or that of parties that hold more. Then, of those
    that are read, one of whoever holds the most, as `Holdings` has it.
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
