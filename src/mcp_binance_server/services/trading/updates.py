"""Change notifications for the pages of an account's orders, from new events in the journal."""

from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.journal.reading import JournalReader

# Polling interval of the journal while clients wait, in ms. Polling finds the orders of other processes on this machine
# too.
LOOK_MS = 1_000


@dataclass(eq=False)
class OrderUpdates:
    """Polling of the journal for all waiting clients. It pauses while no client waits."""

    reader: JournalReader
    clock: Clock
    _seq: int = 0
    _looked_ms: float = float("-inf")
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _waiting: set["OrderNews"] = field(default_factory=set["OrderNews"])

    async def page(self, account: str) -> "OrderPage":
        """Return the pages of an account's orders.

        Only later events are reported, because a subscriber can read the page for earlier events.

        Raises:
            JournalUnavailable: it cannot be read.
        """
        if not self._waiting:
            self._seq, _ = await self.reader.changed_since(self._seq)
        return OrderPage(self, account)

    @property
    def waiting(self) -> int:
        """Number of clients that wait for changes."""
        return len(self._waiting)

    def open(self, account: str) -> "OrderNews":
        news = OrderNews(self, account)
        self._waiting.add(news)
        return news

    def close(self, news: "OrderNews") -> None:
        self._waiting.discard(news)

    async def look(self) -> None:
        """Wait until the next poll is due, then poll. Only one of the waiting callers polls."""
        await self.clock.sleep_until_ms(self._looked_ms + LOOK_MS)
        async with self._lock:
            if self.clock.monotonic_ms() - self._looked_ms < LOOK_MS:
                return
            self._looked_ms = self.clock.monotonic_ms()
            with suppress(AppError):  # The next poll is in a second. The trading status shows the problem.
                self._seq, accounts = await self.reader.changed_since(self._seq)
                for news in self._waiting:
                    news.is_new |= news.account in accounts


@dataclass(frozen=True, slots=True)
class OrderPage:
    """Pages that show an account's orders. All of them change together."""

    updates: OrderUpdates
    account: str

    @property
    def key(self) -> str:
        return f"orders of {self.account}"

    def open(self) -> "OrderNews":
        return self.updates.open(self.account)


@dataclass(eq=False)
class OrderNews:
    """Flag for changes of an account's orders."""

    updates: OrderUpdates
    account: str
    is_new: bool = False

    @property
    def clock(self) -> Clock:
        return self.updates.clock

    def has_changed(self) -> bool:
        """Return True once per change if an order of this account was placed, changed or settled."""
        was_new, self.is_new = self.is_new, False
        return was_new

    async def wait(self) -> None:
        await self.updates.look()

    def close(self) -> None:
        self.updates.close(self)
