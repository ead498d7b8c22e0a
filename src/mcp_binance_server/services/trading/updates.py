"""Pages of an account's orders, told to have changed when the journal says something new of one of these orders."""

from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.journal.reading import JournalReader

# How often the journal is looked at while somebody waits: other processes of this machine write it too.
LOOK_MS = 1_000


@dataclass(eq=False)
class OrderUpdates:
    """Looks at the journal for all who wait, and at nothing while nobody does."""

    reader: JournalReader
    clock: Clock
    _seq: int = 0
    _looked_ms: float = float("-inf")
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _waiting: set["OrderNews"] = field(default_factory=set["OrderNews"])

    async def page(self, account: str) -> "OrderPage":
        """Return the pages of an account's orders; what is in the journal by now, whoever subscribes can read.

        Raises:
            JournalUnavailable: it cannot be read.
        """
        if not self._waiting:
            self._seq, _ = await self.reader.changed_since(self._seq)
        return OrderPage(self, account)

    @property
    def waiting(self) -> int:
        """How many wait for news."""
        return len(self._waiting)

    def open(self, account: str) -> "OrderNews":
        news = OrderNews(self, account)
        self._waiting.add(news)
        return news

    def close(self, news: "OrderNews") -> None:
        self._waiting.discard(news)

    async def look(self) -> None:
        """Wait until the journal is to be looked at again, and look; of all who wait for that, one does."""
        await self.clock.sleep_until_ms(self._looked_ms + LOOK_MS)
        async with self._lock:
            if self.clock.monotonic_ms() - self._looked_ms < LOOK_MS:
                return
            self._looked_ms = self.clock.monotonic_ms()
            with suppress(AppError):  # looked at again in a second; the status of trading says what is wrong
                self._seq, accounts = await self.reader.changed_since(self._seq)
                for news in self._waiting:
                    news.is_new |= news.account in accounts


@dataclass(frozen=True, slots=True)
class OrderPage:
    """The pages that show an account's orders: they change together."""

    updates: OrderUpdates
    account: str

    @property
    def key(self) -> str:
        return f"orders of {self.account}"

    def open(self) -> "OrderNews":
        return self.updates.open(self.account)


@dataclass(eq=False)
class OrderNews:
    """Whether there is news of an account's orders."""

    updates: OrderUpdates
    account: str
    is_new: bool = False

    @property
    def clock(self) -> Clock:
        return self.updates.clock

    def has_changed(self) -> bool:
        """Tell, once, whether an order of this account was placed, changed or settled."""
        was_new, self.is_new = self.is_new, False
        return was_new

    async def wait(self) -> None:
        await self.updates.look()

    def close(self) -> None:
        self.updates.close(self)
