"""The places of all sessions, kept in the state engine: one cap for every process that shares it."""

from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil

import anyio

from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.sessions.model import ConnectionId
from mcp_binance_server.state.engine import Admission, StateEngine


@dataclass(eq=False)
class Places:
    """Places outlive the moment until which they are asked for by `slack_ms`.

    The owner decides when a session is over and gives its place back; the engine frees only what a dead owner left.
    The slack is also how long the engine may be away before a live session loses its place. Whoever reads the engine
    learns no id: an id lets its holder into the session, so what is kept there is its hash.
    """

    engine: StateEngine
    pool: str
    cap: int
    slack_ms: int
    leaving: int = field(default=0, init=False)

    async def take(self, member: ConnectionId, for_ms: float) -> Admission:
        """Ask for a place.

        Raises:
            EngineUnavailable: nobody knows whether there is one, so there is none.
        """
        try:
            return await self.engine.admit(self.pool, _hashed(member), ttl_ms=self._ttl_ms(for_ms), cap=self.cap)
        except anyio.get_cancelled_exc_class():
            # It may have been given before the answer was lost, and nobody is left to use it.
            await self.leave(member)
            raise

    async def keep(self, member: ConnectionId, for_ms: float) -> bool:
        """Hold a place for longer; take one anew when the engine has lost it. False: others have taken them all.

        Raises:
            EngineUnavailable: ask again; the place lasts a while.
        """
        if await self.engine.touch(self.pool, _hashed(member), ttl_ms=self._ttl_ms(for_ms)):
            return True
        return (await self.take(member, for_ms)).admitted

    async def leave(self, *members: ConnectionId) -> None:
        """Give places back; if the engine does not answer, they free by themselves."""
        self.leaving += 1
        try:
            with anyio.CancelScope(shield=True):
                for member in members:
                    await self.engine.leave(self.pool, _hashed(member))
        except EngineUnavailable:
            return
        finally:
            self.leaving -= 1

    def _ttl_ms(self, for_ms: float) -> int:
        return ceil(max(0.0, for_ms)) + self.slack_ms


def _hashed(member: ConnectionId) -> str:
    return sha256(member.encode()).hexdigest()
