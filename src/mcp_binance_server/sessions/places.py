"""Places for sessions, which are leases in the state engine, and the limit per client."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil

import anyio

from mcp_binance_server.domain.access import ANONYMOUS, client_of
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.sessions.model import ConnectionId
from mcp_binance_server.state.engine import Admission, StateEngine


@dataclass(eq=False)
class Places:
    """Leases on a limited number of sessions, in one pool of the engine.

    The process with a session releases the session's place at its end. A place expires `slack_ms` after the requested
    time, so that the places of a dead process become free. A live session keeps its place during an engine outage of up
    to `slack_ms`. If all places are taken, the party with the most places loses one to a party with fewer. The process
    with the evicted session is notified through `evictions`. If it misses the notice, `keep` returns False.
    """

    engine: StateEngine
    pool: str
    cap: int
    slack_ms: int
    leaving: int = field(default=0, init=False)

    async def take(self, place: str, for_ms: float, party: str = "") -> Admission:
        """Request a place.

        Raises:
            EngineUnavailable: no place was given, because the engine does not answer.
        """
        try:
            return await self.engine.admit(
                self.pool, place, ttl_ms=self._ttl_ms(for_ms), cap=self.cap, party=party, channel=self._channel
            )
        except anyio.get_cancelled_exc_class():
            # The engine may have given the place although the caller was cancelled, so release the place.
            await self.leave(place)
            raise

    async def keep(self, place: str, for_ms: float, party: str = "") -> bool:
        """Extend a place, or take a new one if the engine has lost it. Return False if no place is free.

        Raises:
            EngineUnavailable: try again; the place stays valid for a while.
        """
        if await self.engine.touch(self.pool, place, ttl_ms=self._ttl_ms(for_ms)):
            return True
        admission = await self.take(place, for_ms, party)
        if not admission.admitted and admission.count < self.cap:
            # A restarted engine refuses places for a while, although the pool is not full. Live sessions wait and do
            # not end.
            raise EngineUnavailable(operation="keep")
        return admission.admitted

    @asynccontextmanager
    async def evictions(self) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Yield an iterator over evicted places, including those of other processes.

        Raises:
            EngineUnavailable: from the iterator; some evictions may have been missed.
        """
        async with self.engine.subscribe(self._channel) as places:
            yield places

    async def leave(self, *places: str) -> None:
        """Release places. If the engine does not answer, the places expire."""
        self.leaving += 1
        try:
            with anyio.CancelScope(shield=True):
                for place in places:
                    await self.engine.leave(self.pool, place)
        except EngineUnavailable:
            return
        finally:
            self.leaving -= 1

    @property
    def _channel(self) -> str:
        return f"given up: {self.pool}"

    def _ttl_ms(self, for_ms: float) -> int:
        return ceil(max(0.0, for_ms)) + self.slack_ms


class Share:
    """Limit on the sessions of each unauthenticated client. Authenticated visitors are not limited here."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._clients: dict[ConnectionId, str] = {}
        self._held: Counter[str] = Counter()

    def take(self, member: ConnectionId, owner: str, remote_addr: str) -> bool:
        """Count one more place for a client.

        Return False at the client's limit. With a `most` of 0 there is no limit.
        """
        if not self._most or owner != ANONYMOUS:
            return True
        client = client_of(remote_addr)
        if self._held[client] >= self._most:
            return False
        self._clients[member] = client
        self._held[client] += 1
        return True

    def give_back(self, member: ConnectionId) -> None:
        client = self._clients.pop(member, None)
        if client is not None:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]

    def members_of(self, remote_addr: str) -> list[ConnectionId]:
        """Return the sessions of the client at an address."""
        client = client_of(remote_addr)
        return [member for member, holder in self._clients.items() if holder == client]
