"""Subscriptions to pages, and detection of page changes."""

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
from mcp_binance_server.feeds.errors import NotStreamed, StreamsFull, page_evicted
from mcp_binance_server.feeds.feed import FeedState
from mcp_binance_server.feeds.hub import CRASH_PAUSE_MS, Tell
from mcp_binance_server.services.live.following import FeedNews, Following, TickerNews, Wish, following_known
from mcp_binance_server.services.live.service import LiveService

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


LOG = logging.getLogger(__name__)

# Shortest interval between two notifications of a page, in ms.
PAUSE_MS = 1_000
_TICKER = Wish(frozenset({"ticker"}), book_levels=0)
Shown = tuple[Decimal | int, ...]
End = Callable[[AppError], None]
"""Callback with the reason for the end of notifications; called once, brief, and it never raises."""

MOST_STREAMS = 200
# Limit over all clients. Each page can cause one notification per second.
MOST_PAGES = 2_000


def shown(ticker: Ticker) -> Shown:
    """Return the fields of a ticker that the page shows.

    Times are omitted, because a moved 24-hour window is not a change.
    """
    return (
        ticker.last_price, ticker.change, ticker.change_percent, ticker.high, ticker.low, ticker.volume,
        ticker.quote_volume, ticker.weighted_average, ticker.trade_count,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waiter:
    """A subscriber of a page, with callbacks for a change and for the end of notifications."""

    tell: Tell
    end: End


class PageNews(Protocol):
    """Source of changes of one page. It is open while the page has subscribers."""

    @property
    def clock(self) -> Clock: ...

    def has_changed(self) -> bool:
        """Return True if the page differs from the last report. A change is reported once.

        Raises:
            StreamsFull: another party took the place of the source.
        """
        ...

    async def wait(self) -> None:
        """Wait until there may be news."""
        ...

    def close(self) -> None: ...


class ObservablePage(Protocol):
    """A page that reports its changes. Pages with equal keys change together."""

    @property
    def key(self) -> str: ...

    def open(self) -> PageNews:
        """Open the source of changes.

        Raises:
            NotStreamed: the page has no live market.
            StreamsFull: there is no free place for it.
        """
        ...


@dataclass(frozen=True, slots=True)
class MarketPage:
    """The page of one symbol. It changes with the symbol's ticker."""

    live: LiveService
    rules: SymbolRules

    @property
    def key(self) -> str:
        return self.rules.symbol

    def open(self) -> PageNews:
        return MarketNews.of(self.live, self.rules)


@dataclass(eq=False)
class MarketNews:
    """The newest state of a symbol's page, and the last reported state."""

    reader: Following
    held: ExitStack
    _state: FeedState | None = None
    _newest: tuple[int, Shown] | None = None
    _told: tuple[int, Shown] | None = None

    @classmethod
    def of(cls, live: LiveService, rules: SymbolRules) -> "MarketNews":
        """Start to follow a symbol.

        Raises:
            NotStreamed: the symbol has no live market.
            StreamsFull: the limit of streamed symbols is reached.
        """
        held = ExitStack()
        news = cls(held.enter_context(following_known(live, (rules,), _TICKER)), held)
        news.has_changed()  # discards the current state, which a new subscriber can read
        return news

    @property
    def clock(self) -> Clock:
        return self.reader.clock

    def has_changed(self) -> bool:
        """Return True if the page differs from the last report. A change is reported once.

        A lost stream is a change.
        """
        for news in self.reader.news():
            if isinstance(news, TickerNews):
                self._newest = news.lost, shown(news.view.ticker)
            elif isinstance(news, FeedNews):
                self._state = news.state
        # Until the book is synchronised, the page is read from the exchange. It could be older than its notification.
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
    """The subscribers of one party to a page."""

    news: PageNews
    waiting: dict[object, Waiter] = field(default_factory=dict[object, Waiter])
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def run(self) -> StreamsFull | None:
        """Notify subscribers until stopped. Return the error if another party took the symbol's place."""
        with self.scope:
            while True:
                try:
                    if self.news.has_changed():
                        self._tell_all()
                        await self.news.clock.sleep_ms(PAUSE_MS)
                except StreamsFull as stream_evicted:
                    return stream_evicted
                except Exception:  # an error of one page must not end the others
                    LOG.exception("notifications of a page failed")
                    await self.news.clock.sleep_ms(CRASH_PAUSE_MS)
                await self.news.wait()
        return None

    def _tell_all(self) -> None:
        for key, waiter in tuple(self.waiting.items()):
            try:
                waiter.tell()
            except Exception:  # an error of one subscriber must not affect the others
                LOG.exception("notification of a subscriber failed")
                self.waiting.pop(key, None)

    def stop(self) -> None:
        self.scope.cancel()
        self.news.close()


class UpdateService:
    """Subscriptions to pages. Nothing runs, and nothing is streamed, before the first subscription."""

    def __init__(self, live: LiveService) -> None:
        self.live = live
        self._pages: dict[tuple[str, str], PageWatch] = {}
        self._watched = LentPlaces(MOST_PAGES)
        self._closers: dict[object, Tell] = {}
        self.places = LentPlaces(MOST_STREAMS)
        self._tasks: TaskGroup | None = None

    @property
    def is_on(self) -> bool:
        """Whether this server streams live markets."""
        return self.live.hub is not None

    @property
    def streams(self) -> int:
        """Number of streams that clients have open for themselves."""
        return len(self._closers)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["UpdateService"]:
        """Accept subscriptions while the context is open. Then close all of them."""
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

    def watch(self, page: ObservablePage, tell: Tell, end: "End") -> Release:
        """Notify the caller after each change of the page, at most once a second, until released.

        `end` is called with the reason if another party needs the place more.

        Raises:
            NotStreamed: the page has no live market.
            StreamsFull: the limit of streamed symbols or watched pages is reached.
        """
        party = PARTY.get()
        give_back = self._watched.take(party, partial(end, page_evicted(self._watched.most)))
        if give_back is None:
            raise StreamsFull(what="Too many pages are watched", most=self._watched.most)
        try:
            # Each party has its own watch, so that the hub can attribute the symbol to a party.
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
        """Run a delivery task. It ends with the server, or when its client leaves."""
        if self._tasks is not None:
            self._tasks.start_soon(work)

    @contextmanager
    def streaming(self, close: Tell, end: Tell) -> Generator[None]:
        """Hold a place for a client's own stream. `close` is called when the server shuts down.

        `end` is called as soon as another party needs a place and the current party holds the most places.

        Raises:
            StreamsFull: all places are taken, and no party holds too many.
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
        """Close every stream, because a stream never ends by itself."""
        for close in tuple(self._closers.values()):
            close()

    def _open(self, page: ObservablePage, party: str) -> PageWatch:
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
        stream_evicted = await watch.run()
        if stream_evicted is not None:
            self._close(key, watch)
            for waiter in tuple(watch.waiting.values()):
                waiter.end(stream_evicted)
