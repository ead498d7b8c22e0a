"""What a handler is given: the services, and later who is asking."""

from dataclasses import dataclass

from mcp_binance_server.services.account import AccountService
from mcp_binance_server.services.analysis import AnalysisService
from mcp_binance_server.services.live import LiveService
from mcp_binance_server.services.market import MarketService
from mcp_binance_server.services.order_books import OrderBookService
from mcp_binance_server.services.orders import OrdersService
from mcp_binance_server.services.portfolio import PortfolioService
from mcp_binance_server.services.preview import PreviewService


@dataclass(frozen=True, slots=True)
class Context:
    """The services a handler may ask."""

    market: MarketService
    analysis: AnalysisService
    account: AccountService
    orders: OrdersService
    preview: PreviewService
    portfolio: PortfolioService
    live: LiveService
    order_books: OrderBookService
