"""Stream of liquidations. One process receives it for all; it opens on the first request and closes when idle."""

import logging
import zlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

import anyio
import anyio.abc
import msgspec

from mcp_binance_server.analytics.derivatives.liquidation_minutes import LiquidationMinutes, LiquidationSummary
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.dialing import Dialer, Pacer
from mcp_binance_server.exchange.futures.stream_wire import read_liquidation
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.streams import MarketSocket
from mcp_binance_server.state.engine import Fenced, Lease, StateEngine

LOG = logging.getLogger(__name__)

# A wrong or missing route keeps the stream open but silent: go-binance #809, jesse #562.
ROUTE = "/market/stream"
FORCED_ORDERS = "!forceOrder@arr"
# Liquidations can pause for long. The mark price arrives every second on the same route and serves as heartbeat.
HEARTBEAT = "btcusdt@markPrice@1s"
SILENCE_MS = 15_000
LINGER_MS = 30 * 60_000
PUBLISH_MS, KEPT_MS = 2_000, 10_000
LEASE_MS, LOOK_MS = 10_000, 5_000
# Minimum interval between requests that are forwarded to the listening process.
TELL_MS = 10_000
CRASH_PAUSE_MS = 5_000

Listens = Literal["asked", "always"]
Hearing = Literal["began", "heard", "silent", "unreachable"]


@dataclass(frozen=True, slots=True)
class LiquidationsHeard:
    """Summary of the liquidations received, and the state of the stream."""

    hearing: Hearing
    summary: LiquidationSummary | None = None


class _Published(msgspec.Struct, array_like=True):
    hearing: Hearing
    summary: LiquidationSummary


