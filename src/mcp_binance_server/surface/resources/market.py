"""binance://market/{symbol}"""  # noqa: D415 - an address is its own sentence

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.freshness import doubts_about
from mcp_binance_server.surface.spec import Page, ResourceSpec, TemplateSpec
from mcp_binance_server.surface.views.book import BookSummary, order_book_page
from mcp_binance_server.surface.views.index import market_index
from mcp_binance_server.surface.views.market import market_page

FRESH_MS = 1_000
BOOK = "orderbook"
BOOK_LEVELS = 20
BEST_KNOWN = tuple(map(Symbol, ("BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT", "ADAUSDT")))

BTCUSDT = ResourceSpec(
    uri="binance://market/btcusdt",
    name="BTCUSDT Market Data",
    description="Real-time 24-hour ticker statistics for Bitcoin/USDT trading pair",
)
ETHUSDT = ResourceSpec(
    uri="binance://market/ethusdt",
    name="ETHUSDT Market Data",
    description="Real-time 24-hour ticker statistics for Ethereum/USDT trading pair",
)
ANY_SYMBOL = TemplateSpec(
    uri_template="binance://market/{symbol}",
    name="Market Data",
    description="Real-time 24-hour ticker statistics for any trading pair, e.g. binance://market/solusdt",
)
ORDER_BOOK = TemplateSpec(
    uri_template="binance://market/{symbol}/orderbook",
    name="Order Book",
    description="Best bids and asks of any trading pair, e.g. binance://market/btcusdt/orderbook",
)
INDEX = ResourceSpec(
    uri="binance://market",
    name="Markets",
    description="What market pages there are, and the best known pairs at a glance",
)


async def read_market(context: Context, identifier: str) -> Page:
    symbol, _, part = identifier.rpartition("/")
    if symbol and part.lower() == BOOK:
        return await _book(context, symbol)
    if not identifier:
        return await _index(context)
    view = await context.market.ticker(identifier)
    return Page(market_page(view), keep_ms=FRESH_MS, shareable=True)


async def _book(context: Context, symbol: str) -> Page:
    seen = await context.market.book(symbol, BOOK_LEVELS)
    found = await doubts_about(context, symbol, quiet=BookSummary.of(seen.value).is_quiet)
    return Page(order_book_page(seen, found), keep_ms=FRESH_MS, shareable=True)


async def _index(context: Context) -> Page:
    listed = await context.market.symbols("")
    known = [symbol for symbol in BEST_KNOWN if symbol in listed] or listed[: len(BEST_KNOWN)]
    board = await context.market.tickers(known)
    trading = await context.market.trading_count()
    return Page(market_index(board, len(listed), trading), keep_ms=FRESH_MS, shareable=True)
