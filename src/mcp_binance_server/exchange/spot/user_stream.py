"""User data stream of one account over the WebSocket API: subscribed by signature, replaced once a day, reconnected."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.domain.orders import Report
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.attempt import RECV_WINDOW_MS, ExchangeRefused
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.dialing import Dialer, Pacer, StreamConnection
from mcp_binance_server.exchange.endpoints import signed
from mcp_binance_server.exchange.key_probe import credentials_error
from mcp_binance_server.exchange.signing import Principal, socket_payload
from mcp_binance_server.exchange.spot.streams import FRAMES_A_TURN, HOUR_MS, OVERLAP_MS, WELL_MS, SocketCounts
from mcp_binance_server.exchange.spot.user_wire import (
    EventHeadWire,
    ExecutionReportWire,
    SubscriptionWire,
    UserFrameWire,
)
from mcp_binance_server.exchange.wire import UNREADABLE, ExchangeRefusal

LOG = logging.getLogger(__name__)

METHOD = "userDataStream.subscribe.signature"
# Weight of the connection (two) and of the subscription (two), in the same budget as the requests of this address.
SUBSCRIPTION = signed(METHOD, 4)
# The exchange closes a connection after 24 hours; ours is replaced earlier.
LIFE_MS, SHORTEST_LIFE = 23 * HOUR_MS, 0.97
ANSWER_MS = 10_000
# Delay before the next attempt to open a replacement, while the old connection still delivers.
POSTPONED_MS = (1_000, 30_000)

_FRAME = msgspec.json.Decoder(UserFrameWire)
_HEAD = msgspec.json.Decoder(EventHeadWire)
_REPORT = msgspec.json.Decoder(ExecutionReportWire)
_SUBSCRIPTION = msgspec.json.Decoder(SubscriptionWire)


class ReportListener(Protocol):
    """Receiver of an account's events; its methods are synchronous and must be fast."""

    def on_subscribed(self) -> None:
        """Handle the start of a subscription; events before it are never delivered."""
        ...

    def on_report(self, report: Report) -> None: ...

    def on_missed(self) -> None:
        """Handle an event that could not be read."""
        ...

    def on_lost(self) -> None: ...


@dataclass(eq=False)
class UserStream:
    """Subscription to one account's events, kept until its task is cancelled or the exchange rejects the key."""

    url: str
    dialer: Dialer
    pacer: Pacer
    caller: ExchangeCaller
    principal: Principal
    random: Random = field(default_factory=Random, repr=False)
    counts: SocketCounts = field(default_factory=SocketCounts)
    life_ms: int = LIFE_MS
    _refusal: ExchangeRefusal | None = None

    async def run(self, listener: ReportListener) -> None:
        """Subscribe and listen; after a loss, subscribe again.

        Raises:
            InvalidCredentials: the exchange does not accept the key; there is no further attempt.
        """
        clock, failures, self._refusal = self.caller.clock, 0, None
        while True:
            await self.pacer.wait(failures)
            began_ms = clock.monotonic_ms()
            await self._serve(listener)
            if self._refusal is not None:
                raise credentials_error(self.caller.network, self._refusal, self.principal)
            failures = 1 if clock.monotonic_ms() - began_ms >= WELL_MS else failures + 1

    async def _serve(self, listener: ReportListener) -> None:
        """Serve one connection and its replacements; return when a connection is lost without a replacement."""
        async with anyio.create_task_group() as tasks:
            link = await self._begin(tasks, listener)
            if link is not None:
                try:
                    while not link.is_over and self._refusal is None:
                        await link.news.wait()
                        if not link.is_over:
                            link = await self._relieve(tasks, link, listener)
                    if link.refusal is not None:
                        await self._heed(link.refusal)
                finally:
                    self.counts.lost += 1
                    listener.on_lost()
            tasks.cancel_scope.cancel()

    async def _relieve(self, tasks: anyio.abc.TaskGroup, link: "_UserLink", listener: ReportListener) -> "_UserLink":
        """Subscribe on a replacement connection; close the old one after an overlap."""
        await self.pacer.wait(0)
        successor = await self._begin(tasks, listener)
        if successor is None:
            link.postpone(self.random.uniform(*POSTPONED_MS))
            return link
        await self.caller.clock.sleep_ms(OVERLAP_MS)
        self.counts.renewed += 1
        link.end()
        return successor

    async def _begin(self, tasks: anyio.abc.TaskGroup, listener: ReportListener) -> "_UserLink | None":
        """Open a connection and subscribe on it; return None on failure."""
        budget = self.caller.budget
        try:
            if not await budget.spend(SUBSCRIPTION):
                return None
        except AppError as error:
            LOG.info("no user stream: %s", error.message)
            if isinstance(error, RateLimited):
                await self.caller.clock.sleep_ms(error.retry_after_secs * 1_000)
            return None
        try:
            connection = await self.dialer.connect(self.url)
        except OSError as error:
            LOG.info("no user stream: %s", error)
            return None
        finally:
            budget.landed(SUBSCRIPTION)
        life_ms = self.life_ms * self.random.uniform(SHORTEST_LIFE, 1)
        link = _UserLink(connection, self.caller, listener, self.counts, life_ms)
        tasks.start_soon(link.run, self._request)
        await link.answered.wait()
        if link.refusal is not None:
            await self._heed(link.refusal)
        if not link.is_subscribed or link.is_over:
            return None
        self.counts.opened += 1
        listener.on_subscribed()
        return link

    async def _request(self) -> str:
        time = self.caller.time
        if time.is_due:
            # If the clock cannot be read, the estimate is used. If that is wrong the exchange answers -1021, and the
            # clock is read again.
            with suppress(NoAnswer, ExchangeRefused, AppError, *UNREADABLE):
                await self.caller.sync_time()
        params: dict[str, str | int] = {
            "apiKey": self.principal.credentials.api_key,
            "recvWindow": RECV_WINDOW_MS,
            "timestamp": time.likely_ms(),
        }
        params["signature"] = self.principal.signer.sign(socket_payload(params).encode())
        return msgspec.json.encode({"id": METHOD, "method": METHOD, "params": params}).decode()

    async def _heed(self, refusal: ExchangeRefusal) -> None:
        self.counts.refused += 1
        LOG.warning("the exchange refused the user stream (code %s)", refusal.code)
        if refusal.is_rate_limit:
            await self.caller.budget.halt(refusal)
        elif refusal.is_timestamp:
            self.caller.time.forget()
        elif refusal.is_credentials:
            self._refusal = refusal


