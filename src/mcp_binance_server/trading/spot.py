"""The broker of an account at the exchange, for play money and money: hosts differ, the code does not."""

from dataclasses import dataclass, replace

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.order_fates import DUPLICATE, NO_SUCH_ORDER, ORDER_REJECTED
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.trading.judgement.self_trade import self_trade_mode

# The exchange gives up on a request after ten seconds; what it then has may take a while to be found.
API_LIMIT_MS, MARGIN_MS = 10_000, 5_000
CANCEL, LONGEST_ID = "-c", 36


def horizon_of(recv_window_ms: int) -> int:
    """Return how long after it was signed a request may still become an order."""
    return recv_window_ms + API_LIMIT_MS + MARGIN_MS


@dataclass(frozen=True, slots=True)
class SpotBroker:
    """Takes orders of the account behind one key."""

    client: OrderClient
    reads: AccountClient
    directory: Directory
    venue: Venue
    horizon_ms: int

    async def place(self, order: WrittenOrder, gate: Gate) -> Outcome:
        rules = await self.directory.find(order.symbol)
        outcome = await self.client.place(order, gate, self_trade=self_trade_mode(rules).sent)
        is_duplicate = outcome.code == ORDER_REJECTED and outcome.reason.startswith(DUPLICATE)
        # Nobody else makes this id, and it is sent once: what is open by that name is this very order.
        return replace(outcome, fate=Fate.UNKNOWN) if is_duplicate else outcome

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        cancel_id = target.client_order_id[: LONGEST_ID - len(CANCEL)] + CANCEL
        return await self.client.cancel(target, gate, cancel_id=cancel_id)

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        try:
            return (await self.reads.order(symbol, client_order_id)).value
        except ExchangeRejected as error:
            if error.exchange_code == NO_SUCH_ORDER:
                return None
            raise

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        return (await self.reads.open_orders(symbol)).value
