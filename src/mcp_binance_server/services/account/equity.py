"""Value of an account at the prices at which it can be sold now."""

from decimal import Decimal, localcontext

from mcp_binance_server.analytics.portfolio.valuation import DOLLAR, find_route
from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.money import EXACT_DIGITS, Price
from mcp_binance_server.exchange.spot.rest import SpotClient


async def equity_in(quote: str, account: Account, market: SpotClient) -> Decimal | None:
    """Return the value of all balances, free and locked, in a quote asset; None without a price for that.

    Assets are valued at the bid, and the quote asset at the ask, so the value is not too high. An asset without a route
    to USDT has no value.
    """
    quotes = (await market.quotes()).value.values()
    # A market with USDT as its base is divided by: there the ask is the price of a sale for USDT.
    sells = {each.symbol: Price(each.ask if each.symbol.startswith(DOLLAR) else each.bid) for each in quotes}
    buys = {each.symbol: Price(each.bid if each.symbol.startswith(DOLLAR) else each.ask) for each in quotes}
    unit = find_route(quote, buys).price
    if not unit:
        return None
    with localcontext(prec=EXACT_DIGITS):
        worth = ((each.total, find_route(each.asset, sells).price) for each in account.holdings)
        return sum((total * price for total, price in worth if price), Decimal(0)) / unit
