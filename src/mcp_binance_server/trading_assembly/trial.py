"""Test order that tries out a key. The exchange checks the order and does not execute it."""

from decimal import ROUND_CEILING, Decimal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Outcome, WrittenOrder
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient

TRIED = "doctor-tries-an-order"
# Multiple of the exchange's minimum value, so that a moving price does not bring the order below the minimum.
ABOVE_LEAST = Decimal("1.5")


def small_order(rules: SymbolRules, price: Price) -> WrittenOrder:
    """Return a buy at a price, worth `ABOVE_LEAST` times the exchange's minimum."""
    least = max(rules.min_notional * ABOVE_LEAST / price, rules.min_quantity)
    steps = (least / rules.step).to_integral_value(ROUND_CEILING) if rules.step else least
    quantity = Quantity(steps * rules.step if rules.step else least)
    return WrittenOrder(TRIED, rules.symbol, "BUY", "LIMIT", "GTC", quantity, price)


async def try_out(caller: ExchangeCaller, principal: Principal, order: WrittenOrder) -> Outcome:
    """Let the exchange check an order with this key. Nothing is executed.

    Raises:
        AppError: the exchange could not be queried.
    """
    return await OrderClient(caller, principal, OrderCounts(caller.time)).try_out(order)
