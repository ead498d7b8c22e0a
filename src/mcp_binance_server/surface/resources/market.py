"""binance://market/{symbol}"""  # noqa: D415 - an address is its own sentence

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, ResourceSpec, TemplateSpec
from mcp_binance_server.surface.views.market import market_page

FRESH_MS = 1_000

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


async def read_market(context: Context, symbol: str) -> Page:
    view = await context.market.ticker(symbol)
    return Page(market_page(view), keep_ms=FRESH_MS, shareable=True)
