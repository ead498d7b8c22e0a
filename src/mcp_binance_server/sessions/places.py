"""Places for sessions, and the fair share of each client."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil

import anyio

from mcp_binance_server.domain.access import ANYBODY, client_of
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.sessions.model import ConnectionId
from mcp_binance_server.state.engine import Admission, StateEngine


@dataclass(eq=False)
class Places:
    """Places of one pool in the engine; each outlives its requested time by `slack_ms`.

    The owner decides when a session is over and releases its place; the engine frees only the places of a dead owner.
    The slack is also the longest engine outage after which a live session still has its place.

    If all places are taken, a place of the largest party goes to a party with fewer. The owner of the evicted session
    is notified at once through `given_up`, and at the latest when it calls `keep`.
    """

    engine: StateEngine
    pool: str
    cap: int
    slack_ms: int
    leaving: int = field(default=0, init=False)

    async def take(self, place: str, for_ms: float, party: str = "") -> Admission:
        """Request a place.

        Raises:
            EngineUnavailable: it is unknown whether a place is free, so none is given.
        """
        try:
            return await self.engine.admit(
                self.pool, place, ttl_ms=self._ttl_ms(for_ms), cap=self.cap, party=party, channel=self._channel
            )
        except anyio.get_cancelled_exc_class():
            # The place may have been given before the answer was lost, but this caller no longer uses it.
            await self.leave(place)
            raise

    async def keep(self, place: str, for_ms: float, party: str = "") -> bool:
        """Extend a place, or take a new one if the engine has lost it; False if all places are taken by others.

        Raises:
            EngineUnavailable: try again; the place lasts a while.
        """
        if await self.engine.touch(self.pool, place, ttl_ms=self._ttl_ms(for_ms)):
            return True
        admission = await self.take(place, for_ms, party)
        if not admission.admitted and admission.count < self.cap:
            # Not full: an engine with a new memory gives no places yet. Existing sessions wait for it, without
            # eviction.
            raise EngineUnavailable(operation="keep")
        return admission.admitted

    @asynccontextmanager
    async def given_up(self) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Yield the places that must be given up, including those of other processes.

        Raises:
            EngineUnavailable: from the iterator; some places may have been missed.
        """
        async with self.engine.subscribe(self._channel) as places:
            yield places

    async def leave(self, *places: str) -> None:
        """Release places; if the engine does not answer, they expire on their own."""
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
    """Count of the places of unauthenticated visitors by client; authenticated visitors have no limit here."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._clients: dict[ConnectionId, str] = {}
        self._held: Counter[str] = Counter()

    def take(self, member: ConnectionId, owner: str, remote_addr: str) -> bool:
        """Count one more place, unless the client has used its share; with a `most` of 0 nothing is counted."""
        if not self._most or owner != ANYBODY:
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
        """Return the places of the client behind an address."""
        client = client_of(remote_addr)
        return [member for member, holder in self._clients.items() if holder == client]
