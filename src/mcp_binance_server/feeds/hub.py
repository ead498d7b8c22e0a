"""Watched symbols. All readers of a symbol share one stream, which opens on first use and closes when idle."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import anyio
import anyio.abc
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY, acting_for
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.dialing import Dialer, Pacer
from mcp_binance_server.exchange.spot.streams import Listener, MarketSocket, SocketCounts
from mcp_binance_server.feeds.book import Joined
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from mcp_binance_server.feeds.past_keeper import ScorePersistence
from mcp_binance_server.feeds.readers import Need, Readers, Replacing, to_stop
from mcp_binance_server.feeds.routes import ClockDoubt, ExchangeClock, Route, Routes
from mcp_binance_server.feeds.snapshots import Fetch, Snapshots, Troubles

LOG = logging.getLogger(__name__)

BOOKS_A_SOCKET = 50
# An open stream that is silent for this long belongs to a quiet symbol. Its book is synced without an event.
QUIET_MS = 2_000
CRASH_PAUSE_MS = 5_000
# Minimum pauses between reads of the exchange's clock. The second one applies if events have refuted the estimate.
DOUBT_MS, REFUTED_EVERY_MS = 60_000.0, 5_000.0

Tell = Callable[[], None]
"""Callback for possibly new data of a symbol; brief, and it never raises."""

LearnTime = Callable[[ClockDoubt], Awaitable[None]]
"""Callback that reads the exchange's clock if the estimate is rough or refuted."""


class Source(Protocol):
    """Source of a hub's events: a socket to the exchange, or the events of another process."""

    names: set[str]
    counts: SocketCounts

    @property
    def is_open(self) -> bool: ...

    def subscribe(self, names: tuple[str, ...]) -> None: ...

    def unsubscribe(self, names: tuple[str, ...]) -> None: ...

    async def run(self) -> None: ...


@dataclass(eq=False)
class _Watched:
    """A feed with its socket and readers."""

    feed: SymbolFeed
    socket: Source
    names: tuple[str, ...]
    readers: Readers = field(default_factory=Readers)
    live: anyio.Event = field(default_factory=anyio.Event)
    followers: list[Tell] = field(default_factory=list[Tell])

    def tell(self, troubles: Troubles) -> None:
        for follower in self.followers:
            try:
                follower()
            except Exception as error:  # noqa: BLE001 - an error in one reader must not affect the others
                troubles.failed(self.feed.symbol, error)


@dataclass(eq=False)
class _SharedSocket:
    socket: Source
    scope: anyio.CancelScope
    symbols: set[Symbol] = field(default_factory=set[Symbol])


@dataclass(frozen=True, slots=True)
class WatchedSymbol:
    """A feed in the health report."""

    feed: SymbolFeed
    readers: int


