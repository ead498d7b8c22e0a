"""The tool that reads candles."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.domain.candles import Interval
from mcp_binance_server.domain.observations import MOST_CANDLES, CandleSeries, Observation
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MaybeText, Pair, optional
from mcp_binance_server.surface.views.candles import (
    COLUMNS,
    candle_notes,
    candle_page,
    candle_rows,
    is_final,
    is_quiet,
    older_candles,
    short_time,
)
from mcp_binance_server.surface.views.markdown import instant
from mcp_binance_server.surface.views.market import source

Moment = str | int | None


class GetKlines(Arguments):
    symbol: Pair
    interval: Interval = Field(description="1m is a minute, 1M a month")
    limit: Annotated[int, Field(ge=1, le=MOST_CANDLES)] = 100
    start: Moment = optional("'last 36 hours', '36h', '2 days ago', 'since yesterday', ISO instant or epoch ms; UTC")
    end: Moment = optional("As start; now if left out")


class KlinesAnswer(ListAnswer):
    symbol: str
    interval: str
    columns: str
    rows: list[str] = Field(description="Newest last; volume has 5 significant digits")
    first_open_time: MaybeText
    open_times: list[str] | None = Field(description="Only if rows are not one interval apart")
    last_is_final: bool | None = Field(description="false: the last candle may still change")
    as_of: str
    source: str
    host: str


def klines_answer(seen: Observation[CandleSeries]) -> KlinesAnswer:
    series = seen.value
    candles = series.candles
    return KlinesAnswer(
        count=len(candles),
        limit=series.limit,
        more=older_candles(seen),
        symbol=seen.rules.symbol,
        interval=series.interval,
        columns=COLUMNS,
        rows=candle_rows(seen.rules, candles),
        first_open_time=instant(candles[0].open_time_ms) if candles else None,
        open_times=[short_time(each.open_time_ms) for each in candles] if series.has_gaps else None,
        last_is_final=is_final(candles[-1], seen.at_ms) if candles else None,
        as_of=instant(seen.at_ms),
        source=source(seen.origin, seen.host),
        host=seen.host,
        notes=candle_notes(seen),
    )


async def get_klines(context: Context, arguments: GetKlines) -> ToolAnswer:
    seen = await context.market.candles(
        arguments.symbol, arguments.interval, arguments.limit, arguments.start, arguments.end
    )
    # Of a period that has ended its candles say all; whether the market trades now is another question.
    quiet = arguments.end is None and is_quiet(seen.value.candles, seen.at_ms)
    await context.pace.step()
    answer = klines_answer(seen)
    return ToolAnswer(candle_page(seen, answer.rows), answer, quiet=quiet)


GET_KLINES = ToolSpec(
    name="get_klines",
    title="Candles",
    description=(
        "Candles of one pair, newest last; of a longer period the newest are kept. Use it for price history. "
        "Not for the price now (get_ticker), nor to compute indicators yourself (get_indicators)."
    ),
    arguments=GetKlines,
    answer=KlinesAnswer,
    run=get_klines,
    read_only=True,
    shared=True,
    toolset="market",
)
