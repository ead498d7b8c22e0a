"""Value of orders and holdings in the counting asset. The operator's limits are in this asset."""

from collections.abc import Mapping
from decimal import Decimal, localcontext

from mcp_binance_server.analytics.portfolio.valuation import find_route
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.judgement.policy import cents_up


def counted_in(asset: str, counting: str, amount: Quantity, prices: Mapping[Symbol, Price]) -> int | None:
    """Convert an amount to whole hundredths of another asset, rounded up. Return None if there is no price."""
    with localcontext(prec=EXACT_DIGITS):
        if asset == counting:
            return cents_up(amount)
        worth, unit = find_route(asset, prices).price, find_route(counting, prices).price
        return None if not worth or not unit else cents_up(Decimal(amount * worth / unit))
