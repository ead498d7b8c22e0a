"""A lock that parties get in round-robin order. A busy party delays its own work, not the work of other parties."""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from mcp_binance_server.domain.access import PARTY


class PartyRound:
    """A lock that waiting parties get in round-robin order, for frequent work of milliseconds."""

    def __init__(self) -> None:
        self._is_busy = False
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for the current party's turn, and hold it while the context is open."""
        if self._is_busy:
            await self._wait()
        self._is_busy = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self) -> None:
        party, mine = PARTY.get(), anyio.Event()
        queue = self._waiting.setdefault(party, deque())
        queue.append(mine)
        try:
            await mine.wait()
        except BaseException:
            if mine.is_set():  # the turn was given but is not used
                self._pass_on()
            else:
                queue.remove(mine)
                if not queue:
                    del self._waiting[party]
            raise

    def _pass_on(self) -> None:
        self._is_busy = bool(self._waiting)
        if self._waiting:
            party = next(iter(self._waiting))
            queue = self._waiting.pop(party)
            queue.popleft().set()
            if queue:
                self._waiting[party] = queue  # behind the others
