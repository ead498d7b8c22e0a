"""Index pages: the URIs of a category, and a summary of its data."""

from mcp_binance_server.analytics.portfolio.valuation import DOLLAR, Portfolio
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.orders import OpenOrders
from mcp_binance_server.surface.views.markdown import instant, money, plain
from mcp_binance_server.surface.views.orders.history import open_summary, order_price
from mcp_binance_server.surface.views.portfolio.holdings import CENT, source, word

MOST_NAMED = 5

MARKET_ADDRESSES = (
    "- `binance://market/{symbol}`: the last 24 hours of any pair, e.g. binance://market/btcusdt",
    "- `binance://market/{symbol}/orderbook`: the best bids and asks, e.g. binance://market/btcusdt/orderbook",
)
ACCOUNT_ADDRESSES = (
    "- binance://account/balances: every asset, free and locked",
    "- binance://account/positions: holdings other than stablecoins, with value and share",
)
ORDER_ADDRESSES = (
    "- binance://orders/open: the orders on the book",
    "- binance://orders/history: the newest orders of every status",
)
JOURNAL_ADDRESS = "- binance://orders/journal: orders placed by this server, with status and approval"


def account_index(portfolio: Portfolio, venue: Venue, as_of_ms: int) -> str:
    """Render an account's holdings in three lines, and the URIs of detailed pages."""
    assets = len(portfolio.holdings) + len(portfolio.excluded)
    largest = ", ".join(
        f"{plain(each.asset)} {(each.weight or 0) * 100:.1f}%" for each in portfolio.holdings[:MOST_NAMED]
    )
    facts = [
        f"**Total Assets**: {assets}",
        f"**Portfolio Value**: ~{money(portfolio.total, DOLLAR, CENT)}",
        *([f"**Largest**: {largest}"] if largest else []),
    ]
    return "\n".join(["# Account", "", *facts, "", *ACCOUNT_ADDRESSES, "", *source(venue, as_of_ms)])


def orders_index(view: OpenOrders, *, has_journal: bool = False) -> str:
    """Render the number of open orders, the newest order, and the URIs of detailed pages."""
    newest = max(view.orders, key=lambda order: (order.created_ms, order.order_id), default=None)
    facts = open_summary(view) if newest is not None else ["**Total Open Orders**: 0"]
    if newest is not None:
        price = order_price(newest, view.rules.get(newest.symbol))
        facts.append(
            f"**Newest**: {word(newest.side)} {plain(newest.symbol)} {word(newest.kind)} at {price}, "
            f"{word(newest.status)}, {instant(newest.created_ms)}"
        )
    addresses = (*ORDER_ADDRESSES, JOURNAL_ADDRESS) if has_journal else ORDER_ADDRESSES
    return "\n".join(["# Orders", "", *facts, "", *addresses, "", *source(view.venue, view.as_of_ms)])
