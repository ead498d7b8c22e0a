"""Containers with expiry: a dict that keeps no dead entries, and a shelf (a dict with a limit in bytes)."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class _Entry(NamedTuple, Generic[V]):
    deadline: float
    serial: int
    value: V


class Expiring(Generic[K, V]):
    """Values with deadlines. The caller passes the time, which must not run backwards.

    Every write drops all expired entries. A replaced entry leaves its old deadline in the heap. The heap is rebuilt
    before it is more than twice as long as the dict. So memory use follows the live entries.
    """

    def __init__(self) -> None:
        self._entries: dict[K, _Entry[V]] = {}
        self._deadlines: list[tuple[float, int, K]] = []
        self._serials = count()

    def __len__(self) -> int:
        """Return the number of entries. It is exact after `purge`."""
        return len(self._entries)

    def get(self, key: K, now: float) -> V | None:
        entry = self._entries.get(key)
        return entry.value if entry is not None and entry.deadline > now else None

    def left(self, key: K, now: float) -> float:
        """Return the remaining time of an entry, or 0 if there is no entry."""
        entry = self._entries.get(key)
        return max(0.0, entry.deadline - now) if entry is not None else 0.0

    def put(self, key: K, value: V, *, deadline: float, now: float) -> None:
        self.purge(now)
        serial = next(self._serials)
        self._entries[key] = _Entry(deadline, serial, value)
        heapq.heappush(self._deadlines, (deadline, serial, key))
        if len(self._deadlines) > 2 * len(self._entries) + 64:
            self._deadlines = [(entry.deadline, entry.serial, key) for key, entry in self._entries.items()]
            heapq.heapify(self._deadlines)

    def drop(self, key: K, now: float) -> bool:
        """Remove an entry. Return True if it was still alive."""
        entry = self._entries.pop(key, None)
        return entry is not None and entry.deadline > now

    def alive(self, now: float) -> Iterator[tuple[K, V, float]]:
        """Return the live entries and their remaining times."""
        return (
            (key, entry.value, entry.deadline - now) for key, entry in self._entries.items() if entry.deadline > now
        )

    def purge(self, now: float) -> None:
        """Drop all expired entries."""
        while self._deadlines and self._deadlines[0][0] <= now:
            _, serial, key = heapq.heappop(self._deadlines)
            if self._stands(serial, key):
                del self._entries[key]

    def soonest(self, now: float) -> float | None:
        """Return the time until the next entry expires, or None if there is none."""
        self.purge(now)
        while self._deadlines and not self._stands(*self._deadlines[0][1:]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] - now if self._deadlines else None

    def _stands(self, serial: int, key: K) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.serial == serial


@dataclass(frozen=True, slots=True)
class _Shelved:
    value: bytes = field(repr=False)
    until_ms: float


class ValueShelf:
    """Values with deadlines and a total limit in bytes. Values can be evicted before their deadlines."""

    def __init__(self) -> None:
        self._held: dict[str, _Shelved] = {}
        self._bytes = 0

    def put(self, key: str, value: bytes, *, until_ms: float, most_bytes: int, now_ms: float) -> None:
        self._drop(key)
        self._held[key] = _Shelved(value, until_ms)
        self._bytes += len(value)
        self._make_room(most_bytes, now_ms)

    def get(self, key: str, now_ms: float) -> bytes | None:
        held = self._held.get(key)
        return held.value if held is not None and held.until_ms > now_ms else None

    def all(self, now_ms: float) -> dict[str, bytes]:
        return {key: held.value for key, held in self._held.items() if held.until_ms > now_ms}

    def _make_room(self, most_bytes: int, now_ms: float) -> None:
        for key, held in sorted(self._held.items(), key=lambda item: (item[1].until_ms, item[0])):
            if held.until_ms > now_ms and self._bytes <= most_bytes:
                return
            self._drop(key)

    def _drop(self, key: str) -> None:
        if held := self._held.pop(key, None):
            self._bytes -= len(held.value)
