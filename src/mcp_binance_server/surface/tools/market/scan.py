"""Tool that scans a whole market for the largest moves, or for pairs that meet given conditions."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from mcp_binance_server.analytics.market.scan.conditions import (
    LONGEST_CONDITION,
    MOST_CONDITIONS,
    read_columns,
    read_conditions,
    read_sort,
)
from mcp_binance_server.analytics.market.scan.report import ScanReport, ScanRow
from mcp_binance_server.analytics.market.scan.screen import ScanQuestion
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.domain.symbols import fold
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.services.market.scan import least_volume
from mcp_binance_server.surface.arguments import Arguments, DecimalText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ListAnswer, ToolAnswer, ToolSpec, is_empty
from mcp_binance_server.surface.tools.rows import MaybeText, Row, optional
from mcp_binance_server.surface.views.markdown import instant, next_step
from mcp_binance_server.surface.views.scan import (
    age_words,
    board_source,
    scan_notes,
    scan_page,
    unit_notes,
    written_price,
    written_value,
)

MOST_ROWS = 50
MOST_SHOWN = 6
Written = Annotated[str, Field(max_length=LONGEST_CONDITION)]


class ScanMarket(Arguments):
    market: BoardMarket = "spot"
    quote: Annotated[str, Field(max_length=20)] = "USDT"
    min_volume: DecimalText | None = optional(
        "Minimum 24h volume in the quote asset; default for dollar coins: 1000000"
    )
    where: Annotated[list[Written], Field(max_length=MOST_CONDITIONS)] | None = optional(
        'All must hold: "column[@interval] < number", also <= > >=, e.g. ["change_24h < -5", "rsi_14@1h < 30"]. '
        "Columns: price change_24h range_24h quote_volume_24h trades_24h spread_bps rel_volume_24h; with @15m, 1h, 4h "
        "or 1d, of closed candles: change change_7 change_30 rel_volume rsi_14 atr_14 volatility_20 vs_sma_20 "
        "vs_sma_50 vs_sma_200 vs_high_20 vs_low_20; perpetual: funding_rate funding_apr mark_vs_index_bps oi_value "
        "oi_change_24h. Changes and distances in %, rel_volume as a ratio"
    )
    sort: Written | None = optional("Column, largest first; -column: smallest first")
    show: Annotated[list[Written], Field(max_length=MOST_SHOWN)] | None = optional("More columns")
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 10
    underlying: Literal["crypto", "tradfi", "all"] = Field("crypto", description="Perpetuals only")


class ScannedPair(Row):
    symbol: str
    price: str
    values: dict[str, MaybeText]


class ScanAnswer(ListAnswer):
    market: str
    listed: int
    matched: int
    waiting: int = Field(description="Pairs not judged yet: repeat the call")
    rows: list[ScannedPair] = Field(description="Without where and sort: largest gains")
    losers: list[ScannedPair] = Field(exclude_if=is_empty)
    as_of: str
    source: str
    host: str


def asked_screen(arguments: ScanMarket) -> ScanQuestion:
    """Parse the arguments of a scan.

    Raises:
        InvalidArguments: this market lacks a column that the scan needs.
    """
    market, quote = arguments.market, fold(arguments.quote)
    if market == "spot" and arguments.underlying == "tradfi":
        raise InvalidArguments(summary="underlying needs market=perpetual")
    return ScanQuestion(
        market,
        quote,
        least_volume(quote) if arguments.min_volume is None else float(arguments.min_volume),
        None if arguments.underlying == "all" else arguments.underlying,
        read_conditions(arguments.where or (), market),
        None if arguments.sort is None else read_sort(arguments.sort, market),
        read_columns(arguments.show or (), market),
        arguments.limit,
    )


def scan_answer(report: ScanReport) -> ScanAnswer:
    board = report.view.board
    return ScanAnswer(
        count=len(report.rows) + len(report.losers),
        limit=report.question.limit,
        more=_more(report),
        market=board.market,
        listed=report.listed,
        matched=report.matched,
        waiting=report.waiting,
        rows=[_row(report, row) for row in report.rows],
        losers=[_row(report, row) for row in report.losers],
        as_of=instant(board.at_ms),
        source=board_source(report.view),
        host=board.host,
        notes=[*scan_notes(report), *unit_notes(report)],
    )


def _row(report: ScanReport, row: ScanRow) -> ScannedPair:
    values = zip(report.columns, row.values, strict=True)
    return ScannedPair(
        symbol=row.symbol,
        price=written_price(row),
        values={str(ref): written_value(ref, value) for ref, value in values},
    )


def _more(report: ScanReport) -> str | None:
    asked = report.question
    is_cut = asked.limit in (len(report.rows), len(report.losers))
    if asked.limit == MOST_ROWS or not is_cut or report.matched <= len(report.rows) + len(report.losers):
        return None
    usual = asked.min_volume == least_volume(asked.quote)
    return next_step(
        "scan_market",
        market=None if asked.market == "spot" else asked.market,
        quote=None if asked.quote == "USDT" else asked.quote,
        min_volume=None if usual else f"{Decimal(repr(asked.min_volume)):f}",
        where=[*map(str, asked.where)] or None,
        sort=None if asked.sort is None else str(asked.sort),
        show=[*map(str, asked.show)] or None,
        limit=min(MOST_ROWS, 2 * asked.limit),
        underlying=None if asked.underlying == "crypto" else asked.underlying or "all",
    )


async def scan_market(context: Context, arguments: ScanMarket) -> ToolAnswer:
    question = asked_screen(arguments)
    report = await context.screener.scan(question)
    answer = scan_answer(report)
    old = age_words(report.view)
    return ToolAnswer(scan_page(report, answer.more), answer, warnings=() if old is None else (old,))


SCAN_MARKET = ToolSpec(
    name="scan_market",
    title="Market scan",
    description=(
        "All pairs of a market at once: largest gains and losses, or the pairs that meet conditions on price, volume, "
        "spread, indicators of closed candles, funding. Use it to find pairs. "
        "Not for one known pair (get_ticker, get_indicators)."
    ),
    arguments=ScanMarket,
    answer=ScanAnswer,
    run=scan_market,
    read_only=True,
    slow=True,
    shared=True,
    toolset="market",
)
