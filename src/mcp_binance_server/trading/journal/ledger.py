"""Claims, limits and states of intents. Each change is one transaction that all processes of this host see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.journal.agreements import PreviewIsDeclined, is_declined
from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.intents import (
    adopt,
    find,
    follow,
    follow_named,
    insert,
    move,
    named,
    release,
    unresolved,
)
from mcp_binance_server.trading.journal.limits import LimitPassed, PositionRoom, count, require_room, take, used_of
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast, past_of
from mcp_binance_server.trading.journal.records import Intent, IntentState, NewIntent, Stopped
from mcp_binance_server.trading.journal.stops import (
    ALL_ACCOUNTS,
    STOP_FILE,
    TradingIsStopped,
    lift,
    own_stop,
    require_started,
    resume,
    stop,
    stopped_in,
)
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.judgement.charges import Charge
from mcp_binance_server.trading.judgement.exposure import Holding, Purpose
from mcp_binance_server.trading.judgement.guards import Denied
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

# Callers of `claim` also import the exceptions that it raises.
__all__ = ["STOP_FILE", "HostLedger", "LimitPassed", "PositionRoom", "PreviewIsDeclined", "TradingIsStopped"]


@dataclass(frozen=True, slots=True)
class Admitted:
    """Admission of an order that no guard denies: its purpose and charges."""

    purpose: Purpose
    charges: tuple[Charge, ...]


Judge = Callable[[OrderPast], Denied | Admitted]
"""Check of a new order with the inputs from the journal."""


class GuardDenied(Exception):
    """Claim that a guard denies; nothing was claimed."""

    def __init__(self, denied: Denied) -> None:
        super().__init__(denied.guard)
        self.denied = denied


def admitted(ruling: Denied | Admitted) -> Admitted:
    """Return the admission of an order.

    Raises:
        GuardDenied: a guard denies it.
    """
    if isinstance(ruling, Denied):
        raise GuardDenied(ruling)
    return ruling


@dataclass(frozen=True, slots=True)
class HostLedger:
    """Journal of one folder, as one process uses it."""

    store: Store
    owner: str

    async def claim(  # noqa: PLR0917 - all inputs of a claim
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None = None,
        judge: Judge | None = None,
        holding: Holding | None = None,
    ) -> tuple[Intent, bool]:
        """Claim an intent and charge it to all limits, or do neither. Return the intent, and whether it is new.

        An intent is its own idempotency key: a second caller with the same intent gets the result of the first. The
        guards run in the same transaction. Otherwise two equal orders could pass at the same time.

        Raises:
            GuardDenied: a guard denies it.
            LimitPassed: it would pass a limit.
            TradingIsStopped: no new order is taken.
            PreviewIsDeclined: the preview was declined.
        """

        def work(rows: Rows) -> tuple[Intent, bool]:
            if (found := find(rows, new.preview_id)) is not None:
                return found, False
            if is_declined(rows, new.preview_id):
                raise PreviewIsDeclined
            found = Admitted("entry", charges)
            if judge is not None:
                found = admitted(judge(past_of(rows, self.store, new.terms, charges, now_ms, room, holding)))
            account = new.terms.account
            require_started(rows, self.store, account, found.purpose, new.way)
            take(rows, account, found.charges, now_ms)
            if room is not None and found.purpose == "entry":
                require_room(rows, account, room, new.terms.taken)
            return insert(rows, new, self.owner, now_ms, found.purpose), True

        return await self.store.write(work)

    async def adopt(self, new: NewIntent, charges: tuple[Charge, ...], order: Order, now_ms: int) -> Intent | None:
        """Record an order of this server that the journal lacks. Return None if the journal has the order already.

        The order counts for the day of its creation. A passed limit does not refuse it, because the order already
        exists.
        """

        def work(rows: Rows) -> Intent | None:
            if find(rows, new.preview_id) is not None:
                return None
            count(rows, new.terms.account, charges, order.created_ms)
            return adopt(rows, new, self.owner, order, now_ms)

        return await self.store.write(work)

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None:
        """Record that the order is about to be sent. Until now a stop of trading could prevent it.

        Raises:
            TradingIsStopped: it must not be sent.
            IllegalMove: another process has settled it.
        """

        def work(rows: Rows) -> None:
            intent = find(rows, preview_id)
            if intent is None:
                require_started(rows, self.store, ALL_ACCOUNTS)
            else:
                require_started(rows, self.store, intent.terms.account, intent.purpose, intent.way)
            moved = move(rows, preview_id, "SENT", {}, now_ms)
            if moved.terms.replaces is not None and not moved.terms.amends:
                replaced = named(rows, moved.terms.replaces)
                if replaced is not None and replaced.terms.account == moved.terms.account:
                    release(rows, replaced.preview_id, preview_id)

        await self.store.write(work)

    async def move(
        self,
        preview_id: PreviewId,
        state: IntentState,
        facts: Mapping[str, Any],
        now_ms: int,
        *orders: Order,
        target: Order | None = None,
    ) -> Intent:
        """Record the result of an intent, and the state of its orders if known. Repeated calls change nothing.

        `target` is the order that was to be replaced, if the answer contains its state.

        Raises:
            IllegalMove: the state cannot follow the current one.
        """

        def work(rows: Rows) -> Intent:
            moved = move(rows, preview_id, state, facts, now_ms)
            if target is not None:
                follow_named(rows, moved.terms.account, target, now_ms)
            for order in orders:
                moved = follow(rows, preview_id, order, now_ms)
            return moved

        return await self.store.write(work)

    async def follow(self, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
        """Record the state of the order as the exchange reports it. The state only advances."""
        return await self.store.write(lambda rows: follow(rows, preview_id, order, now_ms))

    async def release(self, preview_id: PreviewId, released_for: str) -> None:
        """Record for which intent an order was cancelled. Ignore an order that is not in the journal."""

        def work(rows: Rows) -> None:
            if find(rows, preview_id) is not None:
                release(rows, preview_id, released_for)

        await self.store.write(work)

    async def note(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str = "") -> None:
        """Record an event that changes no intent: a declined preview, a refusal, a change of the rules."""
        await self.store.write(lambda rows: append(rows, now_ms, about, state, facts))

    async def note_once(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str) -> None:
        """Record an event once per intent and kind. Retries must not fill the disk."""

        def work(rows: Rows) -> None:
            if rows.execute("SELECT 1 FROM event WHERE about=? AND state=?", (about, state)).fetchone() is None:
                append(rows, now_ms, about, state, facts)

        await self.store.write(work)

    async def find(self, preview_id: PreviewId) -> Intent | None:
        return await self.store.read(lambda rows: find(rows, preview_id))

    async def named(self, account: str, client_order_id: str) -> Intent | None:
        """Return an intent of an account by its ID at the exchange."""
        return await JournalReader(self.store).by_client_order_id(account, client_order_id)

    async def past(
        self,
        terms: Terms,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None,
        holding: Holding | None = None,
    ) -> OrderPast:
        """Return the inputs of the guards from the journal."""
        return await JournalReader(self.store).past(terms, charges, now_ms, room, holding)

    async def reason_of(self, intent: Intent) -> str:
        """Return the reason for the state of an intent; "" if none was given."""
        past = await JournalReader(self.store).history(intent.preview_id)
        said = [each.told for each in past if each.state == intent.state]
        return str(said[-1].get("reason", "")) if said else ""

    async def agree(self) -> None:
        """Do nothing, because all processes of this host read the same journal."""

    async def used(self, account: str, charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]:
        """Return the usage of each limit."""
        return await self.store.read(lambda rows: {each.name: used_of(rows, account, each, now_ms) for each in charges})

    async def unresolved(self, account: str | None = None) -> list[Intent]:
        """Return the intents with an unknown outcome, the oldest first."""
        return await self.store.read(lambda rows: unresolved(rows, account))

    async def stop(
        self, why: str, by: str, now_ms: int, account: str = ALL_ACCOUNTS, *, allows_exits: bool = True
    ) -> Stopped:
        """Stop all new orders of an account, or of all accounts. The first reason of each stop stays."""

        def work(rows: Rows) -> Stopped:
            return stop(rows, self.store, why, by, now_ms, account, allows_exits=allows_exits)

        return await self.store.write(work)

    async def resume(self, by: str, now_ms: int, account: str | None = None) -> None:
        """Resume new orders and accept the journal as it is. Lift all stops, or only the stop of one account."""
        await self.store.write(lambda rows: resume(rows, self.store, by, now_ms, account))
        if not account:
            await self.store.read(lambda rows: lift(rows, self.store))

    async def stopped(self, account: str = ALL_ACCOUNTS) -> Stopped | None:
        """Return the stop that applies to an account. The global stop comes before the account's own."""
        return await self.store.read(lambda rows: stopped_in(rows, self.store, account))

    async def own_stop(self, account: str) -> Stopped | None:
        """Return the stop of this account only. For `ALL_ACCOUNTS`, this is the global stop."""
        return await self.store.read(lambda rows: own_stop(rows, self.store, account))

    async def stops(self) -> list[Stopped]:
        """Return all stops, the global one first."""
        return await JournalReader(self.store).stops()
