"""What is due when: one moment for each name, the earliest first."""

import heapq
from itertools import count
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K")


class Agenda(Generic[K]):
    """Names with moments.

    A moved or dropped one leaves its old moment in the heap, which is rebuilt before it is more than twice as long as
    it need be.
    """

    def __init__(self) -> None:
        self._serials: dict[K, int] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._counter = count()

    def put(self, name: K, at: float) -> None:
        """Note a name, or move it."""
        serial = self._serials[name] = next(self._counter)
        heapq.heappush(self._heap, (at, serial, name))
        self._tidy()

    def drop(self, name: K) -> None:
        self._serials.pop(name, None)
        self._tidy()

    def next(self) -> float:
        """Return the earliest moment; infinity when nothing is noted."""
        while self._heap and not self._stands(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else inf

    def pop_due(self, now: float) -> list[K]:
        """Take out everything whose moment has come."""
        due: list[K] = []
        while self.next() <= now and self._heap:
            name = heapq.heappop(self._heap)[2]
            del self._serials[name]
            due.append(name)
        return due

    def _stands(self, entry: tuple[float, int, K]) -> bool:
        return self._serials.get(entry[2]) == entry[1]

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self._serials) + 64:
            self._heap = [entry for entry in self._heap if self._stands(entry)]
            heapq.heapify(self._heap)
