"""Places for sessions, and whose fair share of them is used."""

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
    """Places outlive the moment until which they are asked for by `slack_ms`.

    The owner decides when a session is over and gives its place back; the engine frees only what a dead owner left.
    The slack is also how long the engine may be away before a live session loses its place.

    When all are taken, one of the party that holds most goes to a party with fewer. Whoever owns the session that gave
    way learns it at once from `given_up`, and at the latest when it wants to `keep` the place.
    """

    engine: StateEngine
    pool: str
    cap: int
    slack_ms: int
    leaving: int = field(default=0, init=False)

    async def take(self, place: str, for_ms: float, party: str = "") -> Admission:
        """Ask for a place.

        Raises:
            EngineUnavailable: nobody knows whether there is one, so there is none.
        """
        try:
            return await self.engine.admit(
                self.pool, place, ttl_ms=self._ttl_ms(for_ms), cap=self.cap, party=party, channel=self._channel
            )
        except anyio.get_cancelled_exc_class():
            # It may have been given before the answer was lost, and nobody is left to use it.
            await self.leave(place)
            raise

    async def keep(self, place: str, for_ms: float, party: str = "") -> bool:
        """Hold a place for longer; take one anew when the engine has lost it. False: others have taken them all.

        Raises:
            EngineUnavailable: ask again; the place lasts a while.
        """
        if await self.engine.touch(self.pool, place, ttl_ms=self._ttl_ms(for_ms)):
            return True
        admission = await self.take(place, for_ms, party)
        if not admission.admitted and admission.count < self.cap:
            # Not full: a new memory gives no places yet. Whoever was inside waits for that, and is not thrown out.
            raise EngineUnavailable(operation="keep")
        return admission.admitted

    @asynccontextmanager
    async def given_up(self) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Learn which places have to be given up, those of other processes too.

        Raises:
            EngineUnavailable: by the iterator; some may have been missed.
        """
        async with self.engine.subscribe(self._channel) as places:
            yield places

    async def leave(self, *places: str) -> None:
        """Give places back; if the engine does not answer, they free by themselves."""
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
    """Counts the places of strangers by client; who showed a name holds as many as there are."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._clients: dict[ConnectionId, str] = {}
        self._held: Counter[str] = Counter()

    def take(self, member: ConnectionId, owner: str, remote_addr: str) -> bool:
        """Count one more place, unless the client has its share; `most` 0 counts nothing."""
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
        """Return which places the client behind an address holds."""
        client = client_of(remote_addr)
        return [member for member, holder in self._clients.items() if holder == client]
