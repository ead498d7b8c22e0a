"""What an order and a holding count for, in the one asset that the operator's limits are written in."""

from collections.abc import Mapping
from decimal import Decimal, localcontext

from mcp_binance_server.analytics.portfolio.valuation import find_route
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.judgement.policy import cents_up


def counted_in(asset: str, counting: str, amount: Quantity, prices: Mapping[Symbol, Price]) -> int | None:
    """Count an amount in whole hundredths of another asset, rounded up; None where there is no price for that."""
    with localcontext(prec=EXACT_DIGITS):
        if asset == counting:
            return cents_up(amount)
        worth, unit = find_route(asset, prices).price, find_route(counting, prices).price
        return None if not worth or not unit else cents_up(Decimal(amount * worth / unit))
