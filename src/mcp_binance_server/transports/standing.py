"""Revocation of tokens. The open streams of a revoked token end."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel

from mcp_binance_server.clock import Clock

LOG = logging.getLogger(__name__)

LOOK_MS = 250.0
# Number of callers that are checked before other tasks get a turn.
AT_A_TIME = 16

IsGood = Callable[[], Awaitable[bool]]
"""Checks one caller again. Returns True if the token cannot be checked at the moment."""


class RevocableScope:
    """Open work of one caller, cancelled when the caller's token is revoked."""

    def __init__(self, is_good: IsGood) -> None:
        self.is_good = is_good
        self.scope = anyio.CancelScope()

    @property
    def was_ended(self) -> bool:
        return self.scope.cancelled_caught


class TokenRevocation:
    """Open work of all callers. Tokens are checked again whenever one may have become invalid."""

    def __init__(self, edition: Callable[[], object], clock: Clock) -> None:
        self._edition = edition
        self._clock = clock
        self._inside: set[RevocableScope] = set()

    @property
    def count(self) -> int:
        """Number of watched blocks."""
        return len(self._inside)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    @contextmanager
    def watching(self, is_good: IsGood) -> Generator[RevocableScope]:
        """Cancel the block when its caller's token becomes invalid."""
        stay = RevocableScope(is_good)
        self._inside.add(stay)
        try:
            with stay.scope:
                yield stay
        finally:
            self._inside.discard(stay)

    def let_go(self, stay: RevocableScope) -> None:
        """Stop watching work that will soon end on its own."""
        self._inside.discard(stay)

    async def _watch(self) -> None:
        known = self._edition()
        while True:
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + LOOK_MS)
            if (newest := self._edition()) != known:
                known = newest
                await self._look_at_all()

    async def _look_at_all(self) -> None:
        for number, stay in enumerate([*self._inside], 1):
            try:
                is_good = await stay.is_good()
            except Exception:
                LOG.exception("the check of an open call's token failed")
                continue
            if not is_good and stay in self._inside:
                LOG.info("ended an open call of a revoked token")
                stay.scope.cancel()
            if number % AT_A_TIME == 0:
                await anyio.lowlevel.checkpoint()