@dataclass(eq=False, kw_only=True)
class Hub:
    """Live market of one process. Nothing runs before the first reader.

    At most `most` symbols are watched. At the limit, a symbol without readers is evicted. If every symbol has readers,
    the hub evicts a symbol whose readers all hold more symbols than the new party.
    """

    url: str
    dialer: Dialer
    fetch: Fetch
    time: ExchangeClock
    clock: Clock
    most: int
    linger_ms: int
    source: Callable[["Hub"], Source] | None = field(default=None, repr=False)
    learn_time: LearnTime | None = field(default=None, repr=False)
    keeper: ScorePersistence | None = field(default=None, repr=False)
    random: Random = field(default_factory=Random, repr=False)
    _watched: dict[Symbol, _Watched] = field(default_factory=dict[Symbol, _Watched], repr=False)
    _routes: dict[str, tuple[Route, _Watched]] = field(default_factory=dict[str, tuple[Route, _Watched]], repr=False)
    _shared: list[_SharedSocket] = field(default_factory=list[_SharedSocket], repr=False)
    _tasks: anyio.abc.TaskGroup | None = field(default=None, repr=False)
    _is_sweeping: bool = field(default=False, repr=False)
    _time_doubted_ms: float = field(default=-DOUBT_MS, repr=False)
    _is_refuted: bool = field(default=False, repr=False)
    _is_learning: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.pacer = Pacer(self.clock, self.random)
        """Counter of this process's connection attempts, for all its connections to the exchange."""
        self._room = FeedMemoryLimit.shared_by(self.most)
        self._replacing = Replacing()
        self.troubles = Troubles(self.clock, self.random)
        self._snapshots = Snapshots(
            self.fetch, self.time, self.clock, self.joined, self.troubles, self.random, self._wanted_by
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Hub"]:
        """Watch symbols inside the block. Close every stream at its end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                for symbol in tuple(self._watched):
                    self._stop(symbol)
                tasks.cancel_scope.cancel()

    @contextmanager
    def reading(self, symbol: Symbol, *, needs: Need = "events") -> Generator[SymbolFeed | None]:
        """Open a symbol's feed, or share the open one. Yield None if the limit of symbols is reached.

        A feed that closes during the block was evicted for another party. While no reader needs events, the feed can
        show the book of another process.
        """
        party = PARTY.get()
        watched = self._watched.get(symbol) or self._start(symbol, party)
        if watched is None:
            yield None
            return
        if watched.readers.enter(party, needs):
            watched.feed.begin_events()
        self._snapshots.want(symbol)
        try:
            yield watched.feed
        finally:
            watched.readers.leave(party, self.clock.monotonic_ms())
            self._sweep_later()

    @contextmanager
    def following(self, symbol: Symbol, tell: Tell) -> Generator[SymbolFeed | None]:
        """Read a symbol's feed as with `reading`.

        Also call back on each event, and when its book goes in or out of sync.
        """
        with self.reading(symbol) as feed:
            watched = self._watched.get(symbol)
            if feed is None or watched is None:
                yield None
                return
            watched.followers.append(tell)
            try:
                yield feed
            finally:
                watched.followers.remove(tell)

    def peek(self, symbol: Symbol) -> SymbolFeed | None:
        """Return the feed of a watched symbol, or None. It never opens a feed."""
        return self._watched[symbol].feed if symbol in self._watched else None

    def needs(self, symbol: Symbol) -> Need:
        """Return "events" if a reader has needed them since the symbol was opened, otherwise "book".

        An unwatched symbol has "events".
        """
        return self._watched[symbol].readers.needs if symbol in self._watched else "events"

    async def wait_until_live(self, symbol: Symbol, wait_ms: int) -> None:
        """Wait until the symbol's book is in sync, for at most `wait_ms`."""
        watched = self._watched.get(symbol)
        if watched is not None and not watched.feed.is_live:
            if watched.live.is_set():  # the book has lost its sync
                watched.live = anyio.Event()
            with anyio.move_on_after(wait_ms / 1000):
                await watched.live.wait()

    def dial(self, listener: Listener) -> MarketSocket:
        """Return a socket to the exchange. All sockets of this process share one limit of connection attempts."""
        return MarketSocket(self.url, self.dialer, self.pacer, self.clock, listener, self.random)

    def touch(self, symbol: Symbol) -> None:
        """Restart the idle time of a symbol, because another process has a reader of it."""
        if (watched := self._watched.get(symbol)) is not None:
            watched.readers.wanted_ms = self.clock.monotonic_ms()

    def join(self, feed: SymbolFeed, snapshot: BookSnapshot, *, asked: int, as_of_ms: int) -> bool:
        """Sync a book with a snapshot from another process. Return whether it is in sync."""
        try:
            outcome = feed.on_snapshot(snapshot, asked=asked, time_ms=self.time.now_ms(), as_of_ms=as_of_ms)
        except Exception as error:  # noqa: BLE001 - as with events, an error must not affect other symbols
            self._restart(feed, error)
            return False
        if isinstance(outcome, Joined):
            self.joined(feed)
        return isinstance(outcome, Joined)

    def watched(self) -> list[WatchedSymbol]:
        """Return all feeds, sorted by symbol."""
        return [WatchedSymbol(each.feed, each.readers.count) for _, each in sorted(self._watched.items())]

    @property
    def refused(self) -> int:
        """Number of invalid events since the start, including unreadable frames."""
        return self.troubles.totals.refused + sum(shared.socket.counts.unreadable for shared in self._shared)

    def sockets(self) -> list[Source]:
        """Return the sockets in use."""
        return [shared.socket for shared in self._shared]

    def on_event(self, stream: str, data: msgspec.Raw) -> None:
        """Pass an event to its feed. An event of a stream that has just closed is dropped."""
        route = self._routes.get(stream)
        if route is not None:
            take, watched = route
            try:
                take(data)
            except Exception as error:  # noqa: BLE001 - a defect in one feed must not end the streams of other symbols
                self._restart(watched.feed, error)
            watched.tell(self.troubles)

    def on_opened(self, names: Iterable[str]) -> None:
        """Handle the opening of a socket: from now on its streams can send."""
        if self._tasks is not None:
            self._tasks.start_soon(self._rouse_quiet, self._of(names))

    def on_lost(self, names: Iterable[str]) -> None:
        """Notify every feed of a socket that events may be missing."""
        for watched in self._of(names):
            watched.feed.on_lost()
            watched.tell(self.troubles)

    def _of(self, names: Iterable[str]) -> list[_Watched]:
        lost = frozenset(names)
        return [watched for watched in self._watched.values() if watched.names[0] in lost]

    async def _rouse_quiet(self, opened: list[_Watched]) -> None:
        await self.clock.sleep_ms(QUIET_MS)
        for watched in opened:
            if watched.socket.is_open:
                watched.feed.on_quiet()
                self._put_in_step(watched.feed)

    def _start(self, symbol: Symbol, party: str) -> _Watched | None:
        if self._tasks is None or (len(self._watched) >= self.most and not self._make_room(party)):
            return None
        with acting_for(""):  # no party pays for the stream's requests, because all parties share it
            return self._started(symbol, self._tasks)

    def _started(self, symbol: Symbol, tasks: anyio.abc.TaskGroup) -> _Watched:
        feed = SymbolFeed(symbol, self._room)
        routes = Routes(feed, self.time, self._put_in_step, self.troubles.refused, self._doubt_time).by_name()
        names = tuple(routes)
        shared = self._socket_with_room(tasks)
        watched = self._watched[symbol] = _Watched(feed, shared.socket, names)
        self._routes.update({name: (take, watched) for name, take in routes.items()})
        shared.symbols.add(symbol)
        if self.keeper is not None:
            self.keeper.opened(feed)
        shared.socket.subscribe(names)
        if shared.socket.is_open:
            tasks.start_soon(self._rouse_quiet, [watched])
        return watched

    def _stop(self, symbol: Symbol) -> None:
        watched = self._watched.pop(symbol)
        if self.keeper is not None:
            self.keeper.closing(symbol)
        watched.feed.close()
        watched.live.set()  # readers stop waiting for it
        watched.tell(self.troubles)
        for name in watched.names:
            del self._routes[name]
        watched.socket.unsubscribe(watched.names)
        shared = next(shared for shared in self._shared if shared.socket is watched.socket)
        shared.symbols.discard(symbol)
        if not shared.symbols:
            self._shared.remove(shared)
            self.troubles.totals.refused += shared.socket.counts.unreadable
            shared.scope.cancel()

    def _make_room(self, party: str) -> bool:
        now = self.clock.monotonic_ms()
        if not self._replacing.allows(party, now):
            return False
        symbol = to_stop({each: watched.readers for each, watched in self._watched.items()}, party, now)
        if symbol is None:
            return False
        self._replacing.note(party, now)
        self._stop(symbol)
        return True

    def _socket_with_room(self, tasks: anyio.abc.TaskGroup) -> _SharedSocket:
        for shared in self._shared:
            if len(shared.symbols) < BOOKS_A_SOCKET:
                return shared
        socket = self.dial(self) if self.source is None else self.source(self)
        shared = _SharedSocket(socket, anyio.CancelScope())
        self._shared.append(shared)
        tasks.start_soon(self._run, shared)
        return shared

    async def _run(self, shared: _SharedSocket) -> None:
        with shared.scope:
            while True:
                try:
                    await shared.socket.run()
                except Exception:  # a failed connection must not end the server
                    LOG.exception("a market stream ended unexpectedly")
                    self.on_lost(tuple(shared.socket.names))
                    await self.clock.sleep_ms(CRASH_PAUSE_MS)

    def _sweep_later(self) -> None:
        if self._tasks is not None and not self._is_sweeping:
            self._is_sweeping = True
            self._tasks.start_soon(self._sweep)

    async def _sweep(self) -> None:
        """Close symbols that have been idle for the linger time. End when every symbol has readers."""
        try:
            while idle := {
                symbol: each.readers.used_ms for symbol, each in self._watched.items() if not each.readers.count
            }:
                now = self.clock.monotonic_ms()
                for symbol, since_ms in idle.items():
                    if now - since_ms >= self.linger_ms:
                        self._stop(symbol)
                await self.clock.sleep_ms(max(1.0, min(idle.values()) + self.linger_ms - now))
        finally:
            self._is_sweeping = False

    def _doubt_time(self, doubt: ClockDoubt) -> None:
        if self._tasks is None or self.learn_time is None:
            return
        self._is_refuted |= doubt == "refuted"
        since_ms = self.clock.monotonic_ms() - self._time_doubted_ms
        if not self._is_learning and (self._is_refuted or since_ms >= DOUBT_MS):
            self._is_learning = True
            self._tasks.start_soon(self._learn_time, self.learn_time, max(0.0, REFUTED_EVERY_MS - since_ms))

    async def _learn_time(self, learn_time: LearnTime, wait_ms: float) -> None:
        """Read the exchange's clock. If events have refuted the estimate, retry until a read succeeds."""
        try:
            await self.clock.sleep_ms(wait_ms)
            while True:
                self._time_doubted_ms = self.clock.monotonic_ms()
                try:
                    await learn_time("refuted" if self._is_refuted else "odd")
                    self._is_refuted = False
                except Exception:  # on failure, ages are only less exact
                    LOG.info("the exchange's clock could not be read", exc_info=True)
                if not self._is_refuted:
                    return
                await self.clock.sleep_ms(REFUTED_EVERY_MS)
        finally:
            self._is_learning = False

    def _restart(self, feed: SymbolFeed, error: Exception) -> None:
        self.troubles.failed(feed.symbol, error)
        feed.restart()
        self._put_in_step(feed)

    def _put_in_step(self, feed: SymbolFeed) -> None:
        if self._tasks is not None and feed.needs_snapshot:
            self._snapshots.request(feed, self._tasks)

    def _wanted_by(self, symbol: Symbol) -> Iterable[str]:
        watched = self._watched.get(symbol)
        return watched.readers.parties(self.clock.monotonic_ms()) if watched else ()

    def joined(self, feed: SymbolFeed) -> None:
        """Notify readers that a book is in sync or has been replaced."""
        watched = self._watched.get(feed.symbol)
        if watched is not None:
            watched.live.set()
            watched.tell(self.troubles)
