"""Tools that read order books and recent trades."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from mcp_binance_server.domain.market import BookSnapshot, Observation, Trade
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MaybeText, Pair
from mcp_binance_server.surface.views.book.levels import (
    NO_SPREAD,
    TRADE_COLUMNS,
    BookSummary,
    book_page,
    level_pairs,
    tape_page,
    trade_rows,
    traded,
)
from mcp_binance_server.surface.views.markdown import STALE_MS, exact, instant, next_step
from mcp_binance_server.surface.views.market import source

DEEPEST = 1000
MOST_TRADES = 1000


class GetOrderBook(Arguments):
    symbol: Pair
    limit: Annotated[int, Field(description="Levels of each side", ge=5, le=DEEPEST)] = 20


class OrderBookAnswer(ListAnswer):
    symbol: str
    bids: list[list[str]] = Field(description="Price, quantity; best first")
    asks: list[list[str]]
    spread: MaybeText
    spread_bps: MaybeText
    mid: MaybeText
    bid_total: str
    ask_total: str
    last_update_id: int
    as_of: str
    source: str
    host: str


def book_answer(seen: Observation[BookSnapshot], totals: BookSummary, limit: int) -> OrderBookAnswer:
    book, tick = seen.value, seen.rules.tick
    count = max(len(book.bids), len(book.asks))
    is_cut = count >= limit and limit < DEEPEST
    symbol = seen.rules.symbol
    return OrderBookAnswer(
        count=count,
        limit=limit,
        more=next_step("get_order_book", symbol=symbol, limit=min(DEEPEST, 5 * limit)) if is_cut else None,
        symbol=symbol,
        bids=level_pairs(seen.rules, book.bids),
        asks=level_pairs(seen.rules, book.asks),
        spread=_optional(totals.spread, tick),
        spread_bps=_optional(totals.spread_bps),
        mid=_optional(totals.mid, tick),
        bid_total=exact(totals.bid_total),
        ask_total=exact(totals.ask_total),
        last_update_id=book.last_update_id,
        notes=[NO_SPREAD] if totals.spread is None else [],
        as_of=instant(seen.at_ms),
        source=source(seen.origin, seen.host),
        host=seen.host,
    )


def _optional(value: Decimal | None, step: Decimal = Decimal(0)) -> str | None:
    return None if value is None else exact(value, step)


async def get_order_book(context: Context, arguments: GetOrderBook) -> ToolAnswer:
    seen = await context.market.book(arguments.symbol, arguments.limit)
    await context.pace.step()
    totals = BookSummary.of(seen.value)
    answer = book_answer(seen, totals, arguments.limit)
    page = book_page(seen, totals, (answer.bids, answer.asks), arguments.limit, answer.more)
    return ToolAnswer(page, answer, quiet=totals.is_quiet)


GET_ORDER_BOOK = ToolSpec(
    name="get_order_book",
    title="Order book",
    description=(
        "Bids and asks of one pair, best first, with spread, mid and totals. Use it for liquidity and the cost of a "
        "market order. Not for past prices (get_klines) or executed trades (get_recent_trades)."
    ),
    arguments=GetOrderBook,
    answer=OrderBookAnswer,
    run=get_order_book,
    read_only=True,
    toolset="market",
)


class GetRecentTrades(Arguments):
    symbol: Pair
    limit: Annotated[int, Field(ge=1, le=MOST_TRADES)] = 50


class RecentTradesAnswer(ListAnswer):
    symbol: str
    columns: str
    rows: list[list[str]] = Field(description="Newest last; one taker at one price")
    bought: str = Field(description="Quantity bought by aggressive buyers")
    sold: str
    as_of: str
    source: str
    host: str


def trades_answer(seen: Observation[tuple[Trade, ...]], limit: int) -> RecentTradesAnswer:
    trades, symbol = seen.value, seen.rules.symbol
    is_cut = len(trades) >= limit and limit < MOST_TRADES
    return RecentTradesAnswer(
        count=len(trades),
        limit=limit,
        more=next_step("get_recent_trades", symbol=symbol, limit=min(MOST_TRADES, 5 * limit)) if is_cut else None,
        symbol=symbol,
        columns=TRADE_COLUMNS,
        rows=trade_rows(seen.rules, trades),
        bought=exact(traded(trades, "buy")),
        sold=exact(traded(trades, "sell")),
        as_of=instant(seen.at_ms),
        source=source(seen.origin, seen.host),
        host=seen.host,
    )


async def get_recent_trades(context: Context, arguments: GetRecentTrades) -> ToolAnswer:
    seen = await context.market.trades(arguments.symbol, arguments.limit)
    await context.pace.step()
    answer = trades_answer(seen, arguments.limit)
    quiet = not seen.value or seen.at_ms - seen.value[-1].time_ms > STALE_MS
    return ToolAnswer(tape_page(seen, answer.rows, arguments.limit, answer.more), answer, quiet=quiet)


GET_RECENT_TRADES = ToolSpec(
    name="get_recent_trades",
    title="Recent trades",
    description=(
        "The newest public trades of one pair, newest last, each with the side of the aggressor. Use it to see which "
        "side is aggressive now. Not for your own fills, and not for hours of history: get_klines."
    ),
    arguments=GetRecentTrades,
    answer=RecentTradesAnswer,
    run=get_recent_trades,
    read_only=True,
    toolset="market",
)
