"""Tools for current prices and for the exchange's clock."""

from decimal import Decimal
from typing import Annotated, Self

from pydantic import Field, model_validator

from mcp_binance_server.domain.market import AveragePrice, ClockCheck, MarketView, Observation, Sourced, TickerBoard
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MaybeText, SymbolArgument, optional
from mcp_binance_server.surface.views.markdown import STALE_MS, doubts, exact, exact_average, instant
from mcp_binance_server.surface.views.market import (
    average_page,
    board_doubts,
    clock_page,
    clock_words,
    once_a_moment,
    source,
    ticker_page,
    ticker_table,
)

MOST_TICKERS = 20


class GetTicker(Arguments):
    symbol: Annotated[str, Field(max_length=200)] | None = optional("Trading pair, e.g. BTCUSDT; btc is fine")
    symbols: Annotated[list[str], Field(min_length=1, max_length=MOST_TICKERS)] | None = optional(
        "Several pairs at once, instead of symbol"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.symbol is None) == (self.symbols is None):
            raise ValueError("give symbol or symbols, not both")
        return self


class TickerAnswer(Answer):
    """Decimal text exactly as the exchange wrote it. Null if there were no trades in the last 24 hours."""

    symbol: str
    status: str
    last_price: MaybeText
    change: MaybeText
    change_percent: MaybeText
    open: MaybeText
    high: MaybeText
    low: MaybeText
    bid: MaybeText
    ask: MaybeText
    volume: str
    quote_volume: str
    weighted_average: MaybeText
    trade_count: int
    as_of: str
    source: str
    host: str


class TickersAnswer(ListAnswer):
    tickers: list[dict[str, MaybeText]] = Field(description="Several pairs: the same fields for each")
    missing: list[str]
    source: str
    host: str


class GetTickerAnswer(TickerAnswer, TickersAnswer):
    """Members of both kinds of answer, used only for the schema."""


@once_a_moment
def ticker_answer(view: MarketView) -> TickerAnswer:
    ticker = view.ticker

    def price(value: Decimal) -> str | None:
        return f"{value:f}" if value or ticker.has_traded else None

    return TickerAnswer(
        symbol=ticker.symbol,
        status=view.rules.status,
        last_price=price(ticker.last_price),
        change=price(ticker.change),
        change_percent=price(ticker.change_percent),
        open=price(ticker.open_price),
        high=price(ticker.high),
        low=price(ticker.low),
        bid=price(ticker.bid),
        ask=price(ticker.ask),
        volume=f"{ticker.volume:f}",
        quote_volume=f"{ticker.quote_volume:f}",
        weighted_average=price(ticker.weighted_average),
        trade_count=ticker.trade_count,
        as_of=instant(ticker.close_time_ms),
        source=source(view.origin, view.host),
        host=view.host,
    )


def tickers_answer(board: TickerBoard) -> TickersAnswer:
    rows = [_ticker_row(view) for view in board.views]
    return TickersAnswer(
        count=len(rows),
        limit=MOST_TICKERS,
        tickers=rows,
        missing=[*board.missing],
        source=source(board.origin, board.host),
        host=board.host,
    )


def _ticker_row(view: MarketView) -> dict[str, str | None]:
    ticker = view.ticker

    def price(value: Decimal) -> str | None:
        return exact(value, view.rules.tick) if value or ticker.has_traded else None

    return {
        "symbol": ticker.symbol,
        "status": view.rules.status,
        "last_price": price(ticker.last_price),
        "change": price(ticker.change),
        "change_percent": exact(ticker.change_percent) if ticker.has_traded else None,
        "high": price(ticker.high),
        "low": price(ticker.low),
        "bid": price(ticker.bid),
        "ask": price(ticker.ask),
        "volume": exact(ticker.volume),
        "quote_volume": exact(ticker.quote_volume),
        "as_of": instant(ticker.close_time_ms),
    }


async def get_ticker(context: Context, arguments: GetTicker) -> ToolAnswer:
    if arguments.symbol is not None:
        view = await context.market.ticker(arguments.symbol)
        return ToolAnswer(ticker_page(view), ticker_answer(view), warnings=tuple(doubts(view)))
    board = await context.market.tickers(arguments.symbols or ())
    page = ticker_table(board, MOST_TICKERS)
    return ToolAnswer(page, tickers_answer(board), warnings=tuple(board_doubts(board)))


GET_TICKER = ToolSpec(
    name="get_ticker",
    title="24-hour ticker",
    description=(
        "Price, change, high, low and volume of one trading pair (symbol) or of up to 20 (symbols) over the last 24 "
        "hours, live from Binance. Use it for 'what is the price of' questions and to compare pairs. "
        "Not for order books, candles or account data."
    ),
    arguments=GetTicker,
    answer=GetTickerAnswer,
    run=get_ticker,
    read_only=True,
    toolset="market",
)


class GetAveragePrice(Arguments):
    symbol: SymbolArgument


class AveragePriceAnswer(Answer):
    symbol: str
    average_price: str
    minutes: int
    as_of: str
    source: str
    host: str


def average_answer(seen: Observation[AveragePrice]) -> AveragePriceAnswer:
    return AveragePriceAnswer(
        symbol=seen.rules.symbol,
        average_price=exact_average(seen.value.price, seen.rules.tick),
        minutes=seen.value.minutes,
        as_of=instant(seen.at_ms),
        source=source(seen.origin, seen.host),
        host=seen.host,
    )


async def get_average_price(context: Context, arguments: GetAveragePrice) -> ToolAnswer:
    seen = await context.market.average(arguments.symbol)
    quiet = seen.at_ms - seen.value.last_trade_ms > STALE_MS
    return ToolAnswer(average_page(seen), average_answer(seen), quiet=quiet)


GET_AVERAGE_PRICE = ToolSpec(
    name="get_average_price",
    title="Average price",
    description=(
        "Binance's own average price of a pair over the last minutes. Price filters use it for pairs without a "
        "reference price. Not for the current price (get_ticker) or moving averages (get_indicators)."
    ),
    arguments=GetAveragePrice,
    answer=AveragePriceAnswer,
    run=get_average_price,
    read_only=True,
    toolset="market",
)


class GetServerTime(Arguments):
    pass


class ServerTimeAnswer(Answer):
    exchange_time: str
    exchange_time_ms: int
    clock_ahead_ms: int = Field(description="Our clock minus the exchange's")
    round_trip_ms: int
    source: str
    host: str


def clock_answer(reading: Sourced[ClockCheck]) -> ServerTimeAnswer:
    check = reading.value
    return ServerTimeAnswer(
        exchange_time=instant(check.exchange_ms),
        exchange_time_ms=check.exchange_ms,
        clock_ahead_ms=check.difference_ms,
        round_trip_ms=check.round_trip_ms,
        source=source(reading.origin, reading.host),
        host=reading.host,
        notes=[f"Our clock: {clock_words(check)}"],
    )


async def get_server_time(context: Context, _arguments: GetServerTime) -> ToolAnswer:
    reading = await context.market.clock_check()
    return ToolAnswer(clock_page(reading), clock_answer(reading))


GET_SERVER_TIME = ToolSpec(
    name="get_server_time",
    title="Exchange time",
    description=(
        "The exchange's time, how far this server's clock is from it, and the round trip. Use it when signed calls "
        "fail on their timestamp. Not for the time of market data: every answer carries its own."
    ),
    arguments=GetServerTime,
    answer=ServerTimeAnswer,
    run=get_server_time,
    read_only=True,
    toolset="market",
)