@dataclass(eq=False, kw_only=True)
class LiquidationWatch:
    """Liquidations of all perpetuals.

    One process of a fleet receives and publishes them, and the other processes read.
    """

    stream_url: str
    dialer: Dialer
    engine: StateEngine
    time: ServerTime
    clock: Clock
    listens: Listens = "asked"
    linger_ms: int = LINGER_MS
    owner: str = field(default_factory=lambda: uuid4().hex)
    socket: MarketSocket | None = field(default=None, init=False)
    """The open stream; None in a process that does not listen."""
    seen: int = field(default=0, init=False)
    left_out: int = field(default=0, init=False)
    """Events of another product, and events that make no sense."""
    _minutes: LiquidationMinutes | None = field(default=None, init=False, repr=False)
    _asked_ms: float = field(default=float("-inf"), init=False, repr=False)
    _told_ms: float = field(default=float("-inf"), init=False, repr=False)
    _opened_ms: float = field(default=0, init=False, repr=False)
    _tasks: anyio.abc.TaskGroup | None = field(default=None, init=False, repr=False)
    _is_serving: bool = field(default=False, init=False, repr=False)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["LiquidationWatch"]:
        """Serve requests inside the block. Close the stream at its end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            if self.listens == "always":
                self._serve_soon()
            try:
                yield self
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def ask(self) -> LiquidationsHeard:
        """Return the liquidations received so far. The first request opens the stream and gets an empty result.

        Raises:
            EngineUnavailable: another process may listen, but its data cannot be read.
        """
        now_ms = self._asked_ms = self.clock.monotonic_ms()
        self._serve_soon()
        if now_ms - self._told_ms >= TELL_MS:
            self._told_ms = now_ms
            await self.engine.put(self._wanted, b"", ttl_ms=self.linger_ms)
        if self._minutes is not None:
            return LiquidationsHeard(self._hearing(self._minutes), self._minutes.summary(self.time.now_ms()))
        kept = await self.engine.get(self._name)
        if kept is None:
            return LiquidationsHeard("began")
        told = msgspec.msgpack.decode(zlib.decompress(kept), type=_Published)
        return LiquidationsHeard(told.hearing, told.summary)

    def on_event(self, stream: str, data: msgspec.Raw) -> None:
        """Handle an event. Any event shows that the stream is alive."""
        minutes = self._minutes
        if minutes is None:
            return
        now_ms = self.time.now_ms()
        if stream != FORCED_ORDERS:
            minutes.beat(now_ms)
            return
        event = read_liquidation(bytes(data))
        if event is None:
            self.left_out += 1
        elif minutes.take(event, now_ms):
            self.seen += 1

    def on_opened(self, names: Iterable[str]) -> None:
        """Record that the stream is open and can send events."""
        if HEARTBEAT in [*names]:
            self._opened_ms = self.clock.monotonic_ms()

    def on_lost(self, names: Iterable[str]) -> None:
        """Record that events may be missing."""
        if self._minutes is not None and HEARTBEAT in [*names]:
            self._minutes.lose()

    @property
    def _name(self) -> str:
        return f"liquidations:{self.stream_url}"

    @property
    def _wanted(self) -> str:
        return f"liquidations:wanted:{self.stream_url}"

    def _hearing(self, minutes: LiquidationMinutes) -> Hearing:
        now_ms = self.time.now_ms()
        if minutes.heard_ms is not None and now_ms - minutes.heard_ms <= SILENCE_MS:
            return "heard"
        if self.socket is None or not self.socket.is_open:
            return "began" if now_ms - minutes.since_ms <= SILENCE_MS else "unreachable"
        return "silent" if self.clock.monotonic_ms() - self._opened_ms > SILENCE_MS else "began"

    def _serve_soon(self) -> None:
        if self._tasks is not None and not self._is_serving:
            self._is_serving = True
            with acting_for(""):  # the stream is shared by all parties
                self._tasks.start_soon(self._serve)

    async def _serve(self) -> None:
        """Receive liquidations while they are wanted. If another process does so, wait until it stops."""
        try:
            while await self._is_wanted():
                try:
                    lease = await self.engine.lease(self._name, self.owner, ttl_ms=LEASE_MS)
                    if lease is not None:
                        await self._lead(lease)
                        continue
                except EngineUnavailable:
                    LOG.info("no process could be chosen to listen for liquidations: the shared state is unavailable")
                await self._pause(LOOK_MS)
        finally:
            self._is_serving = False

    async def _is_wanted(self) -> bool:
        kept: bytes | None = None
        with suppress(EngineUnavailable):
            kept = await self.engine.get(self._wanted)
        is_asked = self.clock.monotonic_ms() - self._asked_ms < self.linger_ms
        return self.listens == "always" or kept is not None or is_asked

    async def _lead(self, lease: Lease) -> None:
        socket = MarketSocket(
            f"{self.stream_url}{ROUTE}", self.dialer, Pacer(self.clock), self.clock, self, silence_ms=SILENCE_MS
        )
        socket.subscribe((FORCED_ORDERS, HEARTBEAT))
        self.socket, self._opened_ms = socket, self.clock.monotonic_ms()
        self._minutes = LiquidationMinutes(self.time.now_ms())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, socket)
                await self._tell(lease)
                tasks.cancel_scope.cancel()
        finally:
            self.socket = self._minutes = None
            with anyio.CancelScope(shield=True), suppress(EngineUnavailable):
                await self.engine.delete(self._name)
                await self.engine.release(lease)

    async def _listen(self, socket: MarketSocket) -> None:
        while True:
            try:
                await socket.run()
            except Exception:  # a failed connection must not end the stream
                LOG.exception("the stream of liquidations ended unexpectedly")
                self.on_lost((HEARTBEAT,))
                await self._pause(CRASH_PAUSE_MS)

    async def _tell(self, lease: Lease) -> None:
        """Publish the received data until no process needs it or another process receives the stream."""
        while await self._is_wanted():
            try:
                if await self.engine.lease(lease.name, lease.owner, ttl_ms=LEASE_MS) != lease:
                    return
                if await self._publish(lease) is not Fenced.WRITTEN:
                    return
            except EngineUnavailable:
                LOG.info("liquidations were not published to other processes: the shared state is unavailable")
            await self._pause(PUBLISH_MS)

    async def _publish(self, lease: Lease) -> Fenced:
        if self._minutes is None:
            return Fenced.LOST
        told = _Published(self._hearing(self._minutes), self._minutes.summary(self.time.now_ms()))
        packed = zlib.compress(msgspec.msgpack.encode(told), 1)
        return await self.engine.put_fenced(self._name, packed, lease=lease, ttl_ms=KEPT_MS)

    async def _pause(self, duration_ms: float) -> None:
        await self.clock.sleep_until_ms(self.clock.monotonic_ms() + duration_ms)
