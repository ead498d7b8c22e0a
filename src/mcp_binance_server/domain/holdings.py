"""Fair allocation of limited items: which party holds which, and which item is reclaimed when all are held."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
Release = Callable[[], None]

# A lead of one item is not enough: the party that lost the item would ask for it back.
LEAST_LEAD = 2


class Holdings(Generic[KeyT]):
    """Items in order of allocation, with the parties that hold each; several parties can hold one item.

    The rule: free items go to any party. Once all are held, a party gets an item from a party that holds at least two
    more than it does. Items of this process itself, the party "", are never reclaimed.
    """

    def __init__(self) -> None:
        self._holders: dict[KeyT, Counter[str]] = {}
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._holders)

    def hold(self, key: KeyT, party: str) -> None:
        """Count one more hold of a party on an item; a party can hold an item several times."""
        holders = self._holders.setdefault(key, Counter())
        holders[party] += 1
        if holders[party] == 1:
            self._held[party] += 1

    def let_go(self, key: KeyT, party: str) -> None:
        """Release one hold; an item without holders is forgotten."""
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
        """Release an item for all of its holders."""
        for party in self._holders.pop(key, ()):
            self._count_less(party)

    def of(self, party: str) -> int:
        """Return the number of items that a party holds."""
        return self._held[party]

    def surplus(self, asker: str, *, lead: int = LEAST_LEAD, among: Collection[KeyT] | None = None) -> KeyT | None:
        """Return the item to reclaim for a party: the oldest of the largest holder, or None if no party has too many.

        A shared item is reclaimed only if each of its holders has at least `lead` more items than the asker.
        """
        least = self._held[asker] + lead
        # Repeated requests that are denied should cost little.
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
    """Pool of at most `most` places; a party that loses its place is notified at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Holdings[object] = Holdings()
        self._ends: dict[object, Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def take(self, party: str, end: Callable[[], None]) -> Release | None:
        """Take a place and return its release, or None if no place is available.

        `end` is called if the place is reclaimed for another party.
        """
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
