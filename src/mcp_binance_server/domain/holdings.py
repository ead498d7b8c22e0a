"""Fair allocation of limited items among parties: the holders of each item, and the item to reclaim."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
Release = Callable[[], None]

# Smallest lead that allows a reclaim. With a lead of one, two parties could reclaim the same item from each other
# forever.
LEAST_LEAD = 2


class Holdings(Generic[KeyT]):
    """Items in order of allocation, with the parties that hold them. Several parties can hold one item.

    Free items go to any party. If all are held, a party gets an item of a party that holds at least two more. Items
    held by this process itself (the party "") are never reclaimed.
    """

    def __init__(self) -> None:
        self._holders: dict[KeyT, Counter[str]] = {}
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._holders)

    def hold(self, key: KeyT, party: str) -> None:
        """Add one hold of a party on an item. A party can hold an item several times."""
        holders = self._holders.setdefault(key, Counter())
        holders[party] += 1
        if holders[party] == 1:
            self._held[party] += 1

    def let_go(self, key: KeyT, party: str) -> None:
        """Release one hold. An item without holds is removed."""
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
        """Release all holds on an item."""
        for party in self._holders.pop(key, ()):
            self._count_less(party)

    def of(self, party: str) -> int:
        """Return the number of items that a party holds."""
        return self._held[party]

    def surplus(self, asker: str, *, lead: int = LEAST_LEAD, among: Collection[KeyT] | None = None) -> KeyT | None:
        """Return the item to reclaim for a party: the oldest item of the party that holds most.

        Return None if no party holds at least `lead` more items than the asker. A shared item is reclaimed only if each
        of its holders has at least `lead` more items than the asker.
        """
        least = self._held[asker] + lead
        # Fast path: repeated requests without success should be cheap.
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
    """Pool of at most `most` places. A party is notified at once if its place is reclaimed."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Holdings[object] = Holdings()
        self._ends: dict[object, Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def take(self, party: str, end: Callable[[], None]) -> Release | None:
        """Take a place and return a function that releases it, or None if there is no place.

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
