"""Tools that read the public market."""

from typing import Annotated

from pydantic import BaseModel, Field

from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, ToolAnswer, ToolSpec
from mcp_binance_server.surface.views.markdown import instant
from mcp_binance_server.surface.views.market import market_page

SymbolArgument = Annotated[
    str, Field(description="Trading pair without separator, e.g. BTCUSDT; lower case is fine", max_length=200)
]


class GetTicker(Arguments):
    symbol: SymbolArgument


class TickerAnswer(BaseModel):
    """Money as decimal strings, exactly as the exchange sent it."""

    success: bool = True
    symbol: str
    status: str
    last_price: str
    change: str
    change_percent: str
    open: str
    high: str
    low: str
    bid: str
    ask: str
    volume: str
    quote_volume: str
    weighted_average: str
    trade_count: int
    as_of: str
    host: str


def ticker_answer(view: MarketView) -> TickerAnswer:
    ticker = view.ticker
    return TickerAnswer(
        symbol=ticker.symbol,
        status=view.rules.status,
        last_price=f"{ticker.last_price:f}",
        change=f"{ticker.change:f}",
        change_percent=f"{ticker.change_percent:f}",
        open=f"{ticker.open_price:f}",
        high=f"{ticker.high:f}",
        low=f"{ticker.low:f}",
        bid=f"{ticker.bid:f}",
        ask=f"{ticker.ask:f}",
        volume=f"{ticker.volume:f}",
        quote_volume=f"{ticker.quote_volume:f}",
        weighted_average=f"{ticker.weighted_average:f}",
        trade_count=ticker.trade_count,
        as_of=instant(ticker.close_time_ms),
        host=view.host,
    )


async def get_ticker(context: Context, arguments: GetTicker) -> ToolAnswer:
    view = await context.market.ticker(arguments.symbol)
    return ToolAnswer(market_page(view), ticker_answer(view))


GET_TICKER = ToolSpec(
    name="get_ticker",
    title="24-hour ticker",
    description=(
        "Price, change, high, low and volume of one trading pair over the last 24 hours, live from Binance. "
        "Use it for 'what is the price of' questions. Not for order books, candles or anything of an account."
    ),
    arguments=GetTicker,
    answer=TickerAnswer,
    run=get_ticker,
    read_only=True,
    toolset="market",
)
