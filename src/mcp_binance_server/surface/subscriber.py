"""One connection's subscriptions: which pages, and a letter for each that has changed until it is sent."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.feeds.errors import StreamsFull
from mcp_binance_server.services.live.updates import Release, UpdateService

LOG = logging.getLogger(__name__)

MOST_PAGES = 50


def too_many_pages() -> StreamsFull:
    return StreamsFull(what="Too many pages for one client", most=MOST_PAGES)


class Subscriber:
    """A client that subscribed; however slow it reads, a page waits for it at most once."""

    def __init__(self, updates: UpdateService, send: Callable[[str], Awaitable[None]]) -> None:
        self._updates = updates
        self._send = send
        self._held: dict[str, Release] = {}
        self._changed: dict[str, None] = {}
        self._woken = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def add(self, uri: str, rules: SymbolRules) -> None:
        """Watch a page under the address it was asked for by.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: this client, or the server, watches as much as it may.
        """
        if uri in self._held:
            return
        if len(self._held) >= MOST_PAGES:
            raise too_many_pages()
        self._held[uri] = self._updates.watch(rules, partial(self._note, uri), partial(self._lose, uri))
        if self._scope is None:
            self._scope = anyio.CancelScope()
            self._updates.start(partial(self._carry, self._scope))

    def remove(self, uri: str) -> None:
        """Stop watching a page; one that was not watched stays so."""
        if (release := self._held.pop(uri, None)) is not None:
            release()
        self._changed.pop(uri, None)
        if not self._held and self._scope is not None:
            self._scope.cancel()
            self._scope = None

    def close(self) -> None:
        for uri in tuple(self._held):
            self.remove(uri)

    def _note(self, uri: str) -> None:
        self._changed[uri] = None
        self._woken.set()

    def _lose(self, uri: str, reason: AppError) -> None:
        """Tell of a page once more and never again: who reads it then sees what it has become."""
        LOG.info("a subscription ends: %s", reason.message)
        if (release := self._held.pop(uri, None)) is not None:
            release()
            self._note(uri)

    async def _carry(self, scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                while self._changed:
                    uri = next(iter(self._changed))
                    del self._changed[uri]
                    try:
                        await self._send(uri)
                    except OSError:  # a pipe that nobody reads any more
                        self.close()
                    except Exception:  # whatever else this client's connection does is this client's alone
                        LOG.exception("a client's subscriptions end: it could not be told")
                        self.close()
                if not self._held:
                    self._scope = None
                    return
                self._woken = anyio.Event()
                await self._woken.wait()
