"""Pages that say when they change: a symbol is followed once for all who wait for its page, while anybody does."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LentPlaces, Release
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.feeds.errors import NotStreamed, StreamsFull, page_given_away
from mcp_binance_server.feeds.hub import Tell
from mcp_binance_server.services.live import LiveService

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from mcp_binance_server.services.page_watch import End, PageWatch

MOST_STREAMS = 200
# By all clients together; each may be told of once a second.
MOST_PAGES = 2_000


class UpdateService:
    """Who waits for which page. Nothing runs, and nothing is streamed, before the first of them."""

    def __init__(self, live: LiveService) -> None:
        self.live = live
        self._pages: dict[tuple[Symbol, str], PageWatch] = {}
        self._watched = LentPlaces(MOST_PAGES)
        self._closers: dict[object, Tell] = {}
        self.places = LentPlaces(MOST_STREAMS)
        self._tasks: TaskGroup | None = None

    @property
    def is_on(self) -> bool:
        """Whether there are live markets at all."""
        return self.live.hub is not None

    @property
    def streams(self) -> int:
        """How many streams of their own clients have open."""
        return len(self._closers)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["UpdateService"]:
        """Be ready to follow; at the end nobody waits any more."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                for page in self._pages.values():
                    page.stop()
                self._pages.clear()
                tasks.cancel_scope.cancel()

    def watch(self, rules: SymbolRules, tell: Tell, end: "End") -> Release:
        """Tell whenever the symbol's page has changed, at most once a second, until released.

        `end` is called when that is over because another party needs the place more: it says why.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: as many symbols are streamed, or pages watched, as may be.
        """
        from mcp_binance_server.services.page_watch import Waiter  # noqa: PLC0415 - few clients ever subscribe

        party = PARTY.get()
        give_back = self._watched.take(party, partial(end, page_given_away(self._watched.most)))
        if give_back is None:
            raise StreamsFull(what="Too many pages are watched", most=self._watched.most)
        try:
            # Each party has a watch of its own, so that the hub knows whose symbol it is.
            page = self._pages.get((rules.symbol, party)) or self._open(rules, party)
        except AppError:
            give_back()
            raise
        key = object()
        page.waiting[key] = Waiter(tell, end)

        def release() -> None:
            give_back()
            if page.waiting.pop(key, None) is not None and not page.waiting:
                self._close((rules.symbol, party), page)

        return release

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run what carries news to somebody; it ends with the server, or when they have left."""
        if self._tasks is not None:
            self._tasks.start_soon(work)

    @contextmanager
    def streaming(self, close: Tell, end: Tell) -> Generator[None]:
        """Hold a place for a stream of a client's own; it is closed when the server winds down.

        It is ended at once when the party at hand has the most of them and another needs its place.

        Raises:
            StreamsFull: there is no place, and nobody has too many.
        """
        release = self.places.take(PARTY.get(), end)
        if release is None:
            raise StreamsFull(what="Too many streams are open", most=self.places.most)
        key = object()
        self._closers[key] = close
        try:
            yield
        finally:
            release()
            del self._closers[key]

    def wind_down(self) -> None:
        """Close every stream: none has an end of its own that could be waited for."""
        for close in tuple(self._closers.values()):
            close()

    def _open(self, rules: SymbolRules, party: str) -> "PageWatch":
        if self._tasks is None:
            raise NotStreamed(symbol=rules.symbol, reason="this server is stopping")
        from mcp_binance_server.services.page_watch import PageWatch  # noqa: PLC0415 - few clients ever subscribe

        page = self._pages[rules.symbol, party] = PageWatch.of(self.live, rules)
        self._tasks.start_soon(self._carry, (rules.symbol, party), page)
        return page

    def _close(self, key: tuple[Symbol, str], page: "PageWatch") -> None:
        if self._pages.get(key) is page:
            del self._pages[key]
        page.stop()

    async def _carry(self, key: tuple[Symbol, str], page: "PageWatch") -> None:
        given_away = await page.run()
        if given_away is not None:
            self._close(key, page)
            for waiter in tuple(page.waiting.values()):
                waiter.end(given_away)
