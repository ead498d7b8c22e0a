"""A dispatcher that is made when it is first needed: once, however many wait for it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:  # the point is that it is not loaded yet
    from mcp_binance_server.surface.dispatch import Dispatcher


class Opening:
    """The two sides of a promise: who needs the dispatcher waits for it, who makes it waits until it is needed."""

    def __init__(self) -> None:
        self._dispatcher: Dispatcher | None = None
        self._failure: Exception | None = None
        self._needed, self._decided, self._over = anyio.Event(), anyio.Event(), anyio.Event()
        self._lists_needed, self._listed = anyio.Event(), anyio.Event()

    def begin(self) -> None:
        """Say that it will be needed soon."""
        self._needed.set()

    async def opened(self) -> "Dispatcher":
        """Return it as soon as it is there, or raise what made it impossible."""
        while self._dispatcher is None:
            self.begin()
            await self._decided.wait()
            if self._failure is not None:
                raise self._failure
        return self._dispatcher

    async def listed(self) -> "Dispatcher":
        """Return it as soon as its lists are made too: no other answer needs to wait for them."""
        self._lists_needed.set()
        await self.opened()
        await self._listed.wait()
        return await self.opened()

    def end(self) -> None:
        """Say that nobody will need it any more."""
        self._over.set()
        self._needed.set()
        self._lists_needed.set()

    async def is_needed(self) -> bool:
        """Wait until it is; return false if all is over before that."""
        await self._needed.wait()
        return not self._over.is_set()

    async def keep(self, dispatcher: "Dispatcher", make_lists: Callable[[], Awaitable[None]]) -> None:
        """Give it to all who need it until that is over; its lists are made when one is asked for."""
        self._dispatcher = dispatcher
        self._decided.set()
        await self._lists_needed.wait()
        await make_lists()
        self._listed.set()
        await self._over.wait()

    async def refuse(self, failure: Exception) -> None:
        """Tell all who need it why there is none, until that is over."""
        self._dispatcher, self._failure = None, failure
        self._decided.set()
        self._listed.set()
        await self._over.wait()
