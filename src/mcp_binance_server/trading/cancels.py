"""Cancels of orders.

Each cancel is sent once, even while trading is stopped. Its result is read from the order's status.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target
from mcp_binance_server.domain.orders import FINAL_STATUS, Order
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.watching import CancelState
from mcp_binance_server.trading.judgement.terms import PreviewId
from mcp_binance_server.trading.placed import Placed, facts_of
from mcp_binance_server.trading.settling import Settling
from mcp_binance_server.trading.tasks import BackgroundTasks

CANCEL_OF: Mapping[Fate, CancelState] = {
    Fate.REFUSED: "CANCEL_REFUSED",
    Fate.ACCEPTED: "CANCELLED",
    Fate.UNKNOWN: "CANCEL_UNKNOWN",
}
SendOnce = Callable[[Callable[[Gate], Awaitable[Outcome]], Gate], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Cancels:
    """Cancel operations of one order desk."""

    settling: Settling
    background_tasks: BackgroundTasks[Placed | None]
    once: SendOnce
    look: Callable[[str], Awaitable[None]]

    async def cancel(self, intent: Intent, visitor: str, plan: PreviewId | None = None) -> Placed:
        """Cancel an order of the journal and return its new state. `plan` is the sale that needs its coins."""
        outcome = await self._sent(intent, visitor, plan)
        if outcome.fate is Fate.NOT_SENT:
            return Placed(intent, outcome.reason)
        state, orders = CANCEL_OF[outcome.fate], _orders(outcome)
        facts, now_ms = facts_of(outcome), self.settling.now_ms()
        stands = await self.settling.watch.end_cancel(intent.preview_id, state, facts, now_ms, *orders)
        is_open = any(each.status not in FINAL_STATUS for each in orders)
        if not orders or (state == "CANCEL_UNKNOWN" and is_open):
            self.background_tasks.beside(partial(self.settling.follow_cancel, stands or intent))
        if orders and intent.state == "NOT_PLACED":
            await self.look(intent.terms.account)
        return _told(stands or intent, outcome)

    async def cancel_found(self, found: Intent, visitor: str) -> Placed:
        """Cancel an order that this server did not place. Only the result is recorded, under the order's ID."""
        outcome = await self._sent(found, visitor)
        if outcome.fate is Fate.NOT_SENT:
            return Placed(found, outcome.reason)
        state, order, now_ms = CANCEL_OF[outcome.fate], outcome.order, self.settling.now_ms()
        await self.settling.watch.end_cancel(found.preview_id, state, facts_of(outcome), now_ms)
        if order is None:
            return _told(found, outcome)
        final_ms = now_ms if order.status in FINAL_STATUS else None
        stands = replace(
            found, status=order.status, executed=order.executed, spent=order.quote_spent, final_ms=final_ms
        )
        return _told(stands, outcome)

    async def _sent(self, intent: Intent, visitor: str, plan: PreviewId | None = None) -> Outcome:
        async def mark() -> None:
            owner, now_ms = self.settling.ledger.owner, self.settling.now_ms()
            await self.settling.watch.ask_to_cancel(intent.preview_id, owner, visitor, now_ms, plan)

        is_list = intent.terms.exits is not None
        target = Target(intent.terms.symbol, intent.client_order_id, None if is_list else intent.order_id, is_list)
        outcome = await self.once(partial(self.settling.broker_of(intent.terms.account).cancel, target), mark)
        if outcome.fate is Fate.NOT_SENT or _orders(outcome):
            return outcome
        # The cancel had no answer, or the exchange knows no such order. The exchange cannot be asked about a cancel, so
        # query the order.
        found = await self._asked_once(intent)
        return replace(outcome, legs=found) if is_list else replace(outcome, order=next(iter(found), None))

    async def _asked_once(self, intent: Intent) -> tuple[Order, ...]:
        broker, found = self.settling.broker_of(intent.terms.account), list[Order]()
        with suppress(AppError), self.background_tasks.breakable():
            for name in intent.asked_ids:
                order = await broker.ask(intent.terms.symbol, name)
                found += [] if order is None else [order]
        return tuple(found)


def _orders(outcome: Outcome) -> tuple[Order, ...]:
    return outcome.legs if outcome.order is None else (outcome.order,)


def _told(stands: Intent, outcome: Outcome) -> Placed:
    if stands.is_cancelled:
        return Placed(stands, outcome.reason, "CANCELLED")
    return Placed(stands, outcome.reason, CANCEL_OF[outcome.fate] if _orders(outcome) else "CANCEL_UNKNOWN")
