"""Claims, limits and the states of intents: each change is one transaction that every process of this host sees."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.journal.agreements import PreviewIsDeclined, is_declined
from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.intents import adopt, find, follow, follow_named, insert, move, unresolved
from mcp_binance_server.trading.journal.limits import LimitPassed, PositionRoom, count, require_room, take, used_of
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast, past_of
from mcp_binance_server.trading.journal.records import Intent, IntentState, NewIntent, Stopped
from mcp_binance_server.trading.journal.stops import (
    EVERYBODY,
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
from mcp_binance_server.trading.judgement.guards import Denied
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

# Who claims must know what a claim can be refused for.
__all__ = ["STOP_FILE", "HostLedger", "LimitPassed", "PositionRoom", "PreviewIsDeclined", "TradingIsStopped"]


Judge = Callable[[OrderPast], Denied | None]
"""Says which guard does not allow a new order, by what the journal says beside it."""


class GuardDenied(Exception):
    """A claim that a guard does not allow; nothing was claimed."""

    def __init__(self, denied: Denied) -> None:
        super().__init__(denied.guard)
        self.denied = denied


@dataclass(frozen=True, slots=True)
class HostLedger:
    """The journal of one folder, for one process."""

    store: Store
    owner: str

    async def claim(
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None = None,
        judge: Judge = lambda _: None,
    ) -> tuple[Intent, bool]:
        """Claim an intent and its part of every limit, or nothing; return it, and whether it is new.

        The second caller with the same intent gets what the first has made of it: an intent is its own idempotency key.
        Guards judge in the same transaction: of two equal orders at once each would see none before it.

        Raises:
            GuardDenied: a guard does not allow it.
            LimitPassed: a limit does not allow it.
            TradingIsStopped: no new order is taken.
            PreviewIsDeclined: somebody has said no to it.
        """

        def work(rows: Rows) -> tuple[Intent, bool]:
            if (found := find(rows, new.preview_id)) is not None:
                return found, False
            if is_declined(rows, new.preview_id):
                raise PreviewIsDeclined
            if (denied := judge(past_of(rows, self.store, new.terms, charges, now_ms, room))) is not None:
                raise GuardDenied(denied)
            account = new.terms.account
            require_started(rows, self.store, account)
            take(rows, account, charges, now_ms)
            if room is not None:
                require_room(rows, account, room, new.terms.taken)
            return insert(rows, new, self.owner, now_ms), True

        return await self.store.write(work)

    async def adopt(self, new: NewIntent, charges: tuple[Charge, ...], order: Order, now_ms: int) -> Intent | None:
        """Write down an order of ours that the exchange has and the journal does not; None if it does by now.

        It is counted for the day it was made on. Nobody can refuse it any more: it may pass a limit.
        """

        def work(rows: Rows) -> Intent | None:
            if find(rows, new.preview_id) is not None:
                return None
            count(rows, new.terms.account, charges, order.created_ms)
            return adopt(rows, new, self.owner, order, now_ms)

        return await self.store.write(work)

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None:
        """Write that it leaves now: the last moment at which a stop still holds it back.

        Raises:
            TradingIsStopped: it must not leave.
            IllegalMove: somebody has settled it meanwhile.
        """

        def work(rows: Rows) -> None:
            intent = find(rows, preview_id)
            require_started(rows, self.store, EVERYBODY if intent is None else intent.terms.account)
            move(rows, preview_id, "SENT", {}, now_ms)

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
        """Write what became of an intent, and how its orders stand if that was told; the same again changes nothing.

        `target` is the order that it was to replace, if the answer said how that stands.

        Raises:
            IllegalMove: that cannot follow on what stands.
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
        """Write what the exchange says of the order; knowledge only grows."""
        return await self.store.write(lambda rows: follow(rows, preview_id, order, now_ms))

    async def note(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str = "") -> None:
        """Write an event that changes no intent: a no, a refusal, a change of the rules."""
        await self.store.write(lambda rows: append(rows, now_ms, about, state, facts))

    async def note_once(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str) -> None:
        """Write such an event unless there is one of its kind: who tries again and again fills no disk."""

        def work(rows: Rows) -> None:
            if rows.execute("SELECT 1 FROM event WHERE about=? AND state=?", (about, state)).fetchone() is None:
                append(rows, now_ms, about, state, facts)

        await self.store.write(work)

    async def find(self, preview_id: PreviewId) -> Intent | None:
        return await self.store.read(lambda rows: find(rows, preview_id))

    async def named(self, account: str, client_order_id: str) -> Intent | None:
        """Return an intent of an account by its id at the exchange."""
        return await JournalReader(self.store).by_client_order_id(account, client_order_id)

    async def past(
        self, terms: Terms, charges: tuple[Charge, ...], now_ms: int, room: PositionRoom | None
    ) -> OrderPast:
        """Return what guards compare a new order with."""
        return await JournalReader(self.store).past(terms, charges, now_ms, room)

    async def reason_of(self, intent: Intent) -> str:
        """Return why an intent stands as it does, if that was said."""
        past = await JournalReader(self.store).history(intent.preview_id)
        said = [each.told for each in past if each.state == intent.state]
        return str(said[-1].get("reason", "")) if said else ""

    async def agree(self) -> None:
        """Do nothing: every process of this host reads the same journal."""

    async def used(self, account: str, charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]:
        """Return what is used of each limit."""
        return await self.store.read(lambda rows: {each.name: used_of(rows, account, each, now_ms) for each in charges})

    async def unresolved(self, account: str | None = None) -> list[Intent]:
        """Return the intents that nobody knows the end of, the oldest first."""
        return await self.store.read(lambda rows: unresolved(rows, account))

    async def stop(self, why: str, by: str, now_ms: int, account: str = EVERYBODY) -> Stopped:
        """Stop every new order of an account, or of everybody; the first reason of each stays."""
        return await self.store.write(lambda rows: stop(rows, self.store, why, by, now_ms, account))

    async def resume(self, by: str, now_ms: int, account: str | None = None) -> None:
        """Take new orders again, by the journal as it is: of everybody and every account, or of one alone."""
        await self.store.write(lambda rows: resume(rows, self.store, by, now_ms, account))
        if not account:
            await self.store.read(lambda rows: lift(rows, self.store))

    async def stopped(self, account: str = EVERYBODY) -> Stopped | None:
        """Return what holds the orders of an account: everybody's stop, else its own."""
        return await self.store.read(lambda rows: stopped_in(rows, self.store, account))

    async def own_stop(self, account: str) -> Stopped | None:
        """Return the stop of this account alone, or the one of everybody."""
        return await self.store.read(lambda rows: own_stop(rows, self.store, account))

    async def stops(self) -> list[Stopped]:
        """Return every stop, everybody's first."""
        return await JournalReader(self.store).stops()
