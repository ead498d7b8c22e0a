"""Market streams: a WebSocket that subscribes, pings, reconnects, and is replaced once a day."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.market import BookDelta, Ticker
from mcp_binance_server.exchange.dialing import Dialer, Pacer, StreamConnection
from mcp_binance_server.exchange.spot.wire import AggregateTradeWire, TickerWire
from mcp_binance_server.exchange.wire import Amount, Count, EpochMs, SignedAmount, check_levels

NOTHING = msgspec.Raw(b"null")
SHUTDOWN = "!serverShutdown"

LOG = logging.getLogger(__name__)

HOUR_MS = 3_600_000
# The exchange closes a connection after 24 hours. Ours are replaced earlier, at random times so that not all end at
# once.
LIFE_MS, SHORTEST_LIFE = 23 * HOUR_MS + HOUR_MS // 2, 0.97
# Overlap in which the new and the old connection both deliver; listeners drop duplicates by their IDs.
OVERLAP_MS = 1_500
# After this silence the connection is dead or all its symbols are quiet. A second connection shows which.
SILENCE_MS, LONGEST_SILENCE_MS = 30_000, 600_000
# A connection that lasted this long was healthy: after its loss the next attempt follows after the shortest pause.
WELL_MS = 60_000
# The exchange allows five messages a second, pongs included.
MESSAGE_PAUSE_MS = 300
NAMES_A_MESSAGE = 150
# Frames handled before other tasks get a turn.
FRAMES_A_TURN = 64


class FrameWire(msgspec.Struct):
    """A frame of a connection: an event with its stream's name, a notice, or the answer to a request."""

    stream: str = ""
    data: msgspec.Raw = NOTHING
    id: int | str | None = None
    code: int | None = None
    e: str = ""


class DepthEventWire(msgspec.Struct):
    """A change of an order book; its levels stay strings, which is exact and fast."""

    symbol: str = msgspec.field(name="s")
    event_time: EpochMs = msgspec.field(name="E")
    first_update_id: Count = msgspec.field(name="U")
    last_update_id: Count = msgspec.field(name="u")
    bids: list[tuple[str, str]] = msgspec.field(name="b")
    asks: list[tuple[str, str]] = msgspec.field(name="a")

    def __post_init__(self) -> None:
        if self.first_update_id > self.last_update_id:
            raise ValueError("an event of a book ends before it begins")
        check_levels(self.bids)
        check_levels(self.asks)

    def to_domain(self) -> BookDelta:
        return BookDelta(self.first_update_id, self.last_update_id, self.event_time, self.bids, self.asks)


class TradeEventWire(AggregateTradeWire):
    """An aggregate trade event."""

    symbol: str = msgspec.field(name="s")


class QuoteEventWire(msgspec.Struct):
    """Best bid and ask after a change; the event has no timestamp."""

    symbol: str = msgspec.field(name="s")
    update_id: Count = msgspec.field(name="u")
    bid: Amount = msgspec.field(name="b")
    bid_size: Amount = msgspec.field(name="B")
    ask: Amount = msgspec.field(name="a")
    ask_size: Amount = msgspec.field(name="A")


class TickerEventWire(msgspec.Struct):
    """24-hour statistics, sent once a second."""

    symbol: str = msgspec.field(name="s")
    price_change: SignedAmount = msgspec.field(name="p")
    price_change_percent: SignedAmount = msgspec.field(name="P")
    weighted_avg_price: Amount = msgspec.field(name="w")
    last_price: Amount = msgspec.field(name="c")
    bid_price: Amount = msgspec.field(name="b")
    ask_price: Amount = msgspec.field(name="a")
    open_price: Amount = msgspec.field(name="o")
    high_price: Amount = msgspec.field(name="h")
    low_price: Amount = msgspec.field(name="l")
    volume: Amount = msgspec.field(name="v")
    quote_volume: Amount = msgspec.field(name="q")
    open_time: EpochMs = msgspec.field(name="O")
    close_time: EpochMs = msgspec.field(name="C")
    count: Count = msgspec.field(name="n")

    def to_domain(self) -> Ticker:
        # The REST answer has the same fields under other names.
        return TickerWire(**msgspec.structs.asdict(self)).to_domain()


