"""Event source of a hub in a fleet. A symbol's events come from the exchange or from the leader."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

import anyio
import anyio.abc
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.streams import MarketSocket, SocketCounts
from mcp_binance_server.feeds.fleet.follower import Follower
from mcp_binance_server.feeds.fleet.journal import decode_want
from mcp_binance_server.feeds.fleet.leader import LEASE_MS, LONGEST_WANT_MS, Leader, ReceiptTime
from mcp_binance_server.feeds.hub import CRASH_PAUSE_MS, Hub
from mcp_binance_server.feeds.snapshots import Fetch
from mcp_binance_server.state.engine import Lease, Leases

LOG = logging.getLogger(__name__)

# Longest random pause before a retry. It keeps the processes from retrying at the same moment.
PAUSE_MS = 200


@dataclass(eq=False)
class _Share:
    """One symbol in this process, and the task in which it is led or followed."""

    symbol: Symbol
    names: tuple[str, ...]
    follower: Follower
    leader: Leader | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Fleet:
    """This process as a member of a fleet on one engine. `owner` is its unique name, new at every start."""

    def __init__(
        self, engine: Leases, clock: Clock, time: ServerTime, owner: str, random: Random | None = None
    ) -> None:
        self.engine, self.clock, self.owner = engine, clock, owner
        self.receipt = ReceiptTime(time)
        self.random = random or Random()  # noqa: S311 - a pause is not a secret
        self.shares: dict[Symbol, _Share] = {}

    def joined_by(self, hub: Hub) -> Hub:
        """Return the hub as a member of the fleet. It streams from the exchange only the symbols that it leads."""
        return replace(hub, time=self.receipt, fetch=self._fetching(hub.fetch), source=partial(FleetSource, self))

    def leads(self, symbol: Symbol) -> bool:
        """Return whether this process streams a symbol from the exchange."""
        share = self.shares.get(symbol)
        return share is not None and share.leader is not None

    def _fetching(self, fetch: Fetch) -> Fetch:
        """Return a function that loads a snapshot from the exchange.

        For a followed symbol, it asks the leader instead.
        """

        async def fetched(symbol: Symbol) -> BookSnapshot | None:
            share = self.shares.get(symbol)
            if share is None or share.leader is not None:
                return await fetch(symbol)
            await share.follower.want(book=True)
            return None

        return fetched


class FleetSource:
    """Symbols of a hub, each with its own lease. One socket streams the symbols that this process leads."""

    def __init__(self, fleet: Fleet, hub: Hub) -> None:
        self.names: set[str] = set()
        self._fleet = fleet
        self._hub = hub
        self._wants = f"feeds:wants:{hub.url}"
        self._by_stream: dict[str, _Share] = {}
        self._tasks: anyio.abc.TaskGroup | None = None
        self._socket = hub.dial(self)
        self._socket_scope: anyio.CancelScope | None = None

    @property
    def counts(self) -> SocketCounts:
        return self._socket.counts

    @counts.setter
    def counts(self, counts: SocketCounts) -> None:
        self._socket.counts = counts

    @property
    def is_open(self) -> bool:
        return self._tasks is not None

    @property
    def socket(self) -> MarketSocket:
        return self._socket

    def subscribe(self, names: tuple[str, ...]) -> None:
        """Start to lead or follow the symbol of these streams."""
        fleet, hub, symbol = self._fleet, self._hub, Symbol(names[0].partition("@")[0].upper())
        follower = Follower(
            symbol=symbol,
            names=names,
            channel=f"feeds:{hub.url}:{symbol}",
            wants=self._wants,
            engine=fleet.engine,
            clock=fleet.clock,
            hub=hub,
            receipt=fleet.receipt,
            want_ms=min(LONGEST_WANT_MS, hub.linger_ms // 4 or 1),
        )
        share = _Share(symbol, names, follower)
        fleet.shares[symbol] = share
        self.names.update(names)
        self._by_stream.update(dict.fromkeys(names, share))
        if self._tasks is not None:
            self._tasks.start_soon(self._serve, share)

    def unsubscribe(self, names: tuple[str, ...]) -> None:
        """Leave a symbol and release its lease, so that another process can lead it immediately."""
        self.names.difference_update(names)
        share = self._by_stream[names[0]]
        for name in names:
            del self._by_stream[name]
        if self._fleet.shares.get(share.symbol) is share:
            del self._fleet.shares[share.symbol]
        share.scope.cancel()

    async def run(self) -> None:
        """Lead or follow each symbol until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(self._hear_wants)
                for share in {id(each): each for each in self._by_stream.values()}.values():
                    share.scope = anyio.CancelScope()
                    tasks.start_soon(self._serve, share)
        finally:
            self._tasks = self._socket_scope = None

    def on_event(self, stream: str, data: msgspec.Raw) -> None:
        """Pass an event to the readers in this process and to the journal."""
        share = self._by_stream.get(stream)
        if share is not None and share.leader is not None:
            share.leader.note(stream, data)
            self._hub.on_event(stream, data)

    def on_opened(self, names: Iterable[str]) -> None:
        """Report that the exchange's streams are open."""
        self._hub.on_opened(names)

    def on_lost(self, names: Iterable[str]) -> None:
        """Report that events may be missing, also to the followers."""
        lost = tuple(names)
        for name in lost:
            share = self._by_stream.get(name)
            if share is not None and share.leader is not None and name == share.names[0]:
                share.leader.note_lost()
        self._hub.on_lost(lost)

    async def _serve(self, share: _Share) -> None:
        with share.scope:
            is_first = True
            while True:
                try:
                    lease = await self._compete(share) if is_first else None
                    is_first = False
                    lease = lease or await share.follower.follow(lambda: self._compete(share))
                    if lease is not None:
                        share.follower.lose()
                        await self._lead(share, lease)
                except EngineUnavailable:
                    share.follower.grow_old()
                except Exception as error:  # noqa: BLE001 - an error in one symbol's task must not affect other symbols
                    self._hub.troubles.failed(share.symbol, error)
                    share.follower.lose()
                    await self._fleet.clock.sleep_ms(self._hub.troubles.rest_ms(share.symbol))
                await self._fleet.clock.sleep_ms(self._fleet.random.uniform(0, PAUSE_MS))

    async def _compete(self, share: _Share) -> Lease | None:
        name = f"{self._hub.url}:{share.symbol}"
        return await self._fleet.engine.lease(name, self._fleet.owner, ttl_ms=LEASE_MS)

    async def _lead(self, share: _Share, lease: Lease) -> None:
        fleet, hub, follower = self._fleet, self._hub, share.follower
        began_ms = fleet.clock.monotonic_ms()
        leader = Leader(
            share.symbol, share.names, follower.channel, fleet.engine, fleet.clock, hub, lease, began_ms,
            finished_wanted_ms=began_ms,
        )  # fmt: skip
        share.leader = leader
        self._open(share.names)
        try:
            await leader.lead()
        finally:
            share.leader = None
            self._close(share.names)
            hub.on_lost(share.names)
            with anyio.CancelScope(shield=True), suppress(EngineUnavailable):
                await fleet.engine.release(leader.lease)

    def _open(self, names: tuple[str, ...]) -> None:
        self._socket.subscribe(names)
        if self._socket_scope is None and self._tasks is not None:
            self._socket_scope = anyio.CancelScope()
            self._tasks.start_soon(self._listen, self._socket_scope)
        elif self._socket.is_open:
            self._hub.on_opened(names)

    def _close(self, names: tuple[str, ...]) -> None:
        self._socket.unsubscribe(names)
        if not self._socket.names and self._socket_scope is not None:
            self._socket_scope.cancel()
            self._socket_scope = None
            self._socket = self._hub.dial(self)

    async def _listen(self, scope: anyio.CancelScope) -> None:
        socket = self._socket
        with scope:
            while True:
                try:
                    await socket.run()
                except Exception:  # a failed connection must not end the followed symbols
                    LOG.exception("a market stream ended unexpectedly")
                    self.on_lost(tuple(socket.names))
                    await self._fleet.clock.sleep_ms(CRASH_PAUSE_MS)

    async def _hear_wants(self) -> None:
        """Keep the symbols that other processes read. Send the book to these processes on request."""
        while True:
            with suppress(EngineUnavailable):
                async with self._fleet.engine.subscribe(self._wants) as wants:
                    async for data in wants:
                        self._wanted(data)
            await self._fleet.clock.sleep_ms(self._fleet.random.uniform(0, PAUSE_MS))

    def _wanted(self, data: bytes) -> None:
        try:
            want = decode_want(data)
        except (ValueError, RecursionError):
            return
        share = self._fleet.shares.get(Symbol(want.symbol))
        if share is not None and share.leader is not None and self._by_stream.get(share.names[0]) is share:
            self._hub.touch(share.symbol)
            if want.finished:
                share.leader.finished_wanted_ms = self._fleet.clock.monotonic_ms()
            else:
                share.leader.book_is_due |= want.book
