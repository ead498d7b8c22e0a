"""Cancels of a visitor's own orders, one order or all of a symbol. The cancel of a stop order must be confirmed."""

from dataclasses import dataclass

from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.domain.orders import FINAL_STATUS
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.trading.answers import Cancellation, CancelledAll, KeptOpen, PlacedOrder
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.trading.errors import CANCEL, OrderDeclined, OrderDenied
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.reconciling import TradedAccount, found_intent, terms_of

IS_STOP = "a stop, which needs the user's confirmation: cancel_order with its client_order_id"


@dataclass(frozen=True, slots=True)
class CancelService:
    """Cancels of orders. They also work while trading is stopped, because they reduce risk."""

    trading: TradingService

    async def wanted(self, text: str, client_order_id: str) -> Cancellation | PlacedOrder:
        """Return the order to cancel, and whether its user must confirm. If it is finished, return its result.

        Raises:
            OrderDenied: no such order was placed here for this visitor.
            OrderDeclined: the user has just declined this cancel.
            AskedTooOften: the user has declined too often recently to be asked again.
        """
        trading = self.trading
        rules = await trading.trying.directory.find(text)
        intent = await self._own(client_order_id)
        if intent is None or intent.is_unresolved or self._asks(intent):
            # Update its state first. For other orders, the cancel itself shows the state.
            await trading.desk.catch_up((trading.trader.account,))
            intent = await self._own(client_order_id)
        is_own = intent is not None
        if intent is None and self._takes_all:
            intent = await self._found(rules, client_order_id)
        if intent is None or intent.terms.symbol != rules.symbol:
            limit = "open orders of this account" if self._takes_all else "orders placed by this server"
            raise OrderDenied(guard=CANCEL, received="no open order with that ID", limit=limit)
        if intent.final_ms is not None:
            return await trading.told(await trading.desk.told(intent.preview_id))
        asks = self._asks(intent)
        if asks:
            if await trading.agreements.is_cancel_declined(intent.preview_id, trading.declined_since_ms()):
                raise OrderDeclined
            await trading.require_patience()
        return Cancellation(intent, rules, asks, is_own)

    async def cancel(self, wanted: Cancellation) -> PlacedOrder:
        """Cancel the order once and return the result."""
        trading, intent = self.trading, wanted.intent
        if not wanted.is_own:
            return await trading.told(await trading.desk.cancel_found(intent, trading.trader.visitor))
        target = Target(intent.terms.symbol, intent.client_order_id, intent.order_id)
        return await trading.told(await trading.desk.cancel(trading.trader.account, target, trading.trader.visitor))

    async def decline(self, wanted: Cancellation) -> None:
        """Record that the user declined the cancel. The stop order stays open."""
        trading = self.trading
        await trading.agreements.decline_cancel(wanted.intent.preview_id, trading.trader.visitor, trading.now_ms())

    async def cancel_all(self, text: str) -> CancelledAll:
        """Cancel every open order of a symbol that was placed here. Stop orders that need confirmation stay open."""
        trading = self.trading
        rules = await trading.trying.directory.find(text)
        account = trading.trader.account
        await trading.desk.catch_up((account,))
        found = [each for each in await trading.open_intents() if each.terms.symbol == rules.symbol]
        left = [KeptOpen(each.client_order_id, IS_STOP) for each in found if self._asks(each)]
        done = [await self.cancel(Cancellation(each, rules, asks=False)) for each in found if not self._asks(each)]
        standing = [each for each in done if each.intent.final_ms is None]
        left += [KeptOpen(each.intent.client_order_id, each.reason or "outcome not known yet") for each in standing]
        return CancelledAll(
            symbol=rules.symbol,
            cancelled=tuple(each for each in done if each.intent.final_ms is not None),
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
        """Return an open order that another program placed on the account, as an intent."""
        trading, drafter = self.trading, self.trading.surveyor.drafter
        order = await trading.broker.ask(rules.symbol, client_order_id)
        if order is None or order.status in FINAL_STATUS:
            return None
        account = TradedAccount(trading.trader.account, trading.mode, drafter.network)
        worth = await drafter.worth(order, rules)
        terms = terms_of(order, account, worth.counted, trading.policy.digest)
        return None if terms is None else found_intent(order, terms)

    def _asks(self, intent: Intent) -> bool:
        return intent.terms.is_stop and self.trading.policy.way(self.trading.mode, intent.counted) != "policy"
