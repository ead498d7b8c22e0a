"""Stop of trading for one account or for all, shared by all workers. A stop or resume on one worker applies to all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.state.claims import AccountBook
from mcp_binance_server.state.engine import Claims
from mcp_binance_server.trading.fleet.ledger import OPEN_ONLY
from mcp_binance_server.trading.journal.chain import Event
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.stops import ALL_ACCOUNTS, lift_row

FLEET: Final = "another server of this fleet"
# Name of the global stop in the shared state. No account has this name.
ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class SharedStop:
    """Stop of one account, or the global stop, kept in this worker's journal and in the shared state."""

    host: HostLedger
    engine: Claims
    account: str
    now_ms: Callable[[], int]

    async def share(self, book: AccountBook) -> None:
        """Synchronise the journal and the shared state. The later of a stop and a resume applies."""
        own = await self.host.own_stop(self.account)
        if own is not None and own.since_ms <= book.resumed_ms:
            store, now_ms = self.host.store, self.now_ms()
            await store.write(lambda rows: lift_row(rows, store, FLEET, now_ms, self.account))
            own = await self.host.own_stop(self.account)
        if own is None and book.stop is not None:
            await self.host.stop(
                book.stop.why, FLEET, book.stop.since_ms, self.account, allows_exits=book.stop.allows_exits
            )
        elif own is not None and book.stop is None:
            await self.engine.stop_account(
                _named(self.account), own.why, since_ms=own.since_ms, allows_exits=own.allows_exits
            )

    async def publish_resumed(self, event: Event) -> None:
        """Share that a person resumed this account here. If all accounts were resumed, share each lifted stop."""
        lifted: dict[str, int] = event.told.get("lifted", {})
        for account, since_ms in lifted.items():
            if self.account in (ALL_ACCOUNTS, account):
                await self._resume(account, max(event.at_ms, since_ms))

    async def _resume(self, account: str, at_ms: int) -> None:
        book = await self.engine.account_book(_named(account), now_ms=OPEN_ONLY, since_ms=OPEN_ONLY)
        if book.stop is None or book.stop.since_ms <= at_ms:  # a later stop was not lifted
            await self.engine.resume_account(_named(account), now_ms=at_ms)


@dataclass(eq=False)
class GlobalStop:
    """Sharing of a machine's global stop with the fleet. Every worker stops the accounts of that machine."""

    shared: SharedStop
    _seq: int | None = None

    async def tick(self) -> None:
        """Run one synchronisation.

        Raises:
            AppError: the state or the journal is unavailable; the next tick continues.
        """
        reader = JournalReader(self.shared.host.store)
        if self._seq is None:  # earlier resumes have been shared already
            self._seq = (await reader.changed_since(OPEN_ONLY))[0]
        events = await reader.events_since(self._seq)
        for each in resumings(events):
            await self.shared.publish_resumed(each)
        if events:
            self._seq = events[-1].seq
        book = await self.shared.engine.account_book(ALL, now_ms=OPEN_ONLY, since_ms=OPEN_ONLY)
        await self.shared.share(book)


def resumings(events: Iterable[Event]) -> list[Event]:
    """Return the resumes made on this worker. Resumes by other workers are already shared."""
    return [each for each in events if each.state == "RESUMED" and each.told.get("by") != FLEET]


def _named(account: str) -> str:
    return ALL if account == ALL_ACCOUNTS else account