class _UserLink:
    """One network connection: it subscribes, reads, and signals when it needs a replacement or has ended."""

    def __init__(
        self,
        connection: StreamConnection,
        caller: ExchangeCaller,
        listener: ReportListener,
        counts: SocketCounts,
        life_ms: float,
    ) -> None:
        self.answered, self.news = anyio.Event(), anyio.Event()
        self.refusal: ExchangeRefusal | None = None
        self.is_over = False
        self._connection, self._caller, self._listener, self._counts = connection, caller, listener, counts
        self._subscription: int | None = None
        self._scope = anyio.CancelScope()
        self._ends_ms = caller.clock.monotonic_ms() + life_ms

    @property
    def is_subscribed(self) -> bool:
        return self._subscription is not None

    async def run(self, request: Callable[[], Awaitable[str]]) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch)
                    await self._talk(request)
        finally:
            self.is_over = True
            self.answered.set()
            self.news.set()
            with anyio.CancelScope(shield=True):
                await self._connection.close()

    def end(self) -> None:
        self._scope.cancel()

    def postpone(self, pause_ms: float) -> None:
        """Delay the next attempt to open a replacement."""
        if not self.is_over:
            self.news = anyio.Event()
            self._ends_ms = self._caller.clock.monotonic_ms() + pause_ms

    async def _talk(self, request: Callable[[], Awaitable[str]]) -> None:
        try:
            await self._connection.send(await request())
            while True:
                for _ in range(FRAMES_A_TURN):
                    self._take(await self._connection.recv())
                await anyio.lowlevel.checkpoint()
        except ConnectionError:
            self.end()

    async def _watch(self) -> None:
        clock = self._caller.clock
        await clock.sleep_until_ms(clock.monotonic_ms() + ANSWER_MS)
        if not self.answered.is_set():
            self.end()
        while True:
            now_ms = clock.monotonic_ms()
            if now_ms >= self._ends_ms:
                self.news.set()
            await clock.sleep_until_ms(max(self._ends_ms, now_ms + POSTPONED_MS[0]))

    def _take(self, raw: bytes) -> None:
        # Invalid UTF-8 and deep nesting raise other errors than msgspec's.
        try:
            frame = _FRAME.decode(raw)
            if frame.status is None:
                self._hear(frame)
            elif frame.id == METHOD and not self.answered.is_set():
                self._hear_answer(frame)
            elif (refusal := frame.refusal(self._now_ms)) is not None and refusal.is_credentials:
                # An error that answers no request: the key was revoked.
                self.refusal = refusal
                self.end()
        except (ValueError, RecursionError):
            self._counts.unreadable += 1
            if self._counts.unreadable.bit_count() == 1:
                LOG.warning("a frame of the user stream could not be read (%d so far)", self._counts.unreadable)
            self._listener.on_missed()

    def _hear_answer(self, frame: UserFrameWire) -> None:
        self.refusal = frame.refusal(self._now_ms)
        if self.refusal is None:
            self._subscription = _SUBSCRIPTION.decode(frame.result).subscription_id
            self.answered.set()
        else:
            self.end()

    def _hear(self, frame: UserFrameWire) -> None:
        kind = _HEAD.decode(frame.event).kind
        if kind == "serverShutdown":
            self.news.set()
        elif frame.subscription_id != self._subscription:
            return
        elif kind == "eventStreamTerminated":
            self.end()
        elif kind == "executionReport":
            self._listener.on_report(_REPORT.decode(frame.event).to_domain())

    @property
    def _now_ms(self) -> int:
        return self._caller.time.likely_ms()
