"""Live updates of symbols. A reader is woken and takes the newest state when it is ready, without a queue."""

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import anyio
import anyio.lowlevel

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.market import BookSnapshot, MarketView, Origin, Trade
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.feeds.errors import NotStreamed, StreamsFull, symbol_evicted
from mcp_binance_server.feeds.feed import FeedState, SymbolFeed
from mcp_binance_server.services.live.service import LiveService

Kind = Literal["ticker", "book", "trades"]

# Trades of one symbol per turn. Then the other symbols get their turn.
TRADES_A_TURN = 64


@dataclass(frozen=True, slots=True)
class TickerNews:
    """The latest 24-hour ticker, and how often the stream was lost before it."""

    view: MarketView
    lost: int


@dataclass(frozen=True, slots=True)
class BookNews:
    """The best levels of a synchronised book, and the time of its last change."""

    rules: SymbolRules
    book: BookSnapshot
    levels: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class TradeNews:
    """The next trade. `missed` counts earlier trades that this reader does not get."""

    rules: SymbolRules
    trade: Trade
    missed: int


@dataclass(frozen=True, slots=True)
class FeedNews:
    """State of a symbol's feed, and the number of breaks since its stream was opened."""

    rules: SymbolRules
    state: FeedState
    gaps: int
    at_ms: int


News = TickerNews | BookNews | TradeNews | FeedNews


@dataclass(frozen=True, slots=True)
class Wish:
    """Kinds of updates that a reader wants, and the shortest pause between them."""

    kinds: frozenset[Kind]
    book_levels: int
    pause_ms: int = 0


@dataclass(eq=False)
class _Followed:
    """One symbol, and the state of it that this reader saw last."""

    rules: SymbolRules
    feed: SymbolFeed
    live: LiveService
    wish: Wish
    _state: FeedState | None = None
    _book_id: int | None = None
    _ticker_told: tuple[int, int] | None = None
    _trade_id: int | None = None

    def __post_init__(self) -> None:
        newest = self.feed.tape.newest
        self._trade_id = newest.trade_id if newest else None

    def news(self) -> Generator[News]:
        """Yield new events. Each state is read only when the reader takes it."""
        if "ticker" in self.wish.kinds:
            yield from self._ticker()
        if "trades" in self.wish.kinds:
            yield from self._trades()
        yield from self._feed()
        if "book" in self.wish.kinds:
            yield from self._book()

    @property
    def may_have_news(self) -> bool:
        """Whether to wake the reader. Most events concern the book and the tape, and not every reader wants them."""
        if "book" in self.wish.kinds or "trades" in self.wish.kinds:
            return True
        return self._has_new_ticker or self._shown_state() != self._state

    @property
    def has_more(self) -> bool:
        """Whether trades remain after a turn."""
        newest = self.feed.tape.newest
        return "trades" in self.wish.kinds and newest is not None and newest.trade_id != self._trade_id

    def _feed(self) -> Generator[News]:
        while (state := self._shown_state()) != self._state:
            self._state = state
            counts = self.feed.counts
            yield FeedNews(self.rules, state, counts.gaps + counts.lost, self.live.time.now_ms())

    def _shown_state(self) -> FeedState:
        return "syncing" if self.feed.state == "live" and not self.feed.is_live else self.feed.state

    @property
    def _has_new_ticker(self) -> bool:
        ticker = self.feed.ticker
        return ticker is not None and (self.feed.counts.lost, ticker.close_time_ms) != self._ticker_told

    def _ticker(self) -> Generator[News]:
        ticker = self.feed.ticker
        if ticker is not None and self._has_new_ticker:
            lost = self.feed.counts.lost
            self._ticker_told = lost, ticker.close_time_ms
            network, age_ms = self.live.network, max(0, self.live.time.now_ms() - ticker.close_time_ms)
            origin: Origin = "simulated_stream" if network.simulated else "streamed"
            host = host_of(network.stream_url or network.rest_url)
            yield TickerNews(MarketView(ticker, self.rules, host, origin, age_ms), lost)

    def _trades(self) -> Generator[News]:
        last = self._trade_id
        for trade in self.feed.tape.after(-1 if last is None else last, TRADES_A_TURN):
            missed = 0 if last is None else trade.trade_id - last - 1
            self._trade_id = last = trade.trade_id
            yield TradeNews(self.rules, trade, missed)

    def _book(self) -> Generator[News]:
        feed = self.feed
        if feed.is_live and feed.book.last_update_id != self._book_id:
            self._book_id = feed.book.last_update_id
            levels = self.wish.book_levels
            yield BookNews(self.rules, feed.book.top(levels), levels, feed.book_ms)