def control_message(method: str, names: list[str], identity: int) -> str:
    """Format a request that starts or stops streams."""
    return msgspec.json.encode({"method": method, "params": names, "id": identity}).decode()


_FRAME = msgspec.json.Decoder(FrameWire)


class Listener(Protocol):
    """Receiver of a socket's events; its methods are synchronous and must be fast."""

    def on_event(self, stream: str, data: msgspec.Raw) -> None: ...

    def on_opened(self, names: Iterable[str]) -> None: ...

    def on_lost(self, names: Iterable[str]) -> None: ...


@dataclass
class SocketCounts:
    """Counters of one socket."""

    opened: int = 0
    lost: int = 0
    renewed: int = 0
    unreadable: int = 0
    refused: int = 0


@dataclass(eq=False)
class MarketSocket:
    """A market stream connection with its subscriptions, reopened after each loss until its task is cancelled."""

    url: str
    dialer: Dialer
    pacer: Pacer
    clock: Clock
    listener: Listener
    random: Random = field(default_factory=Random, repr=False)
    names: set[str] = field(default_factory=set[str])
    counts: SocketCounts = field(default_factory=SocketCounts)
    silence_ms: int = SILENCE_MS
    life_ms: int = LIFE_MS
    is_open: bool = False
    _links: list["_Link"] = field(default_factory=list["_Link"], repr=False)

    def subscribe(self, names: Iterable[str]) -> None:
        self.names.update(names)
        self._tell_links()

    def unsubscribe(self, names: Iterable[str]) -> None:
        self.names.difference_update(names)
        self._tell_links()

    async def run(self) -> None:
        """Connect, listen and reconnect until cancelled."""
        failures = 0
        while True:
            await self.pacer.wait(failures)
            connection = await self._dial()
            if connection is None:
                failures += 1
                continue
            opened_ms = self.clock.monotonic_ms()
            await self._listen(connection)
            self.counts.lost += 1
            self.listener.on_lost(tuple(self.names))
            failures = 1 if self.clock.monotonic_ms() - opened_ms >= WELL_MS else failures + 1

    async def _dial(self) -> StreamConnection | None:
        try:
            return await self.dialer.connect(self.url)
        except OSError as error:
            LOG.info("no market stream: %s", error)
            return None

    async def _listen(self, connection: StreamConnection) -> None:
        """Serve one connection and its replacements; return when a connection is lost without a replacement."""
        async with anyio.create_task_group() as tasks:
            link = self._begin(tasks, connection)
            self.is_open = True
            self.listener.on_opened(tuple(self.names))
            try:
                while not link.is_over:
                    await link.news.wait()
                    if not link.is_over:
                        link = await self._relieve(tasks, link)
            finally:
                self.is_open = False
                tasks.cancel_scope.cancel()

    async def _relieve(self, tasks: anyio.abc.TaskGroup, link: "_Link") -> "_Link":
        """Open a replacement connection; close the old one after an overlap."""
        await self.pacer.wait(0)
        connection = await self._dial()
        if connection is None:
            link.postpone()
            return link
        successor = self._begin(tasks, connection)
        await self.clock.sleep_ms(OVERLAP_MS)
        if link.is_silent:
            # If the replacement is silent too, the symbols are quiet: wait longer before the next check.
            longer = self.silence_ms if successor.has_spoken else 2 * link.silence_ms
            successor.silence_ms = min(LONGEST_SILENCE_MS, longer)
        self.counts.renewed += 1
        link.end()
        return successor

    def _begin(self, tasks: anyio.abc.TaskGroup, connection: StreamConnection) -> "_Link":
        link = _Link(self, connection)
        self._links.append(link)
        self.counts.opened += 1
        tasks.start_soon(link.run)
        return link

    def forget(self, link: "_Link") -> None:
        self._links.remove(link)

    def _tell_links(self) -> None:
        for link in self._links:
            link.changed.set()


