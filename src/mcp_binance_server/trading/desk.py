"""The way of one order: claim, send once, write down, tell; the same preview asked for again is the same order."""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.abc

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.broker import Broker, Fate, Outcome, WrittenOrder
from mcp_binance_server.trading.charges import Charge
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.ledger import HostLedger, PositionRoom, TradingIsStopped
from mcp_binance_server.trading.journal.records import IllegalMove, Intent, IntentState, NewIntent
from mcp_binance_server.trading.settling import resolve
from mcp_binance_server.trading.terms import PreviewId, Terms

LOG = logging.getLogger(__name__)

STATE_OF: Mapping[Fate, IntentState] = {
    Fate.NOT_SENT: "NOT_SENT",
    Fate.REFUSED: "REJECTED",
    Fate.ACCEPTED: "ACKED",
    Fate.UNKNOWN: "UNKNOWN",
}
# How long a caller waits for an order that another process has in hand, and how often it looks.
ELSEWHERE_MS, LOOK_MS = 10_000, 50
# How long the end of the process waits for an order that is under way.
LAST_MS = 15_000


@dataclass(frozen=True, slots=True)
class Placed:
    """An intent as it stands, and why it was not sent, or refused, where somebody said so."""

    intent: Intent
    reason: str = ""


@dataclass(eq=False)
class Desk:
    """Sends orders in tasks of its own: who asked for one may leave before it is done."""

    ledger: HostLedger
    broker_of: Callable[[str], Broker]
    clock: Clock
    now_ms: Callable[[], int]
    """Exchange time."""
    _tasks: anyio.abc.TaskGroup | None = None
    _under_way: dict[PreviewId, anyio.Event] = field(default_factory=dict[PreviewId, anyio.Event])
    _reasons: dict[PreviewId, str] = field(default_factory=dict[PreviewId, str])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Desk"]:
        """Take orders; at the end no new ones, and those under way are waited for, though not for ever."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                with anyio.CancelScope(shield=True), anyio.move_on_after(LAST_MS / 1000):
                    for done in [*self._under_way.values()]:
                        await done.wait()
                tasks.cancel_scope.cancel()

    async def place(self, new: NewIntent, charges: tuple[Charge, ...], room: PositionRoom | None) -> Placed:
        """Claim and send it if nobody has, wait for what becomes of it, and return that; every caller hears the same.

        Raises:
            LimitPassed: a limit does not allow it; nothing was claimed.
            TradingIsStopped: no order is taken; likewise.
            JournalUnavailable: nothing can be written down, so nothing was sent.
        """
        tasks = self._tasks
        if tasks is None:
            raise JournalUnavailable(reason="this server is ending", fix="Start it again")
        with anyio.CancelScope(shield=True):  # from the claim on it is the desk's, whoever leaves
            intent, is_new = await self.ledger.claim(new, charges, self.now_ms(), room)
            if is_new:
                self._under_way[new.preview_id] = anyio.Event()
                tasks.start_soon(self._carry, intent)
        return await self.told(new.preview_id)

    async def told(self, preview_id: PreviewId) -> Placed:
        """Return what became of an intent, once it is known, or once that takes too long."""
        if (done := self._under_way.get(preview_id)) is not None:
            await done.wait()
        waited = 0
        while True:
            intent = await self.ledger.find(preview_id)
            if intent is None:
                raise KeyError(preview_id)
            if intent.state not in ("PREPARED", "SENT") or waited >= ELSEWHERE_MS:
                return Placed(intent, self._reasons.get(preview_id, ""))
            await self.clock.sleep_ms(LOOK_MS)
            waited += LOOK_MS

    async def _carry(self, intent: Intent) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await self._send(intent)
        except AppError as error:
            # What is on the disk decides: nothing left, or it may have, and the next start asks.
            LOG.error("order %s: %s", intent.client_order_id, error.message)  # noqa: TRY400 - it says all there is
            self._reasons[intent.preview_id] = error.message
        except Exception:  # a defect must not end the orders of others; this one is asked for
            LOG.exception("order %s", intent.client_order_id)
        finally:
            self._under_way.pop(intent.preview_id).set()

    async def _send(self, intent: Intent) -> None:
        broker = self.broker_of(intent.terms.account)
        has_left = False

        async def gate() -> None:
            nonlocal has_left
            await self.ledger.mark_sent(intent.preview_id, self.now_ms())
            has_left = True

        try:
            outcome = await broker.place(written_order(intent.terms, intent.client_order_id), gate)
        except TradingIsStopped as error:
            outcome = Outcome(Fate.NOT_SENT, reason=f"trading was stopped: {error.stopped.why}")
        except IllegalMove:
            return  # somebody has settled it meanwhile, and the gate held: nothing left
        except Exception as error:  # whatever it was, what has left is not known
            LOG.exception("order %s", intent.client_order_id)
            fate = Fate.UNKNOWN if has_left else Fate.NOT_SENT
            outcome = Outcome(fate, reason=f"an unexpected {type(error).__name__}")
        if has_left and outcome.fate is Fate.NOT_SENT:  # the flag knows, not the words of an answer
            outcome = replace(outcome, fate=Fate.UNKNOWN)
        await self._write_down(intent, broker, outcome)

    async def _write_down(self, intent: Intent, broker: Broker, outcome: Outcome) -> None:
        if outcome.reason:
            self._reasons[intent.preview_id] = outcome.reason
        await self.ledger.move(intent.preview_id, STATE_OF[outcome.fate], _facts(outcome), self.now_ms())
        if outcome.order is not None:
            await self.ledger.follow(intent.preview_id, outcome.order, self.now_ms())
        if outcome.fate is Fate.UNKNOWN and self._tasks is not None:
            self._tasks.start_soon(resolve, self.ledger, broker, intent, self.clock, self.now_ms)


def written_order(terms: Terms, client_order_id: str) -> WrittenOrder:
    """Return the order as it is sent: no market order leaves with an open price."""
    kind, time_in_force = ("LIMIT", "IOC") if terms.is_market else (terms.kind, terms.time_in_force)
    return WrittenOrder(
        client_order_id, terms.symbol, terms.side, kind, time_in_force, terms.quantity, terms.price, terms.stop_price
    )


def _facts(outcome: Outcome) -> dict[str, Any]:
    said: dict[str, Any] = {"reason": outcome.reason, "code": outcome.code}
    return {name: value for name, value in said.items() if value not in ("", None)}
