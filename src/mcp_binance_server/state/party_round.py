"""One at a time, party by party: who has much to do waits behind their own, not others behind them."""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from mcp_binance_server.domain.access import PARTY


class PartyRound:
    """Gives one turn after another; the parties that wait go round. For work of milliseconds, asked for many times."""

    def __init__(self) -> None:
        self._is_busy = False
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait until it is the turn of the party at hand, and have it for the block."""
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
            if mine.is_set():  # it was given, and is not taken
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
