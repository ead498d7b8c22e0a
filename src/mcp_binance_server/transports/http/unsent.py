"""Answers that wait for clients who do not read: together they take no more memory than there is a limit for."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_UNSENT = 64 * 2**20


@dataclass(frozen=True, slots=True)
class _Unread:
    address: str
    size: int
    break_off: Callable[[], None]


@dataclass
class Unsent:
    """What waits, longest first. When it is too much, the address for which most waits loses its oldest answer."""

    most: int = MOST_UNSENT
    _waiting: dict[object, _Unread] = field(default_factory=dict[object, _Unread], repr=False)

    def add(self, connection: object, address: str, size: int, break_off: Callable[[], None]) -> None:
        """Take note of an answer that a client has not read yet; `break_off` closes its connection."""
        self._waiting[connection] = _Unread(address, size, break_off)
        while sum(each.size for each in self._waiting.values()) > self.most:
            held: Counter[str] = Counter()
            for each in self._waiting.values():
                held[each.address] += each.size
            ((greediest, _),) = held.most_common(1)
            oldest = next(each for each, told in self._waiting.items() if told.address == greediest)
            self._waiting.pop(oldest).break_off()

    def drop(self, connection: object) -> None:
        """Take note that a client has read on, or left."""
        self._waiting.pop(connection, None)
