"""Cancels of one order or all orders of a visitor. The cancel of a stop order must be confirmed."""

from dataclasses import dataclass, replace
from hashlib import sha256

from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.domain.orders import FINAL_STATUS
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.trading.answers import (
    Cancellation,
    CancellationOfAll,
    CancelledAll,
    KeptOpen,
    PlacedOrder,
)
from mcp_binance_server.services.trading.refusals import unknown_order
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.trading.errors import OrderDeclined
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.terms import PreviewId
from mcp_binance_server.trading.placed import Placed
from mcp_binance_server.trading.reconciling import TradedAccount, found_intent, terms_of

NOT_ANSWERED = "the question was not answered in time; cancel_all_orders asks again"
IS_STOP = "a stop, which needs the user's confirmation: cancel_order with its client_order_id"


@dataclass(frozen=True, slots=True)
class CancelService:
    """Cancels of orders. They also work while trading is stopped, because a cancel reduces risk."""

    trading: TradingService

    async def wanted(self, text: str, client_order_id: str) -> Cancellation | PlacedOrder:
        """Return the order to cancel, and whether the user must confirm. For a finished order, return the result.

        Raises:
            OrderNotFound: no such order was placed here for this visitor.
            OrderDeclined: the user has just declined this cancel.
            AskedTooOften: the user has declined too often recently to be asked again.
        """
        trading = self.trading
        rules = await trading.trying.directory.find(text)
        intent = await self._own(client_order_id)
        if intent is None or intent.is_unresolved or self._asks(intent):
            # Update the order's state first. For other orders, the cancel itself shows the state.
            await trading.desk.catch_up((trading.trader.account,))
            intent = await self._own(client_order_id)
        is_own = intent is not None
        if intent is None and self._takes_all:
            intent = await self._found(rules, client_order_id)
        if intent is None or intent.terms.symbol != rules.symbol:
            account = trading.trader.account
            raise await unknown_order(trading.desk.ledger.store, account, placed_here=not self._takes_all)
        if intent.final_ms is not None:
            return await trading.told(await trading.desk.told(intent.preview_id) if is_own else Placed(intent))
        asks = self._asks(intent)
        if asks:
            if await trading.agreements.is_cancel_declined(intent.preview_id, trading.declined_since_ms()):
                raise OrderDeclined
            await trading.require_question_allowed()
        return Cancellation(intent, rules, asks, is_own)

    async def cancel(self, wanted: Cancellation) -> PlacedOrder:
        """Cancel the order once and return the result."""
        trading, intent = self.trading, wanted.intent
        if not wanted.is_own:
            return await trading.told(await trading.desk.cancel_found(intent, trading.trader.visitor))
        target = Target(intent.terms.symbol, intent.client_order_id, intent.order_id)
        return await trading.told(await trading.desk.cancel(trading.trader.account, target, trading.trader.visitor))

    async def decline(self, wanted: Cancellation) -> None:
        """Record that the user declined the cancel, so the stop order stays open."""
        trading = self.trading
        await trading.agreements.decline_cancel(wanted.intent.preview_id, trading.trader.visitor, trading.now_ms())

    async def wanted_of_all(self, text: str | None) -> CancellationOfAll:
        """Return the open orders that were placed here, of one symbol or of all.

        The user confirms a cancel of all symbols wherever orders of this mode are confirmed.

        Raises:
            OrderDeclined: the user has just declined to cancel the same orders.
            AskedTooOften: the user has declined too often recently to be asked again.
        """
        trading = self.trading
        symbol = None if text is None else (await trading.trying.directory.find(text)).symbol
        await trading.desk.catch_up((trading.trader.account,))
        found = [each for each in await trading.open_intents() if not each.terms.amends]
        orders = tuple(
            [
                Cancellation(each, await trading.trying.directory.find(each.terms.symbol), self._asks(each))
                for each in found
                if symbol in (None, each.terms.symbol)
            ]
        )
        asks = symbol is None and any(self._is_confirmed(each.intent) for each in orders)
        wanted = CancellationOfAll(symbol, orders, asks)
        if asks:
            if await trading.agreements.is_cancel_declined(subject_of(wanted), trading.declined_since_ms()):
                raise OrderDeclined
            await trading.require_question_allowed()
        return wanted

    async def decline_all(self, wanted: CancellationOfAll) -> None:
        """Record that the user declined to cancel these orders."""
        trading = self.trading
        await trading.agreements.decline_cancel(subject_of(wanted), trading.trader.visitor, trading.now_ms())

    async def cancel_all(
        self, wanted: CancellationOfAll, *, is_confirmed: bool = False, is_answered: bool = True
    ) -> CancelledAll:
        """Cancel these orders.

        Stop orders that need the user's confirmation stay open without it. If the user did not answer the question,
        every order stays open.
        """
        trading = self.trading
        kept = [each for each in wanted.orders if not is_answered or (each.asks and not is_confirmed)]
        done = [await self.cancel(each) for each in wanted.orders if each not in kept]
        why = IS_STOP if is_answered else NOT_ANSWERED
        left = [KeptOpen(each.intent.client_order_id, why) for each in kept]
        standing = [each for each in done if each.intent.final_ms is None]
        left += [KeptOpen(each.intent.client_order_id, each.reason or "outcome not known yet") for each in standing]
        return CancelledAll(
            symbol=wanted.symbol,
            cancelled=tuple(each for each in done if each.intent.final_ms is not None and each.intent.is_cancelled),
            ended=tuple(each for each in done if each.intent.final_ms is not None and not each.intent.is_cancelled),
            left=tuple(left),
            mode=trading.mode,
            venue=trading.broker.venue,
            as_of_ms=trading.now_ms(),
        )

    async def _own(self, client_order_id: str) -> Intent | None:
        return await self.trading.desk.ledger.named(self.trading.trader.account, client_order_id)

    @property
    def _takes_all(self) -> bool:
        return self.trading.policy.limits.cancel == "all" and self.trading.mode != "paper"

    async def _found(self, rules: SymbolRules, client_order_id: str) -> Intent | None:
        """Return an order that another program placed on the account, as an intent."""
        trading, drafter = self.trading, self.trading.situation_reader.drafter
        order = await trading.broker.ask(rules.symbol, client_order_id)
        if order is None:
            return None
        account = TradedAccount(trading.trader.account, trading.mode, drafter.network)
        worth = await drafter.worth(order, rules)
        terms = terms_of(order, account, worth.counted, trading.policy.digest)
        if terms is None:
            return None
        found = found_intent(order, terms)
        return replace(found, final_ms=order.updated_ms) if order.status in FINAL_STATUS else found

    def _asks(self, intent: Intent) -> bool:
        return intent.terms.is_stop and self._is_confirmed(intent)

    def _is_confirmed(self, intent: Intent) -> bool:
        """Return whether a person confirms orders of this size."""
        return self.trading.policy.way(self.trading.mode, intent.counted) != "policy"


def subject_of(wanted: CancellationOfAll) -> PreviewId:
    """Return the ID of a question about these orders. A question about other orders has another ID."""
    names = " ".join(sorted(each.intent.client_order_id for each in wanted.orders))
    return PreviewId(f"all-{sha256(names.encode()).hexdigest()[:16]}")