@dataclass(eq=False)
class Following:
    """The symbols that one reader follows. It collects the symbols with news and waits for more."""

    clock: Clock
    pause_ms: int
    most: int
    _due: dict[_Followed, None] = field(default_factory=dict[_Followed, None])
    _woken: anyio.Event = field(default_factory=anyio.Event)
    _closed: anyio.Event = field(default_factory=anyio.Event)

    def hear(self, followed: _Followed) -> None:
        """Handle an event of a symbol. Wake the reader if the event may be news."""
        if followed.feed.state == "closed":
            self._closed.set()
        if followed not in self._due and followed.may_have_news:
            self.touch(followed)

    def touch(self, followed: _Followed) -> None:
        self._due[followed] = None
        self._woken.set()

    def news(self) -> Generator[News]:
        """Yield the news of each symbol. A slow reader gets fewer updates, but always the newest.

        Raises:
            StreamsFull: the place of a symbol was given to another party.
        """
        due, self._due = self._due, {}
        for followed in due:
            if followed.feed.state == "closed":
                raise symbol_evicted(followed.rules.symbol, self.most)
            yield from followed.news()
            if followed.has_more:
                self.touch(followed)

    async def wait(self) -> None:
        """Wait until there may be news, and at least for the requested pause."""
        await (self._pause() if self.pause_ms else anyio.lowlevel.checkpoint())
        if not self._due:
            self._woken = anyio.Event()
            await self._woken.wait()

    async def _pause(self) -> None:
        """Sleep for the pause, or until a followed feed closes."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._wake_at_the_end, tasks.cancel_scope)
            await self.clock.sleep_ms(self.pause_ms)
            tasks.cancel_scope.cancel()

    async def _wake_at_the_end(self, sleeper: anyio.CancelScope) -> None:
        await self._closed.wait()
        sleeper.cancel()


@asynccontextmanager
async def following(live: LiveService, texts: Iterable[str], wish: Wish) -> AsyncGenerator[Following]:
    """Follow symbols in the caller's spelling until the block ends.

    Raises:
        InvalidSymbol: a symbol does not exist.
        NotStreamed: a symbol has no live market.
        StreamsFull: there is no free place for a symbol.
    """
    found = [await live.market.rules(text) for text in texts]
    with following_known(live, found, wish) as reader:
        yield reader


@contextmanager
def following_known(live: LiveService, found: Iterable[SymbolRules], wish: Wish) -> Generator[Following]:
    """Follow symbols whose rules are already known.

    Raises:
        NotStreamed: a symbol has no live market.
        StreamsFull: there is no free place for a symbol.
    """
    reader = Following(live.client.caller.clock, wish.pause_ms, live.hub.most if live.hub else 0)
    with ExitStack() as held:
        for rules in {each.symbol: each for each in found}.values():
            held.enter_context(_followed(live, rules, wish, reader))
        yield reader


@contextmanager
def _followed(live: LiveService, rules: SymbolRules, wish: Wish, reader: Following) -> Generator[None]:
    if live.hub is None:
        raise NotStreamed(symbol=rules.symbol, reason="this server opens no market streams")
    if not rules.is_trading:
        raise NotStreamed(symbol=rules.symbol, reason=f"it does not trade now ({rules.status})")
    followed: list[_Followed] = []
    with live.hub.following(rules.symbol, lambda: reader.hear(followed[0])) as feed:
        if feed is None:
            raise StreamsFull(what="Too many symbols are streamed already", most=live.hub.most)
        feed.minutes.measure_in(PriceGrid.of(rules))
        followed.append(_Followed(rules, feed, live, wish))
        reader.touch(followed[0])
        yield
