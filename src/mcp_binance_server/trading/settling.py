"""What nobody knows the end of: asked for until it is known, or can no longer come; never sent again."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby, repeat

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import is_dead
from mcp_binance_server.trading.journal.records import FINAL_STATUS, IllegalMove, Intent
from mcp_binance_server.trading.journal.watching import WATCHED_MS, OrderWatch
from mcp_binance_server.trading.judgement.terms import TradingMode

FIRST_PAUSES_MS = (0, 250, 250, 500, 1_000, 2_000, 4_000, 9_250)
PAUSE_MS = 30_000


def pauses() -> Iterator[int]:
    return chain(FIRST_PAUSES_MS, repeat(PAUSE_MS))


@dataclass(frozen=True, slots=True)
class Settling:
    """Asks where orders went; anybody may ask, nobody sends."""

    ledger: HostLedger
    watch: OrderWatch
    broker_of: Callable[[str], Broker]
    clock: Clock
    now_ms: Callable[[], int]

    async def left_by(self, is_gone: Callable[[Intent], bool]) -> list[Intent]:
        """Close what was left before anything was sent, and return what may have been sent: that is asked for.

        Before the mark SENT no byte can have left, so PREPARED is definite once nobody has it in hand.
        """
        asked: list[Intent] = []
        for intent in await self.ledger.unresolved():
            if not is_gone(intent):
                continue
            if intent.state == "PREPARED":
                with suppress(IllegalMove):  # another process was faster
                    await self.ledger.move(intent.preview_id, "NOT_SENT", {"found": "left behind"}, self.now_ms())
            else:
                asked.append(intent)
        return asked

    async def resolve(self, intent: Intent) -> None:
        """Ask until it is known; that it could not be asked proves nothing."""
        broker = self.broker_of(intent.terms.account)
        for pause_ms in pauses():
            await self.clock.sleep_ms(pause_ms)
            with suppress(AppError):
                if await self._is_known(intent, broker):
                    return

    async def _is_known(self, intent: Intent, broker: Broker) -> bool:
        order = await broker.ask(intent.terms.symbol, intent.client_order_id)
        try:
            if order is not None:
                await self.watch.learn(intent.preview_id, order, self.now_ms())
                return True
            if self.now_ms() - intent.updated_ms >= broker.horizon_ms:
                facts = {"asked": "no such order"}
                await self.ledger.move(intent.preview_id, "NOT_PLACED", facts, self.now_ms())
                return True
        except IllegalMove:  # another process knows more
            return True
        return False

    async def end_cancels_left(self, mode: TradingMode) -> None:
        """Write what became of the cancels of dead processes: the order tells, the cancel is not asked for."""
        for left in await self.watch.cancels_left():
            intent, folder = left.intent, self.ledger.store.folder
            if intent.terms.mode == mode and left.owner != self.ledger.owner and is_dead(folder, left.owner):
                order = await self.broker_of(intent.terms.account).ask(intent.terms.symbol, intent.client_order_id)
                state = "CANCELLED" if order is not None and order.status == "CANCELED" else "CANCEL_UNKNOWN"
                facts = {"found": "left behind"}
                await self.watch.end_cancel(intent.preview_id, state, facts, order, self.now_ms())

    async def follow_cancel(self, intent: Intent) -> None:
        """Ask for an order whose cancel had no answer, until it is over or the cancel can no longer come."""
        broker, since_ms = self.broker_of(intent.terms.account), self.now_ms()
        for pause_ms in pauses():
            await self.clock.sleep_ms(pause_ms)
            with suppress(AppError):
                order = await broker.ask(intent.terms.symbol, intent.client_order_id)
                if order is not None:
                    await self.watch.learn(intent.preview_id, order, self.now_ms())
                is_over = order is not None and order.status in FINAL_STATUS
                if is_over or self.now_ms() - since_ms >= broker.horizon_ms:
                    return

    async def follow(self, intents: Collection[Intent]) -> None:
        """Ask how open orders stand, those of one account together.

        Raises:
            AppError: it could not be asked; what was learned before is written.
        """
        by_account = sorted(intents, key=lambda each: each.terms.account)
        for account, own in groupby(by_account, key=lambda each: each.terms.account):
            broker = self.broker_of(account)
            shown = {each.client_order_id: each for each in await broker.open_orders()}
            for intent in own:
                order = shown.get(intent.client_order_id)
                if order is None:  # over, or gone
                    order = await broker.ask(intent.terms.symbol, intent.client_order_id)
                if order is None:
                    await self._missed(intent, broker)
                elif (intent.state, intent.status, intent.executed) != ("ACKED", order.status, order.executed):
                    await self.watch.learn(intent.preview_id, order, self.now_ms())

    async def _missed(self, intent: Intent, broker: Broker) -> None:
        watched_ms = self.now_ms() - intent.updated_ms
        if intent.state == "ACKED" and watched_ms >= broker.horizon_ms:
            await self.watch.give_up(intent.preview_id, "the exchange knows it no longer", self.now_ms())
        elif intent.state == "NOT_PLACED" and watched_ms >= WATCHED_MS:
            await self.watch.give_up(intent.preview_id, "it did not come to light", self.now_ms())
