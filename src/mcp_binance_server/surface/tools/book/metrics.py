"""Tools that compute metrics of live order books."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from mcp_binance_server.services.live.service import FeedHealth
from mcp_binance_server.surface.arguments import Arguments, DecimalText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MaybeText, MeasuredAnswer, Pair, Row, measured
from mcp_binance_server.surface.views.book.levels import BookSummary, level_pairs, level_rows
from mcp_binance_server.surface.views.book.metrics import (
    book_basis,
    book_line,
    book_metrics,
    compact_levels,
    cost_line,
    cost_metrics,
    scale_of,
)
from mcp_binance_server.surface.views.markdown import exact, instant, next_step, plain, with_more
from mcp_binance_server.surface.views.measures import table, titled

STEPS = (20, 100, 500, 1000)


class OneSymbol(Arguments):
    symbol: Pair


async def get_orderbook_metrics(context: Context, arguments: OneSymbol) -> ToolAnswer:
    view, report = await context.order_books.metrics(arguments.symbol)
    basis = book_basis(view, truncated=not report.reach.is_whole, coverage=report.reach.coverage)
    return measured(context, view.rules, basis, book_metrics(view, report), book_line(view, report))


GET_ORDERBOOK_METRICS = ToolSpec(
    name="get_orderbook_metrics",
    title="Order book metrics",
    description=(
        "Spread, mid, imbalance, large levels and the cost of market orders from one pair's live book. Use it first. "
        "Not for the levels themselves: get_orderbook_depth."
    ),
    arguments=OneSymbol,
    answer=MeasuredAnswer,
    run=get_orderbook_metrics,
    read_only=True,
    toolset="analysis",
    live=True,
)


class GetOrderbookDepth(Arguments):
    symbol: Pair
    levels: Annotated[Literal[20, 100, 500, 1000], Field(description="Levels of each side")] = 20


class DepthAnswer(Answer):
    symbol: str
    network: str
    source: str
    as_of: str
    age_ms: int
    price_scale: str = Field(description="price = integer x price_scale")
    qty_scale: str
    bids: list[list[int]] = Field(description="[price, quantity] as integers, best first")
    asks: list[list[int]]
    total_levels: int
    last_update_id: int
    next: MaybeText = Field(description="The call for more levels")


async def get_orderbook_depth(context: Context, arguments: GetOrderbookDepth) -> ToolAnswer:
    view = await context.order_books.levels(arguments.symbol, arguments.levels)
    await context.pace.step()
    rules, book = view.rules, view.snapshot
    deeper = next((step for step in STEPS if step > arguments.levels), None)
    is_cut = max(len(book.bids), len(book.asks)) >= arguments.levels and deeper is not None
    more = next_step("get_orderbook_depth", symbol=rules.symbol, levels=deeper) if is_cut else None
    levels = (*book.bids, *book.asks)
    tick = scale_of(rules.tick, [level.price for level in levels])
    step = scale_of(rules.step, [level.quantity for level in levels])
    answer = DepthAnswer(
        symbol=rules.symbol,
        network=context.live.network.name,
        source="book" if view.is_live else "depth",
        as_of=instant(view.as_of_ms),
        age_ms=view.age_ms,
        price_scale=exact(tick),
        qty_scale=exact(step),
        bids=compact_levels(book.bids, tick, step),
        asks=compact_levels(book.asks, tick, step),
        total_levels=len(book.bids) + len(book.asks),
        last_update_id=book.last_update_id,
        next=more,
    )
    lines = [
        f"{plain(rules.symbol)}: {len(book.bids)} bids, {len(book.asks)} asks, total levels {answer.total_levels}, "
        f"best first; price scale {answer.price_scale}, qty scale {answer.qty_scale}",
        f"*{answer.network}; source {answer.source}; as of {answer.as_of}, age {answer.age_ms} ms; "
        f"last update id {answer.last_update_id}*",
        "",
        *level_rows(level_pairs(rules, book.bids), level_pairs(rules, book.asks)),
    ]
    return ToolAnswer(with_more(lines, more), answer, quiet=BookSummary.of(book).is_quiet)


GET_ORDERBOOK_DEPTH = ToolSpec(
    name="get_orderbook_depth",
    title="Order book depth",
    description=(
        "Levels of one pair's book as compact integers: 20 a side, or 100, 500, 1000. Not for questions that "
        "get_orderbook_metrics answers."
    ),
    arguments=GetOrderbookDepth,
    answer=DepthAnswer,
    run=get_orderbook_depth,
    read_only=True,
    toolset="analysis",
    live=True,
)


class NoArguments(Arguments):
    pass


class FeedRow(Row):
    symbol: str
    status: str
    state: str
    age_ms: int | None
    lag_ms: int
    readers: int
    bids: int
    asks: int
    gaps: int
    resyncs: int
    crossed: int
    last_update_id: int


class HubAnswer(Answer):
    network: str
    symbols: list[FeedRow]
    most_symbols: int
    connections: int
    reconnects: int
    weight_used: int
    weight_limit: int
    as_of: str


def _row(feed: FeedHealth) -> FeedRow:
    return FeedRow(
        symbol=feed.symbol,
        status=feed.status,
        state=feed.state,
        age_ms=feed.age_ms,
        lag_ms=feed.lag_ms,
        readers=feed.readers,
        bids=feed.levels.bids,
        asks=feed.levels.asks,
        gaps=feed.counts.gaps,
        resyncs=max(0, feed.counts.joins - 1),
        crossed=feed.counts.crossed,
        last_update_id=feed.last_update_id,
    )


async def get_orderbook_health(context: Context, _arguments: NoArguments) -> ToolAnswer:
    health = await context.order_books.health()
    rows = [_row(feed) for feed in health.feeds]
    notes: list[str] = []
    if not rows:
        notes = ["Streams are off." if health.streams_off else "No symbol is streamed now; a book tool starts one."]
    answer = HubAnswer(
        notes=notes,
        network=context.live.network.name,
        symbols=rows,
        most_symbols=health.most,
        connections=health.connections,
        reconnects=health.reconnects,
        weight_used=health.weight_used,
        weight_limit=health.weight_limit,
        as_of=instant(health.at_ms),
    )
    return ToolAnswer(_health_text(answer), answer)


def _health_text(answer: HubAnswer) -> str:
    lines = [*answer.notes]
    if answer.symbols:
        names = [*FeedRow.model_fields]
        cells = [{**row.model_dump(), "symbol": plain(row.symbol)} for row in answer.symbols]
        rows = [["no book yet" if each[name] is None else str(each[name]) for name in names] for each in cells]
        lines += [*table([titled(name) for name in names], rows), ""]
    lines.append(
        f"{len(answer.symbols)} of {answer.most_symbols} symbols at most; {answer.connections} connections, "
        f"{answer.reconnects} reconnects; weight used {answer.weight_used} of a weight limit of {answer.weight_limit} "
        f"this minute"
    )
    return "\n".join([*lines, f"*{answer.network}; as of {answer.as_of}*"])


GET_ORDERBOOK_HEALTH = ToolSpec(
    name="get_orderbook_health",
    title="Order book health",
    description=(
        "Quality of the live books: state, age, gaps and resyncs of each streamed pair. Not for the health of the "
        "market: get_microstructure_health."
    ),
    arguments=NoArguments,
    answer=HubAnswer,
    run=get_orderbook_health,
    read_only=True,
    toolset="analysis",
    live=True,
)


class EstimateSlippage(Arguments):
    symbol: Pair
    side: Literal["BUY", "SELL"]
    amount: Annotated[DecimalText, Field(description="Decimal text")]
    amount_type: Annotated[Literal["quote", "base"], Field(description="Unit of amount")] = "quote"


async def estimate_slippage(context: Context, arguments: EstimateSlippage) -> ToolAnswer:
    side: Any = arguments.side.lower()
    view, report = await context.order_books.cost(
        arguments.symbol, Decimal(arguments.amount), side, arguments.amount_type
    )
    metrics, line = cost_metrics(view, report), cost_line(view, report, arguments.side, arguments.amount)
    is_truncated = not report.walk.complete and report.expires_beyond is None
    return measured(context, view.rules, book_basis(view, truncated=is_truncated), metrics, line)


ESTIMATE_SLIPPAGE = ToolSpec(
    name="estimate_slippage",
    title="Slippage of a market order",
    description=(
        "Cost of a market order of a given size against the live book, and the size that fits within 1, 5 and 10 bps. "
        "Fees excluded, nothing is sent. Not for checking an order against rules and balance: preview_order."
    ),
    arguments=EstimateSlippage,
    answer=MeasuredAnswer,
    run=estimate_slippage,
    read_only=True,
    toolset="analysis",
    live=True,
)
