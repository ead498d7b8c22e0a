"""Tools for candles and for indicators that are computed from them."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.analytics.indicators.table import IndicatorReading
from mcp_binance_server.domain.market import MOST_CANDLES, CandleSeries, Observation
from mcp_binance_server.domain.periods import Interval
from mcp_binance_server.services.market.indicators import read_indicators
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MaybeText, Pair, Row, omitted, optional
from mcp_binance_server.surface.views.candles import (
    COLUMNS,
    candle_notes,
    candle_page,
    candle_rows,
    indicator_lines,
    indicator_notes,
    is_final,
    is_quiet,
    line_value,
    older_candles,
    seed_weights,
    short_time,
)
from mcp_binance_server.surface.views.markdown import counted, exact, instant, next_step, with_more
from mcp_binance_server.surface.views.market import footer, source

Moment = str | int | None

MOST_BARS = 50
Written = Annotated[str, Field(max_length=40)]


class GetKlines(Arguments):
    symbol: Pair
    interval: Interval = Field(description="1m is a minute, 1M a month")
    limit: Annotated[int, Field(ge=1, le=MOST_CANDLES)] = 100
    start: Moment = optional("'last 36 hours', '36h', '2 days ago', 'since yesterday', ISO instant or epoch ms; UTC")
    end: Moment = optional("Like start; now if left out")


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
    # Candles of an earlier period are complete, so the current state of the market needs no check.
    quiet = arguments.end is None and is_quiet(seen.value.candles, seen.at_ms)
    await context.pace.step()
    answer = klines_answer(seen)
    return ToolAnswer(candle_page(seen, answer.rows), answer, quiet=quiet)


GET_KLINES = ToolSpec(
    name="get_klines",
    title="Candles",
    description=(
        "Candles of one pair, newest last; if a period has too many, the newest are shown. Use it for price history. "
        "Not for the price now (get_ticker), nor to compute indicators yourself (get_indicators)."
    ),
    arguments=GetKlines,
    answer=KlinesAnswer,
    run=get_klines,
    read_only=True,
    shared=True,
    toolset="market",
)


class GetIndicators(Arguments):
    symbol: Pair
    indicators: Annotated[
        list[Written],
        Field(
            description="e.g. rsi, ema(50), macd, bollinger(20,2), atr, adx, sma, obv, obv(day), vwap, vwap(week)",
            min_length=1,
            max_length=10,
        ),
    ]
    interval: Interval = "1h"
    last_n: Annotated[int, Field(description="Bars to show", ge=1, le=MOST_BARS)] = 1


class IndicatorRow(Row):
    open_time: str
    is_final: bool
    close: str
    values: dict[str, MaybeText]
    warming: bool | None = omitted()
    seed_weight: dict[str, str] | None = omitted()


class IndicatorsAnswer(ListAnswer):
    symbol: str
    interval: str
    bars_used: int
    first_bar: MaybeText
    rows: list[IndicatorRow] = Field(description="Newest last; warming: the start value still has a weight over 1%")
    as_of: str
    source: str
    host: str


def indicators_answer(seen: Observation[IndicatorReading], arguments: GetIndicators) -> IndicatorsAnswer:
    reading = seen.value
    rows = [_row(seen, place) for place in range(len(reading.bars))]
    return IndicatorsAnswer(
        count=len(rows),
        limit=arguments.last_n,
        more=_more(seen, arguments),
        symbol=seen.rules.symbol,
        interval=reading.interval,
        bars_used=reading.bars_used,
        first_bar=None if reading.first_open_ms is None else instant(reading.first_open_ms),
        rows=rows,
        as_of=instant(seen.at_ms),
        source=source(seen.origin, seen.host),
        host=seen.host,
        notes=indicator_notes(seen),
    )


def _row(seen: Observation[IndicatorReading], place: int) -> IndicatorRow:
    bar = seen.value.bars[place]
    values = {name: line_value(seen.rules, name, line[place]) for name, line in seen.value.lines.items()}
    weights = seed_weights(seen.value, place)
    return IndicatorRow(
        open_time=instant(bar.open_time_ms),
        is_final=is_final(bar, seen.at_ms),
        close=exact(bar.close, seen.rules.tick),
        values=values,
        warming=bool(weights) or None,
        seed_weight=weights or None,
    )


def _more(seen: Observation[IndicatorReading], arguments: GetIndicators) -> str | None:
    if arguments.last_n == MOST_BARS or len(seen.value.bars) < arguments.last_n:
        return None
    return next_step(
        "get_indicators",
        symbol=seen.rules.symbol,
        indicators=arguments.indicators,
        interval=arguments.interval,
        last_n=min(MOST_BARS, 10 * arguments.last_n),
    )


def indicators_page(seen: Observation[IndicatorReading], answer: IndicatorsAnswer) -> str:
    rows = [
        [row.open_time, "yes" if row.is_final else "no", row.close, *(each or "n/a" for each in row.values.values())]
        for row in answer.rows
    ]
    names = ["open_time", "is_final", "close", *seen.value.lines]
    if any(row.warming for row in answer.rows):
        names += ["warming", "seed_weight"]
        rows = [[*cells, *_warming(row)] for cells, row in zip(rows, answer.rows, strict=True)]
    first = f", first bar {answer.first_bar}" if answer.first_bar else ""
    told = [f"{counted(answer.count, answer.limit)}; bars used {answer.bars_used}{first}", *answer.notes]
    lines = indicator_lines(seen.rules, answer.interval, told, [names, *rows])
    return with_more([*lines, footer(seen.at_ms, seen.origin, seen.host)], answer.more)


def _warming(row: IndicatorRow) -> list[str]:
    weights = row.seed_weight or {}
    return ["yes" if row.warming else "no", "; ".join(f"{name} {weight}" for name, weight in weights.items())]


async def get_indicators(context: Context, arguments: GetIndicators) -> ToolAnswer:
    seen = await read_indicators(
        context.market, arguments.symbol, arguments.interval, arguments.indicators, arguments.last_n
    )
    answer = indicators_answer(seen, arguments)
    return ToolAnswer(indicators_page(seen, answer), answer, quiet=is_quiet(seen.value.bars, seen.at_ms))


GET_INDICATORS = ToolSpec(
    name="get_indicators",
    title="Technical indicators",
    description=(
        "Technical indicators of one pair, computed from fresh candles with a long warm-up. Use it instead of "
        "computing them yourself. Not for raw candles (get_klines) or trading advice."
    ),
    arguments=GetIndicators,
    answer=IndicatorsAnswer,
    run=get_indicators,
    loads=("mcp_binance_server.analytics.indicators.table", "talipp.indicators", "talipp.ohlcv"),
    read_only=True,
    shared=True,
    toolset="analysis",
)
