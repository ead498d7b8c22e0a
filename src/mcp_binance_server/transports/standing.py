"""Whether callers may still be here: a token that is withdrawn ends what it holds open, not only what it asks next."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel

from mcp_binance_server.clock import Clock

LOG = logging.getLogger(__name__)

LOOK_MS = 250.0
# So many callers are asked about before anybody else has a turn.
AT_A_TIME = 16

IsGood = Callable[[], Awaitable[bool]]
"""Asks about one caller again; that nobody can tell at the moment is no reason to end anything."""


class Stay:
    """What one caller holds open; it ends when the caller's token does."""

    def __init__(self, is_good: IsGood) -> None:
        self.is_good = is_good
        self.scope = anyio.CancelScope()

    @property
    def was_ended(self) -> bool:
        return self.scope.cancelled_caught


class Standing:
    """Asks about everybody who is inside, each time that some token may have ceased to be good."""

    def __init__(self, edition: Callable[[], object], clock: Clock) -> None:
        self._edition = edition
        self._clock = clock
        self._inside: set[Stay] = set()

    @property
    def count(self) -> int:
        """How many are inside."""
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
    def watching(self, is_good: IsGood) -> Generator[Stay]:
        """Cancel what is done in here as soon as its caller is not good any more."""
        stay = Stay(is_good)
        self._inside.add(stay)
        try:
            with stay.scope:
                yield stay
        finally:
            self._inside.discard(stay)

    def let_go(self, stay: Stay) -> None:
        """Watch it no longer: it ends by itself."""
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
                LOG.exception("a caller could not be asked about again")
                continue
            if not is_good and stay in self._inside:
                LOG.info("ended what a withdrawn token held open")
                stay.scope.cancel()
            if number % AT_A_TIME == 0:
                await anyio.lowlevel.checkpoint()
