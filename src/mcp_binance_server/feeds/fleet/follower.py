"""Follower of a symbol: it reads the leader's journal and takes over if the leader is silent."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.feeds.fleet.journal import (
    LOST,
    BookPage,
    FollowRequest,
    JournalLine,
    JournalPage,
    SharedBook,
    Thread,
    Verdict,
    decode_book_page,
    decode_page,
    encode,
)
from mcp_binance_server.feeds.fleet.leader import LEASE_MS, PAGE_MS, TICKER, ReceiptTime, finished_channel
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.readers import Need
from mcp_binance_server.state.engine import Lease, Leases

# A leader counts as silent after three missed pages.
SILENCE_MS = 3 * PAGE_MS
ATTEMPT_MS = 50
# A book may be shown, with its age, until the last page is this old.
DEAD_MS = 5_000

Compete = Callable[[], Awaitable[Lease | None]]


@dataclass(eq=False)
class Follower:
    """Follower that passes the leader's events to this process's feed, as if they came from the exchange.

    If its readers need only the best levels, it reads the leader's book instead of the events.
    """

    symbol: Symbol
    names: tuple[str, ...]
    channel: str
    wants: str
    engine: Leases
    clock: Clock
    hub: Hub
    receipt: ReceiptTime
    want_ms: int
    thread: Thread = field(default_factory=Thread)
    finished: Thread = field(default_factory=Thread)
    _heard_ms: float = 0.0
    _quiet_since_ms: float = 0.0
    _is_cut_off: bool = False
    _is_told: bool = False

    async def follow(self, compete: Compete) -> Lease | None:
        """Read the journal until this process leads, and return its lease.

        Return None if the engine is lost or the readers' needs change.

        Raises:
            EngineUnavailable: the engine could not be reached.
        """
        now = self.clock.monotonic_ms()
        # After an outage of the engine, let the old leader win the lease: it still has the book.
        self._quiet_since_ms = now + SILENCE_MS if self._is_cut_off else now
        self._is_cut_off = False
        lease: Lease | None = None
        needs = self.hub.needs(self.symbol)
        channel = finished_channel(self.channel) if needs == "book" else self.channel
        async with self.engine.subscribe(channel) as pages, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read_finished if needs == "book" else self._read, pages)
            lease = await self._watch(compete, needs)
            tasks.cancel_scope.cancel()
        if self.hub.needs(self.symbol) != needs:
            self._is_told = False  # the feed has already restarted
        return lease

    async def want(self, *, book: bool) -> None:
        """Report to the leader that this process has a reader, and whether the reader needs events."""
        finished = self.hub.needs(self.symbol) == "book"
        await self.engine.publish(self.wants, encode(FollowRequest(self.symbol, book, finished)))

    async def _watch(self, compete: Compete, needs: Need) -> Lease | None:
        wanted_ms = -float(self.want_ms)
        try:
            while not self._is_cut_off and self.hub.needs(self.symbol) == needs:
                now = self.clock.monotonic_ms()
                if now - wanted_ms >= self.want_ms:
                    await self.want(book=wanted_ms < 0)
                    wanted_ms = now
                silent_ms = now - self._quiet_since_ms
                if silent_ms >= SILENCE_MS and (lease := await compete()) is not None:
                    return lease
                self.grow_old()
                await self.clock.sleep_ms(ATTEMPT_MS if silent_ms >= SILENCE_MS else PAGE_MS)
        except EngineUnavailable:
            self._is_cut_off = True
        return None

    async def _read(self, pages: AsyncIterator[bytes]) -> None:
        try:
            async for data in pages:
                try:
                    page = decode_page(data)
                except (ValueError, RecursionError):
                    continue  # a page of another version is ignored, so its leader counts as silent
                await self._take(page)
        except EngineUnavailable:
            pass
        self._is_cut_off = True

    async def _read_finished(self, pages: AsyncIterator[bytes]) -> None:
        with suppress(EngineUnavailable):
            async for data in pages:
                try:
                    self._show(decode_book_page(data))
                except (ValueError, RecursionError):
                    self.hub.troubles.refused(self.symbol)
        self._is_cut_off = True

    def _show(self, page: BookPage) -> None:
        now_ms = self.engine.now_ms()
        if self._judged(self.finished, page, now_ms) == "refused":
            return
        feed = self.hub.peek(self.symbol)
        if feed is None or page.book is None or self.hub.needs(self.symbol) != "book":
            return
        self._is_told = True
        page.book.check()
        with self.receipt.ago(now_ms - page.at_ms):
            if page.ticker:
                self.hub.on_event(self.names[TICKER], msgspec.Raw(page.ticker))
            if feed.on_finished(
                page.book.last_update_id,
                page.book.finished,
                time_ms=self.receipt.now_ms(),
                as_of_ms=page.book.as_of_ms,
                lag_ms=page.lag_ms,
                traded_ms=page.traded_ms,
            ):
                self.hub.joined(feed)

    def _judged(self, thread: Thread, page: JournalPage | BookPage, now_ms: int) -> Verdict:
        verdict = thread.judge(page, now_ms)
        if verdict == "refused":
            if self.clock.monotonic_ms() - self._heard_ms > 2 * LEASE_MS:
                thread.forget()  # after a restart without data, the engine's clock and counters may be lower
            return verdict
        self._heard_ms = self._quiet_since_ms = self.clock.monotonic_ms()
        with self.receipt.ago(now_ms - page.at_ms):
            self.receipt.hear(*page.time_ms)
        return verdict

    async def _take(self, page: JournalPage) -> None:
        now_ms = self.engine.now_ms()
        verdict = self._judged(self.thread, page, now_ms)
        if verdict == "refused":
            return
        if verdict == "broken":
            self.lose()
            self.hub.on_opened(self.names)
            self._is_told = True
        for line in page.lines:
            self._hear(line, now_ms)
        if page.book is not None:
            with self.receipt.ago(now_ms - page.at_ms):
                self._join(page.book)
        elif verdict == "broken":
            await self.want(book=True)

    def grow_old(self) -> None:
        """Mark the book as lost if no page has arrived within the limit."""
        if self.clock.monotonic_ms() - self._heard_ms >= DEAD_MS:
            self.lose()

    def lose(self) -> None:
        """Report once that events are missing."""
        if self._is_told:
            self._is_told = False
            self.hub.on_lost(self.names)

    def _hear(self, line: JournalLine, now_ms: int) -> None:
        with self.receipt.ago(now_ms - line.at_ms):
            if line.stream == LOST:
                self.hub.on_lost(self.names)
            else:
                self.hub.on_event(self.names[line.stream], msgspec.Raw(line.data))

    def _join(self, book: SharedBook) -> None:
        feed = self.hub.peek(self.symbol)
        # Never replace a shown book with an older one.
        if feed is None or book.last_update_id < feed.book.last_update_id:
            return
        feed.on_quiet()
        if not feed.needs_snapshot:
            return
        try:
            snapshot = book.snapshot()
        except ValueError:
            self.hub.troubles.refused(self.symbol)
            return
        self.hub.join(feed, snapshot, asked=book.asked, as_of_ms=book.as_of_ms)
