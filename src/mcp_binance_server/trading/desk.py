"""Path of an order: claim it, send it once, record the result, reply.

A preview that is placed twice gives the same order.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target
from mcp_binance_server.domain.orders import Order, Report
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.cancels import Cancels
from mcp_binance_server.trading.journal.ledger import GuardDenied, Judge
from mcp_binance_server.trading.journal.limits import LimitPassed, PositionRoom
from mcp_binance_server.trading.journal.owner import is_dead, sweep
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import IllegalMove, Intent, IntentState, NewIntent
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.trading.journal.watching import OrderWatch
from mcp_binance_server.trading.judgement.charges import Charge
from mcp_binance_server.trading.judgement.exposure import Holding
from mcp_binance_server.trading.judgement.guards import Denied, denied_by, stop_denial
from mcp_binance_server.trading.judgement.stop import cause
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms, TradingMode, is_made_here
from mcp_binance_server.trading.ledger import OrderLedger
from mcp_binance_server.trading.placed import Placed, facts_of
from mcp_binance_server.trading.reconciling import NEVER_PLACED, Reconciliation, StartStep
from mcp_binance_server.trading.releasing import ReleasingSales
from mcp_binance_server.trading.requests import request_of
from mcp_binance_server.trading.settling import Settling
from mcp_binance_server.trading.tasks import BackgroundTasks

LOG = logging.getLogger(__name__)

STATE_OF: Mapping[Fate, IntentState] = {
    Fate.NOT_SENT: "NOT_SENT",
    Fate.REFUSED: "REJECTED",
    Fate.ACCEPTED: "ACKED",
    Fate.UNKNOWN: "UNKNOWN",
}
# Longest wait for an order that another process is sending, and the polling interval, in ms.
ELSEWHERE_MS, LOOK_MS = 10_000, 50
# Delays before a failed start step is retried, in ms.
AGAIN_MS = (1_000, 2_000, 4_000, 8_000, 16_000, 30_000)
# Polling interval of orders that are or may be open, in ms. Reports from the stream do not change it.
WATCH_MS = 60_000
LEFT = "the outcome of the last run's orders is known"


@dataclass(eq=False)
class Desk:
    """Order desk. It sends orders in background tasks, so a caller can disconnect before its order is done."""

    ledger: OrderLedger
    broker_of: Callable[[str], Broker]
    clock: Clock
    now_ms: Callable[[], int]
    """Exchange time in ms."""
    mode: TradingMode = "paper"
    account: str | None = None
    """Account whose orders can be queried. None means every account in the journal."""
    following: Callable[[], str] = lambda: ""
    """Source of order updates: "streamed", "polled", or "" while no order is followed."""
    claimed: Callable[[], None] = lambda: None
    """Callback before each order is sent, so that the follower connects at the same time."""
    answered: Callable[[IntentState], None] = lambda _: None
    """Callback once for each claimed order, with its state when the caller gets the answer."""
    background_tasks: BackgroundTasks[Placed | None] = field(default_factory=BackgroundTasks["Placed | None"])
    key_notes: tuple[str, ...] = ()
    """Notes for the owner of the key; the trading status shows them."""
    _waits_for: str = LEFT
    _settled: anyio.Event = field(default_factory=anyio.Event)
    _asking: dict[PreviewId, anyio.Event] = field(default_factory=dict[PreviewId, anyio.Event])

    def __post_init__(self) -> None:
        self.reader, self.watch = JournalReader(self.ledger.store), OrderWatch(self.ledger.store)
        self.settling = Settling(self.ledger, self.watch, self.broker_of, self.clock, self.now_ms)
        self.cancels = Cancels(self.settling, self.background_tasks, self._once, self.look)
        self.releasing = ReleasingSales(self.cancels, self._carried)

    @asynccontextmanager
    async def running(self, start: Reconciliation | None = None) -> AsyncGenerator["Desk"]:
        """Settle the orders that the last run left open, then accept orders.

        On exit, wait a limited time for orders in progress. `start` adds the start steps of an account at the exchange.
        The open orders of such an account are polled.
        """
        settle = StartStep(LEFT, self._settle)
        steps = (settle,) if start is None else start.steps(settle)
        self._waits_for = steps[0].awaited
        async with self.background_tasks.running():
            self.background_tasks.beside(partial(self._start, steps))
            if start is not None:
                self.background_tasks.beside(self._keep_watch)
            yield self

    @property
    def waits_for(self) -> str:
        """Return the name of the start step that delays the first order; "" when all steps are finished."""
        return "" if self._settled.is_set() else self._waits_for

    async def ready(self) -> None:
        """Wait until the desk accepts orders."""
        await self._settled.wait()

    async def place(
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        room: PositionRoom | None,
        judge: Judge | None = None,
        holding: Holding | None = None,
    ) -> Placed:
        """Claim and send the order if it is new, then return its result.

        All callers with the same preview get the same result.

        Raises:
            GuardDenied: a guard denies it; nothing was claimed.
            LimitPassed: it would pass a limit; nothing was claimed.
            TradingIsStopped: no order is taken; nothing was claimed.
            PreviewIsDeclined: the preview was declined; nothing was claimed.
            JournalUnavailable: nothing can be recorded, so nothing was sent.
        """
        placed = await self.background_tasks.run(
            new.preview_id, partial(self._claimed, new, charges, room, judge, holding)
        )
        return placed or await self.told(new.preview_id)

    async def told(self, preview_id: PreviewId) -> Placed:
        """Wait for the result of an intent. After `ELSEWHERE_MS`, return the current state."""
        await self.background_tasks.wait(preview_id)
        waited = 0
        while True:
            intent = await self.ledger.find(preview_id)
            if intent is None:
                raise KeyError(preview_id)
            if intent.state not in ("PREPARED", "SENT") or waited >= ELSEWHERE_MS:
                return Placed(intent, await self.ledger.reason_of(intent))
            await self.clock.sleep_ms(LOOK_MS)
            waited += LOOK_MS

    async def cancel(self, account: str, target: Target, visitor: str) -> Placed:
        """Cancel an order of the journal, even while trading is stopped.

        A finished order is returned unchanged. So is a change of an order that is missing from this journal, because
        the exchange does not know the ID of a change.

        Raises:
            KeyError: the account has no such order here.
            JournalUnavailable: the result could not be recorded.
        """
        intent = await self.ledger.named(account, target.client_order_id)
        if intent is None or intent.terms.symbol != target.symbol:
            raise KeyError(target.client_order_id)
        placed = Placed(intent)
        if intent.is_unresolved or intent.final_ms is not None:
            placed = await self.told(intent.preview_id)
        if placed.intent.final_ms is not None or intent.terms.amends:
            return placed
        found = await self.background_tasks.run(
            f"cancel {target.client_order_id}", partial(self.cancels.cancel, placed.intent, visitor)
        )
        return found or placed

    async def cancel_found(self, found: Intent, visitor: str) -> Placed:
        """Cancel an open order of the account that this server did not place; see `Cancels.cancel_found`."""
        name = f"cancel {found.client_order_id}"
        return await self.background_tasks.run(name, partial(self.cancels.cancel_found, found, visitor)) or Placed(
            found
        )

    async def deny(self, preview_id: PreviewId, denied: Denied) -> None:
        """Record that an order was refused after its preview.

        The order stays refused if the journal cannot be written.
        """
        facts = {"guard": denied.guard, "received": denied.received, "limit": denied.limit}
        try:
            await self.ledger.note_once("DENIED", facts, self.now_ms(), preview_id)
        except AppError as error:
            LOG.warning("refusal not recorded: %s", error.message)

    async def catch_up(self, accounts: Collection[str] | None = None) -> None:
        """Record the changes of open orders and settle abandoned intents.

        Failures are logged, and the next call retries.
        """
        try:
            await self._catch_up(accounts)
        except AppError as error:
            LOG.warning("open orders: %s", error.message)

    async def reported(self, report: Report) -> None:
        """Record an execution report of the exchange. Ignore reports of orders that are not in this journal.

        A report can arrive before the answer to the order itself, or after the order was declared not placed.

        Raises:
            JournalUnavailable: the report could not be recorded.
        """
        order = report.order
        if not is_made_here(order.client_order_id):
            return  # other programs may trade the same account heavily
        intent = await self.reader.of_any_account(order.client_order_id)
        if intent is None or not self._is_own(intent.terms) or intent.knows(order):
            return
        try:
            if order.status == "REJECTED" and intent.terms.exits is None:
                await self.ledger.move(intent.preview_id, "REJECTED", {"reason": report.reason}, self.now_ms())
            else:
                await self.watch.learn(intent.preview_id, order, self.now_ms())
        except IllegalMove:
            await self._contradicted(intent, order)
        if intent.state == "NOT_PLACED":
            await self.look(intent.terms.account)

    async def look(self, account: str) -> None:
        """Stop trading on an account if its recent errors require it."""
        troubles = await self.watch.troubles(self.now_ms(), account)
        if (why := cause(troubles)) is not None:
            is_doubtful = troubles.found_after_all is not None
            await self.ledger.stop(why, "the desk", self.now_ms(), account, allows_exits=not is_doubtful)

    async def _catch_up(self, accounts: Collection[str] | None) -> None:
        await self.ledger.agree()
        for intent in await self.settling.left_by(self._is_left):
            self._ask_for(intent)
        open_intents = [each for each in await self.watch.open_intents(accounts) if self._is_own(each.terms)]
        await self.settling.follow(open_intents)
        for account in {each.terms.account for each in open_intents if each.state == "NOT_PLACED"}:
            await self.look(account)

    async def _start(self, steps: tuple[StartStep, ...]) -> None:
        for step in steps:
            self._waits_for = step.awaited
            await self._done(step)
        self._settled.set()

    async def _done(self, step: StartStep) -> None:
        for pause_ms in chain(AGAIN_MS, repeat(AGAIN_MS[-1])):
            try:
                await step.do()
            except AppError as error:
                LOG.warning("no orders until %s: %s", step.awaited, error.message)
                await self.clock.sleep_ms(pause_ms)
            else:
                return

    async def _settle(self) -> None:
        sweep(self.ledger.store.folder)
        await self._catch_up(None)
        await self.settling.end_cancels_left(self._is_own)
        for account in await self.watch.troubled(self.now_ms()):
            if self.account in (None, account):
                await self.look(account)
        for known in [*self._asking.values()]:
            await known.wait()

    async def _keep_watch(self) -> None:
        while True:
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + WATCH_MS)
            await self.catch_up()

    def _is_own(self, terms: Terms) -> bool:
        return terms.mode == self.mode and self.account in (None, terms.account)

    async def _contradicted(self, intent: Intent, order: Order) -> None:
        stands = await self.ledger.find(intent.preview_id) or intent
        LOG.error("order %s is %s, the exchange says %s", intent.client_order_id, stands.state, order.status)
        if order.status != "REJECTED":
            why = NEVER_PLACED.format(name=intent.client_order_id, state=stands.state)
            await self.ledger.stop(why, "the desk", self.now_ms(), intent.terms.account, allows_exits=False)

    def _is_left(self, intent: Intent) -> bool:
        if intent.preview_id in self._asking or self.background_tasks.is_under_way(intent.preview_id):
            return False
        is_dead_one = is_dead(self.ledger.store.folder, intent.owner)
        if not self._is_own(intent.terms):
            # An order of another exchange or key cannot be queried. In state PREPARED it was never sent.
            return intent.state == "PREPARED" and is_dead_one
        return intent.owner == self.ledger.owner or is_dead_one

    def _ask_for(self, intent: Intent) -> None:
        self._asking[intent.preview_id] = anyio.Event()
        self.background_tasks.beside(partial(self._asked_for, intent))

    async def _asked_for(self, intent: Intent) -> None:
        try:
            await self.settling.resolve(intent)
            await self.look(intent.terms.account)
        finally:
            self._asking.pop(intent.preview_id).set()

    async def _claimed(
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        room: PositionRoom | None,
        judge: Judge | None,
        holding: Holding | None,
    ) -> Placed | None:
        try:
            intent, is_new = await self.ledger.claim(new, charges, self.now_ms(), room, judge, holding)
        except GuardDenied as guarded:
            await self.deny(new.preview_id, guarded.denied)
            raise
        except LimitPassed as passed:
            await self.deny(new.preview_id, denied_by(passed.charge, passed.used, self.now_ms()))
            raise
        except TradingIsStopped as error:
            await self.deny(new.preview_id, stop_denial(error.stopped.why, new.terms.network))
            raise
        if not is_new:
            return None
        self.claimed()
        carry_out = self.releasing.carry_out if intent.terms.releases else self._carried
        placed = await carry_out(intent)
        self.answered(placed.intent.state)
        return placed

    async def _carried(self, intent: Intent) -> Placed:
        reason = ""
        try:
            return await self._sent(intent)
        except IllegalMove:
            pass  # Another process settled the order. If the gate raised an error, nothing was sent.
        except AppError as error:
            # Either nothing was sent, or the order may have been sent and must be queried. The journal shows which.
            LOG.error("order %s: %s", intent.client_order_id, error.message)  # noqa: TRY400 - message is complete
            reason = error.message
        return Placed(await self.ledger.find(intent.preview_id) or intent, reason)

    async def _sent(self, intent: Intent) -> Placed:
        is_marked = False

        async def mark() -> None:
            nonlocal is_marked
            await self.ledger.mark_sent(intent.preview_id, self.now_ms())
            is_marked = True

        request = request_of(intent.terms, intent.client_order_id)
        outcome = await self._once(partial(self.broker_of(intent.terms.account).place, request), mark)
        if not is_marked and outcome.fate is not Fate.NOT_SENT:
            outcome = await self._unmarked(intent, outcome)
        return Placed(await self._written_down(intent.preview_id, outcome), outcome.reason)

    async def _unmarked(self, intent: Intent, outcome: Outcome) -> Outcome:
        """Record an answer to an order that was never marked as sent. This is a bug, and the order may be open."""
        LOG.error("order %s was answered before it was marked as sent", intent.client_order_id)
        await self.ledger.move(intent.preview_id, "SENT", {"found": "an answer before the mark as sent"}, self.now_ms())
        why = f"order {intent.client_order_id} was sent without being marked as sent"
        await self.ledger.stop(why, "the desk", self.now_ms(), intent.terms.account, allows_exits=False)
        return replace(outcome, fate=Fate.UNKNOWN, order=None, legs=())

    async def _written_down(self, preview_id: PreviewId, outcome: Outcome) -> Intent:
        facts = facts_of(outcome)
        orders = outcome.legs if outcome.order is None else (outcome.order,)
        state, now_ms = STATE_OF[outcome.fate], self.now_ms()
        stands = await self.ledger.move(preview_id, state, facts, now_ms, *orders, target=outcome.target)
        if outcome.fate is Fate.UNKNOWN:
            self._ask_for(stands)
        if stands.unprotected and stands.status == "FILLED":
            stands = await self._protected(stands)
        if outcome.fate in (Fate.UNKNOWN, Fate.REFUSED):
            await self.look(stands.terms.account)
        return stands

    async def _protected(self, stands: Intent) -> Intent:
        """Query an entry order that filled at once. Its exit orders start only after the exchange's answer."""
        with suppress(AppError), self.background_tasks.breakable():
            await self.settling.follow([stands])
        return await self.ledger.find(stands.preview_id) or stands

    async def _once(self, send: Callable[[Gate], Awaitable[Outcome]], mark: Gate) -> Outcome:
        """Send one request. A request that passes the gate counts as sent, even if an error follows."""
        has_left = False

        async def gate() -> None:
            nonlocal has_left
            await mark()
            has_left = True

        outcome = Outcome(Fate.NOT_SENT, reason="the server was shut down")
        try:
            with self.background_tasks.breakable():
                outcome = await send(gate)
        except IllegalMove:
            raise
        except TradingIsStopped as error:
            outcome = Outcome(Fate.NOT_SENT, reason=f"trading was stopped: {error.stopped.why}")
        except AppError as error:
            outcome = Outcome(Fate.NOT_SENT, reason=error.message)
        except Exception as error:
            LOG.exception("unexpected error while an order was being placed")
            outcome = Outcome(Fate.NOT_SENT, reason=f"unexpected {type(error).__name__}")
        return replace(outcome, fate=Fate.UNKNOWN) if has_left and outcome.fate is Fate.NOT_SENT else outcome
