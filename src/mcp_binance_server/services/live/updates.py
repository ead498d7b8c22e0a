"""Who watches which page, and when it has changed."""

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LentPlaces, Release
from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.feeds.errors import NotStreamed, StreamsFull, page_given_away
from mcp_binance_server.feeds.feed import FeedState
from mcp_binance_server.feeds.hub import CRASH_PAUSE_MS, Tell
from mcp_binance_server.services.live.following import FeedNews, Following, TickerNews, Wish, following_known
from mcp_binance_server.services.live.service import LiveService

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


LOG = logging.getLogger(__name__)

# A page is told to have changed at most so often.
PAUSE_MS = 1_000
_TICKER = Wish(frozenset({"ticker"}), book_levels=0)
Shown = tuple[Decimal | int, ...]
End = Callable[[AppError], None]
"""Told, once, why a page is not told of any more; brief, and it never raises."""

MOST_STREAMS = 200
# By all clients together; each may be told of once a second.
MOST_PAGES = 2_000


def shown(ticker: Ticker) -> Shown:
    """Return what the page says of a ticker but the time: that the window of 24 hours has moved on is no news."""
    return (
        ticker.last_price, ticker.change, ticker.change_percent, ticker.high, ticker.low, ticker.volume,
        ticker.quote_volume, ticker.weighted_average, ticker.trade_count,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waiter:
    """Somebody who waits for a page: how to tell that it has changed, and that they will not be told again."""

    tell: Tell
    end: End


@dataclass(eq=False)
class PageWatch:
    """Who of one party waits for a page, and what of it they have been told."""

    reader: Following
    held: ExitStack
    waiting: dict[object, Waiter] = field(default_factory=dict[object, Waiter])
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _state: FeedState | None = None
    _newest: tuple[int, Shown] | None = None
    _told: tuple[int, Shown] | None = None

    @classmethod
    def of(cls, live: LiveService, rules: SymbolRules) -> "PageWatch":
        """Begin to follow a symbol.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: as many symbols are streamed as may be.
        """
        held = ExitStack()
        watch = cls(held.enter_context(following_known(live, (rules,), _TICKER)), held)
        watch.has_changed()  # what is known by now, whoever subscribes can read
        return watch

    def has_changed(self) -> bool:
        """Tell, once, whether the page differs from what was told last; after a lost stream it may have, so it has."""
        for news in self.reader.news():
            if isinstance(news, TickerNews):
                self._newest = news.lost, shown(news.view.ticker)
            elif isinstance(news, FeedNews):
                self._state = news.state
        # Until the book is in step a page is asked for, and could be older than the news of it.
        if self._state != "live" or self._newest == self._told:
            return False
        self._told = self._newest
        return True

    async def run(self) -> StreamsFull | None:
        """Tell everybody who waits, until stopped; return why, if another party needed the symbol's place."""
        with self.scope:
            while True:
                try:
                    if self.has_changed():
                        self._tell_all()
                        await self.reader.clock.sleep_ms(PAUSE_MS)
                except StreamsFull as given_away:
                    return given_away
                except Exception:  # a page that cannot be told of must not end the others
                    LOG.exception("a page's news could not be told")
                    await self.reader.clock.sleep_ms(CRASH_PAUSE_MS)
                await self.reader.wait()
        return None

    def _tell_all(self) -> None:
        for key, waiter in tuple(self.waiting.items()):
            try:
                waiter.tell()
            except Exception:  # nor one who waits the others who wait
                LOG.exception("somebody who waited for a page could not be told")
                self.waiting.pop(key, None)

    def stop(self) -> None:
        self.scope.cancel()
        self.held.close()


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
