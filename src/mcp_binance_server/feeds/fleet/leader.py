"""Leader of a symbol: the one process of a fleet that streams it from the exchange."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.feeds.fleet.journal import (
    LOST,
    BookPage,
    JournalLine,
    JournalPage,
    SharedBook,
    encode,
)
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.readers import FINISHED_LEVELS
from mcp_binance_server.state.engine import MAX_VALUE_BYTES, Fenced, Lease, Leases

LEASE_MS = 1_500
RENEW_MS = LEASE_MS // 3
PAGE_MS = 250
# Followers read a page immediately. It is kept longer only for inspection by an operator.
KEPT_MS = 10_000
LONGEST_WANT_MS = 15_000
# Stop publishing best levels if no follower has requested them for this long. A new leader starts without requests.
FINISHED_MS = 3 * LONGEST_WANT_MS
TICKER = 3


def finished_channel(channel: str) -> str:
    """Return the channel for pages with the best levels. It is separate from the symbol's journal."""
    return f"{channel}:finished"


@dataclass(eq=False)
class Leader:
    """Leader of one symbol. It renews its lease and publishes a page four times a second."""

    symbol: Symbol
    names: tuple[str, ...]
    channel: str
    engine: Leases
    clock: Clock
    hub: Hub
    lease: Lease
    began_ms: float
    book_is_due: bool = True
    finished_wanted_ms: float = 0.0
    _number: int = 0
    _ticker: bytes = b""
    _lines: list[JournalLine] = field(default_factory=list[JournalLine])

    def note(self, stream: str, data: msgspec.Raw) -> None:
        """Add an event to the journal."""
        place = self.names.index(stream)
        self._lines.append(JournalLine(place, self.engine.now_ms(), bytes(data)))
        if place == TICKER:
            self._ticker = bytes(data)

    def note_lost(self) -> None:
        """Record in the journal that events of the exchange may be missing."""
        self._lines.append(JournalLine(LOST, self.engine.now_ms()))

    async def lead(self) -> None:
        """Publish until another process takes the lease.

        If the engine is down, only readers in this process are served.
        """
        while True:
            await self.clock.sleep_ms(PAGE_MS)
            try:
                if self._renewal_is_due and not await self._renew():
                    return
                if await self._write() is not Fenced.WRITTEN and not await self._renew():
                    return
            except EngineUnavailable:
                self._lines.clear()  # followers detect the gap by the number of the next page

    @property
    def _renewal_is_due(self) -> bool:
        return self.clock.monotonic_ms() - self.began_ms >= RENEW_MS

    async def _renew(self) -> bool:
        began_ms = self.clock.monotonic_ms()
        lease = await self.engine.lease(self.lease.name, self.lease.owner, ttl_ms=LEASE_MS)
        if lease is None:
            return False
        if lease.token != self.lease.token:
            self._number, self.book_is_due = 0, True
        self.lease, self.began_ms = lease, began_ms
        return True

    async def _write(self) -> Fenced:
        lines, self._lines = self._lines, []
        self._number += 1
        feed = self.hub.peek(self.symbol) if self.book_is_due else None
        book = SharedBook.of(feed.book, feed.book_ms) if feed is not None and feed.is_live else None
        written = encode(self._page(lines, book))
        if len(written) > MAX_VALUE_BYTES:
            written = encode(self._page([JournalLine(LOST, self.engine.now_ms())], book))
        outcome = await self.engine.put_fenced(
            self.channel, written, lease=self.lease, ttl_ms=KEPT_MS, channel=self.channel
        )
        if book is not None and outcome is Fenced.WRITTEN:
            self.book_is_due = False
        if outcome is Fenced.WRITTEN and self.clock.monotonic_ms() - self.finished_wanted_ms < FINISHED_MS:
            await self._write_finished()
        return outcome

    async def _write_finished(self) -> None:
        channel, page = finished_channel(self.channel), encode(self._book_page())
        await self.engine.put_fenced(channel, page, lease=self.lease, ttl_ms=KEPT_MS, channel=channel)

    def _book_page(self) -> BookPage:
        feed = self.hub.peek(self.symbol)
        book = None
        if feed is not None and feed.is_live:
            book = SharedBook.of(feed.book, feed.book_ms, FINISHED_LEVELS)
        ticker, self._ticker = self._ticker, b""
        time = self.hub.time.earliest_ms(), self.hub.time.now_ms()
        lag_ms, traded_ms = (0, None) if feed is None else (feed.lag_ms, feed.last_trade_ms)
        return BookPage(
            int(self.lease.token), self._number, self.engine.now_ms(), book, lag_ms, ticker, traded_ms, time
        )

    def _page(self, lines: list[JournalLine], book: SharedBook | None) -> JournalPage:
        time = self.hub.time.earliest_ms(), self.hub.time.now_ms()
        return JournalPage(int(self.lease.token), self._number, self.engine.now_ms(), lines, book, time)


class ReceiptTime:
    """Clock of the exchange's time. It can be set back for the handling of an older event."""

    __slots__ = ("_ago_ms", "_time")

    def __init__(self, time: ServerTime) -> None:
        self._time = time
        self._ago_ms = 0

    def now_ms(self) -> int:
        return self._time.now_ms() - self._ago_ms

    def earliest_ms(self) -> int:
        return self._time.earliest_ms() - self._ago_ms

    def witness(self, event_ms: int) -> bool:
        return self._time.witness(event_ms + self._ago_ms)

    def hear(self, earliest_ms: int, latest_ms: int) -> None:
        self._time.hear(earliest_ms + self._ago_ms, latest_ms + self._ago_ms)

    @contextmanager
    def ago(self, ms: int) -> Generator[None]:
        """Set the clock back inside the block. The block must not wait."""
        self._ago_ms = max(0, ms)
        try:
            yield
        finally:
            self._ago_ms = 0
