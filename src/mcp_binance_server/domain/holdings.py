"""Who holds what of things of which there are only so many, and what is taken from whom when all are held."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
Release = Callable[[], None]

# A party that has only one more than the asker keeps it: what was taken would be asked back.
LEAST_LEAD = 2


class Holdings(Generic[KeyT]):
    """Things in the order in which they were lent, and the parties that hold each; several may hold the same.

    The rule: as long as there are some, they are lent freely. After that, a party gets one of those that hold at least
    two more than it does. Nothing is taken from this process itself, the party "".
    """

    def __init__(self) -> None:
        self._holders: dict[KeyT, Counter[str]] = {}
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._holders)

    def hold(self, key: KeyT, party: str) -> None:
        """Count one more holder of a thing; a party may hold it several times."""
        holders = self._holders.setdefault(key, Counter())
        holders[party] += 1
        if holders[party] == 1:
            self._held[party] += 1

    def let_go(self, key: KeyT, party: str) -> None:
        """Count one holder less; what nobody holds is forgotten."""
        holders = self._holders.get(key)
        if holders is None or party not in holders:
            return
        holders[party] -= 1
        if not holders[party]:
            del holders[party]
            self._count_less(party)
        if not holders:
            del self._holders[key]

    def forget(self, key: KeyT) -> None:
        """Take a thing from all who hold it."""
        for party in self._holders.pop(key, ()):
            self._count_less(party)

    def of(self, party: str) -> int:
        """Return how many things a party holds."""
        return self._held[party]

    def surplus(self, asker: str, *, lead: int = LEAST_LEAD, among: Collection[KeyT] | None = None) -> KeyT | None:
        """Return what is to be taken for a party: the oldest of whoever holds most; None where nobody has too much.

        What several hold is taken only if each of them holds so many more than the asker.
        """
        least = self._held[asker] + lead
        # Who asks again and again for what it does not get should cost little.
        if not any(count >= least for party, count in self._held.items() if party):
            return None
        found: KeyT | None = None
        most = 0
        for key, holders in self._holders.items():
            counts = [self._held[party] if party else 0 for party in holders]
            if min(counts) >= least and max(counts) > most and (among is None or key in among):
                found, most = key, max(counts)
        return found

    def _count_less(self, party: str) -> None:
        self._held[party] -= 1
        if not self._held[party]:
            del self._held[party]


class LentPlaces:
    """Places of which there are `most`; whoever loses one is told at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Holdings[object] = Holdings()
        self._ends: dict[object, Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def take(self, party: str, end: Callable[[], None]) -> Release | None:
        """Give a party a place until it is released or `end` is called; None where there is none to give."""
        if len(self._ends) >= self.most:
            surplus = self._held.surplus(party)
            if surplus is None:
                return None
            ended = self._ends[surplus]
            self._release(surplus)
            ended()
        key = object()
        self._ends[key] = end
        self._held.hold(key, party)
        return lambda: self._release(key)

    def _release(self, key: object) -> None:
        self._ends.pop(key, None)
        self._held.forget(key)
