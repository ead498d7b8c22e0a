"""Connection limit of a process.

Connections are counted by party (caller), and a connection of the largest party is evicted.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Generic, TypeVar

from starlette.types import Scope

C = TypeVar("C")

LET_IN = "mcp_binance_server.let_in"
"""Scope key of a callback that receives the party of an admitted request."""

LetIn = Callable[[str], None]


def tell_let_in(scope: Scope, party: str) -> None:
    """Report the party of an admitted request to its connection, if the connection has asked for it."""
    let_in: LetIn | None = scope.get(LET_IN)
    if let_in is not None:
        let_in(party)


class ConnectionState(IntEnum):
    """State of a connection, ordered by the damage of closing it.

    Connections without an admitted request are all in one state, because a new connection has had no time to send a
    request.
    """

    NOT_LET_IN = 0
    IDLE = 1
    AT_WORK = 2


class _Group(Generic[C]):
    """Connections of one party, by state and by time in that state."""

    def __init__(self) -> None:
        self.by_loss: tuple[dict[C, None], ...] = tuple({} for _ in ConnectionState)

    def __len__(self) -> int:
        return sum(map(len, self.by_loss))

    def first(self, most: ConnectionState) -> C | None:
        return next((next(iter(held)) for held in self.by_loss[: most + 1] if held), None)


class ConnectionRegistry(Generic[C]):
    """Connections counted by party.

    A connection belongs to the party of its last admitted request, and before that to its address. Every operation
    takes constant time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._groups: dict[str, _Group[C]] = {}
        self._by_size: list[dict[str, None]] = [{}]
        self._places: dict[C, tuple[str, ConnectionState]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def make_room(self, party: str) -> tuple[bool, C | None]:
        """Return whether a new connection can be accepted, and the connection that was evicted for it.

        The largest party loses a connection if it has at least two more than the new connection's party. Otherwise the
        new connection's party loses a connection that has no request in progress.
        """
        if len(self) < self._most:
            return True, None
        own, largest = self._groups.get(party), next(iter(self._by_size[-1]), None)
        if largest is not None and (len(own) if own else 0) + 2 <= len(self._groups[largest]):
            gone = self._groups[largest].first(ConnectionState.AT_WORK)
        else:
            gone = own.first(ConnectionState.IDLE) if own else None
        if gone is not None:
            self.leave(gone)
        return gone is not None, gone

    def enter(self, connection: C, party: str) -> None:
        self._put(connection, party, ConnectionState.NOT_LET_IN)

    def let_in(self, connection: C, party: str) -> None:
        """Record the party of an admitted request."""
        if connection in self._places:
            self._put(connection, party, ConnectionState.AT_WORK)

    def asked(self, connection: C) -> None:
        """Record that a request begins on an idle connection."""
        place = self._places.get(connection)
        if place is not None and place[1] is ConnectionState.IDLE:
            self._put(connection, place[0], ConnectionState.NOT_LET_IN)

    def answered(self, connection: C) -> None:
        """Record the end of a request. A connection without an admitted request stays in its state, as the newest."""
        place = self._places.get(connection)
        if place is not None:
            self._put(
                connection,
                place[0],
                ConnectionState.IDLE if place[1] is ConnectionState.AT_WORK else ConnectionState.NOT_LET_IN,
            )

    def leave(self, connection: C) -> None:
        place = self._places.pop(connection, None)
        if place is None:
            return
        party, loss = place
        group = self._groups[party]
        del group.by_loss[loss][connection]
        self._resize(party, len(group) + 1, len(group))

    def _put(self, connection: C, party: str, loss: ConnectionState) -> None:
        before = self._places.get(connection)
        if before is not None and before[0] != party:
            self.leave(connection)
            before = None
        group = self._groups.get(party)
        if group is None:
            group = self._groups[party] = _Group()
        if before is not None:
            del group.by_loss[before[1]][connection]
        group.by_loss[loss][connection] = None
        self._places[connection] = (party, loss)
        if before is None:
            self._resize(party, len(group) - 1, len(group))

    def _resize(self, party: str, before: int, now: int) -> None:
        self._by_size[before].pop(party, None)
        if now:
            if now == len(self._by_size):
                self._by_size.append({})
            self._by_size[now][party] = None
        else:
            del self._groups[party]
        while len(self._by_size) > 1 and not self._by_size[-1]:
            self._by_size.pop()
