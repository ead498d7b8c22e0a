"""Orders with an unknown outcome. They are queried until it is known or they can no longer appear, and never resent."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, groupby, repeat

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.orders import FINAL_STATUS, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.journal.owner import is_dead
from mcp_binance_server.trading.journal.records import STANDING, IllegalMove, Intent
from mcp_binance_server.trading.journal.watching import WATCHED_MS, OrderWatch
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms
from mcp_binance_server.trading.ledger import OrderLedger

# Queries 0, 0.25, 0.5, 1, 2, 4, 8 and 17 seconds after the first, then one every 30 seconds.
FIRST_PAUSES_MS = (0, 250, 250, 500, 1_000, 2_000, 4_000, 9_000)
PAUSE_MS = 30_000


def pauses() -> Iterator[int]:
    return chain(FIRST_PAUSES_MS, repeat(PAUSE_MS))


async def asked_for(intent: Intent, broker: Broker) -> Order | None:
    """Return the order that proves that a request was executed.

    The proof is the order itself, the first order of its list, or the order that a change reduces.

    Raises:
        AppError: the exchange could not be queried.
    """
    order = await broker.ask(intent.terms.symbol, intent.order_ids[0])
    if order is not None and intent.terms.amends and order.quantity != intent.terms.quantity:
        return None
    return order


@dataclass(frozen=True, slots=True)
class Settling:
    """Queries for the outcome of orders. They send no order, so several processes can run them at once."""

    ledger: OrderLedger
    watch: OrderWatch
    broker_of: Callable[[str], Broker]
    clock: Clock
    now_ms: Callable[[], int]
    missed_since_ms: dict[PreviewId, int] = field(default_factory=dict[PreviewId, int])
    """Time when an open order was first not found, in ms, by preview ID."""

    async def left_by(self, is_gone: Callable[[Intent], bool]) -> list[Intent]:
        """Close intents that were never sent. Return intents that may have been sent, which must be queried.

        An intent is marked SENT before its request is sent. So an intent in state PREPARED without a live process was
        never sent.
        """
        asked: list[Intent] = []
        for intent in await self.ledger.unresolved():
            if not is_gone(intent):
                continue
            if intent.state == "PREPARED":
                with suppress(IllegalMove):  # another process was faster
                    await self.ledger.move(
                        intent.preview_id, "NOT_SENT", {"found": "left by a dead process"}, self.now_ms()
                    )
            else:
                asked.append(intent)
        return asked

    async def resolve(self, intent: Intent) -> None:
        """Query an order until its outcome is known. A failed query proves nothing."""
        broker = self.broker_of(intent.terms.account)
        # The request was signed before it was marked SENT. After the horizon, the exchange no longer accepts it.
        sent_ms = await self.watch.sent_ms(intent.preview_id)
        over_ms = (intent.updated_ms if sent_ms is None else sent_ms) + broker.horizon_ms
        for pause_ms in pauses():
            left_ms = over_ms - self.now_ms()
            await self.clock.sleep_ms(min(pause_ms, left_ms) if left_ms > 0 else pause_ms)
            with suppress(AppError):
                if await self._is_known(intent, broker, over_ms):
                    return

    async def _is_known(self, intent: Intent, broker: Broker, over_ms: int) -> bool:
        stands = await self.ledger.find(intent.preview_id)
        if stands is not None and not stands.is_unresolved:
            return True  # A report, or another process, has settled it.
        is_over = self.now_ms() >= over_ms  # read before the query, not after the answer
        orders = await self._all_of(intent, broker)
        if not orders and not is_over:
            return False
        try:
            for order in orders:
                await self.watch.learn(intent.preview_id, order, self.now_ms())
            if not orders:
                facts = {"asked": "no such order"}
                await self.ledger.move(intent.preview_id, "NOT_PLACED", facts, self.now_ms())
        except IllegalMove:  # another process was faster
            return True
        await self._follow_replaced(intent, broker)
        return True

    async def _all_of(self, intent: Intent, broker: Broker) -> list[Order]:
        """Return the order of a request, or all orders of its list. Return nothing if the request was not executed."""
        first = await asked_for(intent, broker)
        if first is None:
            return []
        # The exchange places all orders of a list at once, so one query can prove that none was placed.
        found = [first, *[await broker.ask(intent.terms.symbol, each) for each in intent.order_ids[1:]]]
        return [each for each in found if each is not None]

    async def _follow_replaced(self, intent: Intent, broker: Broker) -> None:
        """Query the order that was to be replaced. It may be cancelled even if the new order was not placed."""
        if intent.terms.replaces is None or intent.terms.amends:
            return
        replaced = await self.ledger.named(intent.terms.account, intent.terms.replaces)
        if replaced is not None and replaced.state in STANDING and replaced.final_ms is None:
            await self._follow(replaced, {}, broker)

    async def end_cancels_left(self, is_own: Callable[[Terms], bool]) -> None:
        """Record the results of cancels left by dead processes. Query the orders, because cancels cannot be queried."""
        for left in await self.watch.cancels_left():
            intent, folder = left.intent, self.ledger.store.folder
            if is_own(intent.terms) and left.owner != self.ledger.owner and is_dead(folder, left.owner):
                orders = await self._all_asked(intent)
                state = "CANCELLED" if any(each.status == "CANCELED" for each in orders) else "CANCEL_UNKNOWN"
                facts = {"found": "left by a dead process"}
                await self.watch.end_cancel(intent.preview_id, state, facts, self.now_ms(), *orders)

    async def follow_cancel(self, intent: Intent) -> None:
        """Query an order whose cancel had no answer, until it is final or the cancel can no longer take effect."""
        horizon_ms, since_ms = self.broker_of(intent.terms.account).horizon_ms, self.now_ms()
        for pause_ms in pauses():
            await self.clock.sleep_ms(pause_ms)
            with suppress(AppError):
                orders = await self._all_asked(intent)
                for order in orders:
                    await self.watch.learn(intent.preview_id, order, self.now_ms())
                is_over = bool(orders) and all(each.status in FINAL_STATUS for each in orders)
                if is_over or self.now_ms() - since_ms >= horizon_ms:
                    return

    async def _all_asked(self, intent: Intent) -> list[Order]:
        broker = self.broker_of(intent.terms.account)
        found = [await broker.ask(intent.terms.symbol, name) for name in intent.asked_ids]
        return [each for each in found if each is not None]

    async def follow(self, intents: Collection[Intent]) -> None:
        """Query the state of open orders, grouped by account and symbol.

        Raises:
            AppError: an order could not be queried; the results of the others are recorded.
        """
        failure: AppError | None = None

        def shown_with(intent: Intent) -> tuple[str, Symbol]:
            return intent.terms.account, intent.terms.symbol

        for (account, symbol), own in groupby(sorted(intents, key=shown_with), key=shown_with):
            broker = self.broker_of(account)
            shown = {each.client_order_id: each for each in await broker.open_orders(symbol)}
            for intent in own:
                try:
                    await self._follow(intent, shown, broker)
                except AppError as error:
                    failure = error
        if failure is not None:
            raise failure

    async def _follow(self, intent: Intent, shown: Mapping[str, Order], broker: Broker) -> None:
        is_found = False
        for name in intent.asked_ids:
            order = shown.get(name) or await broker.ask(intent.terms.symbol, name)  # no longer open: final or gone
            if order is None or (intent.terms.amends and not await self._is_change(intent, order)):
                continue
            is_found = True
            if not intent.knows(order):
                await self.watch.learn(intent.preview_id, order, self.now_ms())
        if is_found:
            self.missed_since_ms.pop(intent.preview_id, None)
        else:
            await self._miss(intent, broker)

    async def _is_change(self, intent: Intent, order: Order) -> bool:
        """Return True if this change, and no other change, gave the order its quantity."""
        target = await self.ledger.named(intent.terms.account, order.client_order_id)
        return order.quantity == intent.terms.quantity and (target is None or target.quantity != order.quantity)

    async def _miss(self, intent: Intent, broker: Broker) -> None:
        # While an order moves from the open orders to the history, both queries can miss the order once.
        now_ms = self.now_ms()
        missed_ms = now_ms - self.missed_since_ms.setdefault(intent.preview_id, now_ms)
        watched_ms = now_ms - intent.updated_ms
        if intent.state in STANDING and missed_ms >= broker.horizon_ms:
            await self.watch.give_up(intent.preview_id, "no longer found at the exchange", self.now_ms())
        elif intent.state == "NOT_PLACED" and watched_ms >= WATCHED_MS:
            await self.watch.give_up(intent.preview_id, "not found within a day", self.now_ms())
