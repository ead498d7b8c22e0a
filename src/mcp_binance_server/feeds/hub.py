"""Who watches what: one stream for each symbol, shared by all its readers, opened on first use, closed after idle."""

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
from mcp_binance_server.feeds.feed import Room, SymbolFeed
from mcp_binance_server.feeds.past_keeper import PastKeeper
from mcp_binance_server.feeds.readers import Need, Readers, Replacing, to_stop
from mcp_binance_server.feeds.routes import ClockDoubt, Now, Route, Routes
from mcp_binance_server.feeds.snapshots import Fetch, Snapshots, Troubles

LOG = logging.getLogger(__name__)

BOOKS_A_SOCKET = 50
# After this long a stream that is open and silent is that of a quiet symbol: its book is put in step without an event.
QUIET_MS = 2_000
CRASH_PAUSE_MS = 5_000
# The exchange's clock is not asked for more often than this, whatever its events say, or prove.
DOUBT_MS, REFUTED_EVERY_MS = 60_000.0, 5_000.0

Tell = Callable[[], None]
"""Told that something of a symbol may be new; brief, and it never raises."""

LearnTime = Callable[[ClockDoubt], Awaitable[None]]
"""Reads the exchange's clock, unless it is known well; where that is refuted, in any case."""


class Source(Protocol):
    """What a hub hears symbols from: a socket of the exchange, or what another process heard there."""

    names: set[str]
    counts: SocketCounts

    @property
    def is_open(self) -> bool: ...

    def subscribe(self, names: tuple[str, ...]) -> None: ...

    def unsubscribe(self, names: tuple[str, ...]) -> None: ...

    async def run(self) -> None: ...


@dataclass(eq=False)
class _Watched:
    """A feed, the socket it hangs on, and its readers."""

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
            except Exception as error:  # noqa: BLE001 - one reader must not keep the news from the others
                troubles.failed(self.feed.symbol, error)


@dataclass(eq=False)
class _SharedSocket:
    socket: Source
    scope: anyio.CancelScope
    symbols: set[Symbol] = field(default_factory=set[Symbol])


@dataclass(frozen=True, slots=True)
class WatchedSymbol:
    """A feed as the health report lists it."""

    feed: SymbolFeed
    readers: int