def _is_worth_a_line(count: int) -> bool:
    # Log the 1st, 2nd, 4th and 8th time, and so on, so that repetitions do not fill the log.
    return count.bit_count() == 1


class _Link:
    """One network connection: it reads, subscribes, and signals when it needs a replacement or has ended."""

    def __init__(self, socket: MarketSocket, connection: StreamConnection) -> None:
        self.news = anyio.Event()
        self.changed = anyio.Event()
        self.is_over = False
        self.is_silent = False
        self.has_spoken = False
        self.silence_ms = socket.silence_ms
        self._socket = socket
        self._connection = connection
        self._subscribed: set[str] = set()
        self._sent = 0
        self._scope = anyio.CancelScope()
        self._heard_ms = socket.clock.monotonic_ms()
        self._ends_ms = self._heard_ms + socket.life_ms * socket.random.uniform(SHORTEST_LIFE, 1)

    async def run(self) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._read)
                    tasks.start_soon(self._write)
                    tasks.start_soon(self._watch)
        finally:
            self.is_over = True
            self._socket.forget(self)
            self.news.set()
            with anyio.CancelScope(shield=True):
                await self._connection.close()

    def end(self) -> None:
        self._scope.cancel()

    def postpone(self) -> None:
        """Delay the next attempt to open a replacement."""
        self.news = anyio.Event()
        self._ends_ms = self._socket.clock.monotonic_ms() + self._socket.random.uniform(1_000, 30_000)
        self._heard_ms = self._socket.clock.monotonic_ms()

    async def _read(self) -> None:
        while True:
            for _ in range(FRAMES_A_TURN):
                try:
                    frame = await self._connection.recv()
                except ConnectionError:
                    self._scope.cancel()
                    return
                self._take(frame)
            await anyio.lowlevel.checkpoint()

    def _take(self, raw: bytes) -> None:
        self._heard_ms = self._socket.clock.monotonic_ms()
        try:
            frame = _FRAME.decode(raw)
        # invalid UTF-8 and deep nesting raise other errors than msgspec's
        except (ValueError, RecursionError):
            counts = self._socket.counts
            counts.unreadable += 1
            if _is_worth_a_line(counts.unreadable):
                LOG.warning("a frame of the market stream could not be read (%d so far)", counts.unreadable)
            return
        if frame.stream == SHUTDOWN or frame.e == "serverShutdown":
            self.news.set()
        elif frame.stream:
            self.has_spoken = True
            self._socket.listener.on_event(frame.stream, frame.data)
        elif frame.code is not None:
            counts = self._socket.counts
            counts.refused += 1
            if _is_worth_a_line(counts.refused):
                LOG.warning("the exchange refused a stream request (code %d; %d so far)", frame.code, counts.refused)

    async def _write(self) -> None:
        while True:
            self.changed = anyio.Event()
            while await self._catch_up():
                await self._socket.clock.sleep_ms(MESSAGE_PAUSE_MS)
            await self.changed.wait()

    async def _catch_up(self) -> bool:
        """Send one request that brings the subscriptions closer to the wanted state.

        Return False if no request is needed.
        """
        wanted, held = self._socket.names, self._subscribed
        for method, names in (("SUBSCRIBE", wanted - held), ("UNSUBSCRIBE", held - wanted)):
            if batch := sorted(names)[:NAMES_A_MESSAGE]:
                self._sent += 1
                try:
                    await self._connection.send(control_message(method, batch, self._sent))
                except ConnectionError:
                    self._scope.cancel()
                self._subscribed ^= set(batch)
                return True
        return False

    async def _watch(self) -> None:
        """Request a replacement when the connection is old, or silent for too long."""
        clock = self._socket.clock
        while True:
            quiet_until = self._heard_ms + self.silence_ms
            now = clock.monotonic_ms()
            if now >= min(quiet_until, self._ends_ms) and not self.news.is_set():
                self.is_silent = now >= quiet_until
                self.news.set()
            pause_ms = min(quiet_until, self._ends_ms) - now
            await clock.sleep_ms(pause_ms if pause_ms > 0 else 1_000)
