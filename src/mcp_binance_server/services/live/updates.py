"""Who watches which page, and when it has changed."""

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LentPlaces, Release
from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.symbols import SymbolRules
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


class PageNews(Protocol):
    """What one page is known to have changed by, for as long as somebody waits for that."""

    @property
    def clock(self) -> Clock: ...

    def has_changed(self) -> bool:
        """Tell, once, whether the page differs from what was told last.

        Raises:
            StreamsFull: another party needs what it is known by.
        """
        ...

    async def wait(self) -> None:
        """Wait until there may be news."""
        ...

    def close(self) -> None: ...


class ToldPage(Protocol):
    """A page that tells when it changes; equal keys are pages that change together."""

    @property
    def key(self) -> str: ...

    def open(self) -> PageNews:
        """Begin to look for news of it.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: there is no room for it.
        """
        ...


@dataclass(frozen=True, slots=True)
class MarketPage:
    """The page of one symbol, which changes with its ticker."""

    live: LiveService
    rules: SymbolRules

    @property
    def key(self) -> str:
        return self.rules.symbol

    def open(self) -> PageNews:
        return MarketNews.of(self.live, self.rules)


@dataclass(eq=False)
class MarketNews:
    """What is known of a symbol's page, and what of that was told."""

    reader: Following
    held: ExitStack
    _state: FeedState | None = None
    _newest: tuple[int, Shown] | None = None
    _told: tuple[int, Shown] | None = None

    @classmethod
    def of(cls, live: LiveService, rules: SymbolRules) -> "MarketNews":
        """Begin to follow a symbol.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: as many symbols are streamed as may be.
        """
        held = ExitStack()
        news = cls(held.enter_context(following_known(live, (rules,), _TICKER)), held)
        news.has_changed()  # what is known by now, whoever subscribes can read
        return news

    @property
    def clock(self) -> Clock:
        return self.reader.clock

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

    async def wait(self) -> None:
        await self.reader.wait()

    def close(self) -> None:
        self.held.close()


@dataclass(eq=False)
class PageWatch:
    """Who of one party waits for a page."""

    news: PageNews
    waiting: dict[object, Waiter] = field(default_factory=dict[object, Waiter])
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def run(self) -> StreamsFull | None:
        """Tell everybody who waits, until stopped; return why, if another party needed the symbol's place."""
        with self.scope:
            while True:
                try:
                    if self.news.has_changed():
                        self._tell_all()
                        await self.news.clock.sleep_ms(PAUSE_MS)
                except StreamsFull as given_away:
                    return given_away
                except Exception:  # a page that cannot be told of must not end the others
                    LOG.exception("a page's news could not be told")
                    await self.news.clock.sleep_ms(CRASH_PAUSE_MS)
                await self.news.wait()
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
        self.news.close()


class UpdateService:
    """Who waits for which page. Nothing runs, and nothing is streamed, before the first of them."""

    def __init__(self, live: LiveService) -> None:
        self.live = live
        self._pages: dict[tuple[str, str], PageWatch] = {}
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

    def market_page(self, rules: SymbolRules) -> MarketPage:
        """Return the page of a symbol."""
        return MarketPage(self.live, rules)

    def watch(self, page: ToldPage, tell: Tell, end: "End") -> Release:
        """Tell whenever the page has changed, at most once a second, until released.

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
            watch = self._pages.get((page.key, party)) or self._open(page, party)
        except AppError:
            give_back()
            raise
        key = object()
        watch.waiting[key] = Waiter(tell, end)

        def release() -> None:
            give_back()
            if watch.waiting.pop(key, None) is not None and not watch.waiting:
                self._close((page.key, party), watch)

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

    def _open(self, page: ToldPage, party: str) -> PageWatch:
        if self._tasks is None:
            raise NotStreamed(symbol=page.key, reason="this server is stopping")
        watch = self._pages[page.key, party] = PageWatch(page.open())
        self._tasks.start_soon(self._carry, (page.key, party), watch)
        return watch

    def _close(self, key: tuple[str, str], watch: PageWatch) -> None:
        if self._pages.get(key) is watch:
            del self._pages[key]
        watch.stop()

    async def _carry(self, key: tuple[str, str], watch: PageWatch) -> None:
        given_away = await watch.run()
        if given_away is not None:
            self._close(key, watch)
            for waiter in tuple(watch.waiting.values()):
                waiter.end(given_away)
