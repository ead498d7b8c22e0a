"""Broker of an account at the exchange, for practice and live trading. Only the hosts differ."""

from dataclasses import dataclass, replace

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Gate,
    Outcome,
    Replacement,
    Target,
    Written,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.order_fates import DUPLICATE, NO_SUCH_ORDER, ORDER_REJECTED
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.trading.judgement.self_trade import self_trade_mode

# The exchange times out a request after ten seconds. An order that was accepted by then may appear a little later.
API_LIMIT_MS, MARGIN_MS = 10_000, 5_000
CANCEL, LONGEST_ID = "-c", 36


def horizon_of(recv_window_ms: int) -> int:
    """Return the time after signing during which a request can still become an order, in ms."""
    return recv_window_ms + API_LIMIT_MS + MARGIN_MS


@dataclass(frozen=True, slots=True)
class SpotBroker:
    """Broker of the account of one key."""

    client: OrderClient
    reads: AccountClient
    directory: Directory
    venue: Venue
    horizon_ms: int

    async def place(self, request: Written, gate: Gate) -> Outcome:
        outcome = await self._placed(request, gate)
        is_duplicate = outcome.code == ORDER_REJECTED and DUPLICATE in outcome.reason
        # Only this client makes this ID, and sends it once. So an open order with this ID is the order that was sent.
        return replace(outcome, fate=Fate.UNKNOWN) if is_duplicate else outcome

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        return await self.client.cancel(target, gate, cancel_id=_cancel_id(target))

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        try:
            return (await self.reads.order(symbol, client_order_id)).value
        except ExchangeRejected as error:
            if error.exchange_code == NO_SUCH_ORDER:
                return None
            raise

    async def _placed(self, request: Written, gate: Gate) -> Outcome:
        if isinstance(request, Amendment):
            return await self.client.amend(request, gate)
        self_trade = self_trade_mode(await self.directory.find(request.symbol)).sent
        if isinstance(request, WrittenOrder):
            return await self.client.place(request, gate, self_trade=self_trade)
        if isinstance(request, WrittenList):
            return await self.client.place_list(request, gate, self_trade=self_trade)
        return await self._replaced(request, gate, self_trade)

    async def _replaced(self, request: Replacement, gate: Gate, self_trade: str | None) -> Outcome:
        """Send a replacement only after a test order has passed.

        A replacement that the exchange refuses would still cancel the old order.
        """
        tried = await self.client.try_out(request.order, self_trade=self_trade)
        if tried.fate is Fate.REFUSED:
            reason = f"the new order would be rejected, so the old one stays open: {tried.reason}"
            return replace(tried, fate=Fate.NOT_SENT, reason=reason)
        if tried.fate is not Fate.ACCEPTED:
            return Outcome(Fate.NOT_SENT, reason="Binance did not confirm a test of the new order, nothing was sent")
        return await self.client.replace(request, gate, cancel_id=_cancel_id(request.target), self_trade=self_trade)

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        return (await self.reads.open_orders(symbol)).value


def _cancel_id(target: Target) -> str:
    return target.client_order_id[: LONGEST_ID - len(CANCEL)] + CANCEL
