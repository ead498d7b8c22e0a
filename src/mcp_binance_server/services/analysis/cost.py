"""Cost of a market order, from the current book, the seconds before, and the quote asset's value."""

from mcp_binance_server.analytics.book.cost import MarketOrderCost, market_order_cost
from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.services.live.service import BookView, LiveService, Watch

DOLLAR = "USDT"


async def order_cost(live: LiveService, watch: Watch, view: BookView) -> MarketOrderCost | None:
    """Measure the cost of a market order. If the symbol was watched, use the smallest depth of the last half minute.

    Raises:
        RateLimited: the price request for the quote asset hit the rate limit.
    """
    feed = watch.live
    before = tuple(feed.cheap) if feed is not None and view.is_live else ()
    dollars = None if watch.rules.quote in STABLECOINS else await _dollars(live, watch.rules.quote)
    return market_order_cost(view.snapshot, before, live.time.now_ms(), dollars=dollars)


async def _dollars(live: LiveService, asset: str) -> float | None:
    """Return the value of an asset in USDT from its own market, direct or inverse. Return None if it has no market."""
    table = await live.market.directory.table()
    for text, is_inverse in ((f"{asset}{DOLLAR}", False), (f"{DOLLAR}{asset}", True)):
        rules = table.find(text)
        if rules is None or not rules.is_trading:
            continue
        try:
            quote = (await live.client.quote(rules.symbol)).value
        except RateLimited:
            raise
        except AppError:
            return None
        mid = float(quote.bid + quote.ask) / 2
        return None if not mid else 1 / mid if is_inverse else mid
    return None
