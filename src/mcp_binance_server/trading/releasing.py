"""Sale of coins that open orders reserve: cancel these orders, sell, place exits for what remains.

Each step is recorded, has its own ID and is sent once. If a step is refused after a cancel, the old exits are placed
for everything that is still held. Only the process that claimed the plan sends its steps. If it dies, the next start
sends nothing: the released orders stay at risk in the journal, and every answer warns until there is an exit.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from mcp_binance_server.domain.money import Quantity, written
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.cancels import Cancels
from mcp_binance_server.trading.journal.ledger import Admitted
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import NEVER_EXECUTED, IllegalMove, Intent, NewIntent
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.trading.judgement.released import NOTHING, Released, freed_by, rest_of, shares_of
from mcp_binance_server.trading.judgement.steps import STEPS, Step, step_id, step_terms
from mcp_binance_server.trading.judgement.terms import client_order_id
from mcp_binance_server.trading.placed import Placed

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReleasingSales:
    """Sales of one order desk that cancel other orders first."""

    cancels: Cancels
    send: Callable[[Intent], Awaitable[Placed]]

    async def carry_out(self, plan: Intent) -> Placed:
        """Run all steps of a claimed plan and return the result of its sale."""
        left: dict[int, Quantity] = {}
        problem = ""
        for number, each in enumerate(plan.terms.releases):
            problem = await self._cancelled(plan, number, each, left)
            if problem:
                break
        placed = await self._not_sold(plan, problem) if problem else await self.send(plan)
        await self._protect(plan, left, _used(placed.intent))
        return placed

    async def _cancelled(self, plan: Intent, number: int, released: Released, left: dict[int, Quantity]) -> str:
        """Cancel one order and note what it has left. Return why the plan cannot go on, or ""."""
        ledger, name = self.cancels.settling.ledger, released.client_order_id
        old = await ledger.named(plan.terms.account, name)
        if old is None or old.final_ms is not None:
            return f"order {name} is no longer open"
        try:
            placed = await self.cancels.cancel(old, plan.visitor, plan.preview_id)
        except (AppError, IllegalMove) as error:
            LOG.error("order %s was not cancelled: %s", name, error)  # noqa: TRY400 - message is complete
            return f"the cancel of order {name} could not be recorded"
        stands = placed.intent
        if stands.final_ms is None:
            if placed.cancel == "CANCEL_UNKNOWN":
                self.cancels.background_tasks.beside(partial(self._protect_later, plan, number, stands))
                return f"the outcome of the cancel of order {name} is not known"
            return f"order {name} was not cancelled{placed.reason and f': {placed.reason}'}"
        left[number] = _left(released, stands)
        if left[number] < released.quantity:
            sold = written(released.quantity - left[number])
            return f"order {name} sold {sold} before it could be cancelled"
        return ""

    async def _not_sold(self, plan: Intent, why: str) -> Placed:
        ledger, now_ms = self.cancels.settling.ledger, self.cancels.settling.now_ms()
        try:
            return Placed(await ledger.move(plan.preview_id, "NOT_SENT", {"reason": why}, now_ms), why)
        except IllegalMove:  # another process has settled it
            return Placed(await ledger.find(plan.preview_id) or plan, why)

    async def _protect_later(self, plan: Intent, number: int, old: Intent) -> None:
        """Protect the coins of an order whose cancel had no answer, once it turns out to be cancelled."""
        await self.cancels.settling.follow_cancel(old)
        stands = await self.cancels.settling.ledger.find(old.preview_id) or old
        if stands.final_ms is not None:
            await self._protect(plan, {number: _left(plan.terms.releases[number], stands)}, NOTHING)

    async def _protect(self, plan: Intent, left: Mapping[int, Quantity], used: Quantity) -> None:
        """Place exits for the coins of cancelled orders that the sale did not use."""
        released = [plan.terms.releases[number] for number in left]
        from_free = plan.terms.quantity - (freed_by(plan.terms.releases) - rest_of(plan.terms.releases))
        remaining = Quantity(sum(left.values(), NOTHING) - max(NOTHING, used - from_free))
        for number, share in zip(left, shares_of(released, [*left.values()], remaining), strict=True):
            for step in STEPS if share else ():
                if await self._is_placed(plan, step, number, share):
                    break

    async def _is_placed(self, plan: Intent, step: Step, number: int, quantity: Quantity) -> bool:
        """Place exits under the ID of their step. Return False if it is certain that there are none."""
        settling = self.cancels.settling
        terms, preview_id = step_terms(plan.terms, number, quantity, step), step_id(plan.preview_id, step, number)
        asset = await JournalReader(settling.ledger.store).asset_of(plan.preview_id)
        name = client_order_id(terms, preview_id)
        new = NewIntent(preview_id, name, plan.visitor, asset, plan.way, terms)
        try:
            intent, is_new = await settling.ledger.claim(
                new, (), settling.now_ms(), judge=lambda _: Admitted("step", ())
            )
            stands = (await self.send(intent)).intent if is_new else intent
        except (AppError, TradingIsStopped) as error:
            LOG.error("exits for order %s not placed: %s", plan.client_order_id, error)  # noqa: TRY400 - message is complete
            return False
        return stands.state not in NEVER_EXECUTED


def _left(released: Released, stands: Intent) -> Quantity:
    return Quantity(max(NOTHING, released.quantity - max(NOTHING, stands.sold - released.sold)))


def _used(sale: Intent) -> Quantity:
    """Return the coins that a sale has sold or may still sell."""
    if sale.state in NEVER_EXECUTED:
        return NOTHING
    return sale.executed if sale.final_ms is not None else sale.quantity