@dataclass(eq=False, kw_only=True)
class Hub:
    """The live market of one process.

    Nothing runs before the first reader. `most` symbols are watched at a time; one that nobody reads makes room, or one
    that only a party reads which reads more than others.
    """

    url: str
    dialer: Dialer
    fetch: Fetch
    time: Now
    clock: Clock
    most: int
    linger_ms: int
    source: Callable[["Hub"], Source] | None = field(default=None, repr=False)
    learn_time: LearnTime | None = field(default=None, repr=False)
    keeper: PastKeeper | None = field(default=None, repr=False)
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
        """Counts the attempts of this process to connect, for whoever else connects to the exchange."""
        self._room = Room.shared_by(self.most)
        self._replacing = Replacing()
        self.troubles = Troubles(self.clock, self.random)
        self._snapshots = Snapshots(
            self.fetch, self.time, self.clock, self.joined, self.troubles, self.random, self._wanted_by
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Hub"]:
        """Be ready to watch; at the end every stream is closed."""
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
        """Hold a symbol's feed, opened if need be; None when as many are in use as may be watched.

        A feed that is closed meanwhile has made room for another party's. Until somebody needs events, it may be shown
        the finished book of another process.
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
        """Hold a symbol's feed as `reading` does, and be told of each event, and when its book comes or goes."""
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
        """Return the feed of a symbol that somebody watches, without opening one."""
        return self._watched[symbol].feed if symbol in self._watched else None

    def needs(self, symbol: Symbol) -> Need:
        """Return the most that a reader of a symbol has needed since it is watched."""
        return self._watched[symbol].readers.needs if symbol in self._watched else "events"

    async def wait_until_live(self, symbol: Symbol, wait_ms: int) -> None:
        """Wait until the symbol's book is in step, but not for long."""
        watched = self._watched.get(symbol)
        if watched is not None and not watched.feed.is_live:
            if watched.live.is_set():  # it was in step once, and has lost it since
                watched.live = anyio.Event()
            with anyio.move_on_after(wait_ms / 1000):
                await watched.live.wait()

    def dial(self, listener: Listener) -> MarketSocket:
        """Make a socket of the exchange, within the limit of attempts that all sockets here share."""
        return MarketSocket(self.url, self.dialer, self.pacer, self.clock, listener, self.random)

    def touch(self, symbol: Symbol) -> None:
        """Let a symbol linger anew: somebody reads it elsewhere."""
        if (watched := self._watched.get(symbol)) is not None:
            watched.readers.wanted_ms = self.clock.monotonic_ms()

    def join(self, feed: SymbolFeed, snapshot: BookSnapshot, *, asked: int, as_of_ms: int) -> bool:
        """Put a book in step with one that is; tell whether that went well."""
        try:
            outcome = feed.on_snapshot(snapshot, asked=asked, time_ms=self.time.now_ms(), as_of_ms=as_of_ms)
        except Exception as error:  # noqa: BLE001 - as with an event: it costs this symbol and no other
            self._restart(feed, error)
            return False
        if isinstance(outcome, Joined):
            self.joined(feed)
        return isinstance(outcome, Joined)

    def watched(self) -> list[WatchedSymbol]:
        """Return every feed, by symbol."""
        return [WatchedSymbol(each.feed, each.readers.count) for _, each in sorted(self._watched.items())]

    @property
    def refused(self) -> int:
        """How many events made no sense since the start, frames that could not be read at all among them."""
        return self.troubles.totals.refused + sum(shared.socket.counts.unreadable for shared in self._shared)

    def sockets(self) -> list[Source]:
        """Return the sockets in use."""
        return [shared.socket for shared in self._shared]

    def on_event(self, stream: str, data: msgspec.Raw) -> None:
        """Hand an event to the feed it belongs to; one of a stream that was just left belongs to nobody."""
        route = self._routes.get(stream)
        if route is not None:
            take, watched = route
            try:
                take(data)
            except Exception as error:  # noqa: BLE001 - a defect that one event brings out must not end the streams of other symbols
                self._restart(watched.feed, error)
            watched.tell(self.troubles)

    def on_opened(self, names: Iterable[str]) -> None:
        """Remember that the streams of a socket may speak from now on."""
        if self._tasks is not None:
            self._tasks.start_soon(self._rouse_quiet, self._of(names))

    def on_lost(self, names: Iterable[str]) -> None:
        """Mark every symbol of a socket: its events may be missing."""
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
        with acting_for(""):  # what is streamed is for all: no party's requests pay for it
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
        watched.live.set()  # nobody needs to wait for it any longer
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
                except Exception:  # one bad connection must not end the server
                    LOG.exception("a market stream ended unexpectedly")
                    self.on_lost(tuple(shared.socket.names))
                    await self.clock.sleep_ms(CRASH_PAUSE_MS)

    def _sweep_later(self) -> None:
        if self._tasks is not None and not self._is_sweeping:
            self._is_sweeping = True
            self._tasks.start_soon(self._sweep)

    async def _sweep(self) -> None:
        """Stop what nobody has read for as long as it may linger; end when everything left is being read."""
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
        """Read the clock; one that was refuted until it could be read, since nothing may say so again."""
        try:
            await self.clock.sleep_ms(wait_ms)
            while True:
                self._time_doubted_ms = self.clock.monotonic_ms()
                try:
                    await learn_time("refuted" if self._is_refuted else "odd")
                    self._is_refuted = False
                except Exception:  # the ages are told by a rougher clock, that is all
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
        """Tell readers that a book is in step, or new as a whole."""
        watched = self._watched.get(feed.symbol)
        if watched is not None:
            watched.live.set()
            watched.tell(self.troubles)
