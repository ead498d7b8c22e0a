"""Candles and indicators as Markdown."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from mcp_binance_server.analytics.indicators.table import SETTLED, IndicatorReading
from mcp_binance_server.domain.market import CandleSeries, Observation
from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import (
    counted,
    exact,
    instant,
    next_step,
    percent,
    plain,
    price,
    share,
    volume,
    with_more,
)
from mcp_binance_server.surface.views.market import footer

COLUMNS = "open,high,low,close,volume"
# Up to this number of rows, each row has its time. In a longer list every MARK_EVERY-th row has it, unless there are
# gaps.
ROWS_WITH_TIME = 100
MARK_EVERY = 25
# Tolerance for answers that are shared for a second, and for an error of half a second in the exchange's estimated
# clock.
IN_DOUBT_MS = 2_000

# Indicators with a range from 0 to 100.
PERCENTAGES = ("rsi", "stochastic", "adx")
VOLUMES = ("obv",)


def candle_rows(rules: SymbolRules, candles: tuple[Candle, ...]) -> list[str]:
    """Return the values of COLUMNS for each candle."""
    return [
        ",".join(
            [*(exact(price, rules.tick) for price in (each.open, each.high, each.low, each.close)), volume(each.volume)]
        )
        for each in candles
    ]


def short_time(epoch_ms: int) -> str:
    """Format the opening time of a candle in UTC. Seconds are shown only if they are not zero."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}" if moment.second else f"{moment:%Y-%m-%dT%H:%M}"


def is_final(candle: Candle, at_ms: int) -> bool:
    """Return whether a candle has closed and cannot change any more."""
    return candle.close_time_ms + IN_DOUBT_MS < at_ms


def is_quiet(candles: tuple[Candle, ...], at_ms: int) -> bool:
    """Return whether trading may have stopped.

    Signs are a last closed candle without trades, and a missing current candle.
    """
    if not candles or candles[-1].close_time_ms + IN_DOUBT_MS < at_ms:
        return True
    ended = [each for each in candles if is_final(each, at_ms)]
    return not (ended or candles)[-1].trade_count


def older_candles(seen: Observation[CandleSeries]) -> str | None:
    """Return the call for earlier candles; None if there are none."""
    series = seen.value
    if not series.has_older:
        return None
    start_ms = series.period.start_ms
    return next_step(
        "get_klines",
        symbol=seen.rules.symbol,
        interval=series.interval,
        limit=series.limit,
        start=None if start_ms is None else instant(start_ms),
        end=instant(series.candles[0].open_time_ms - 1),
    )


def candle_page(seen: Observation[CandleSeries], written: list[str]) -> str:
    """Render candles from their formatted rows: title, summary, rows, and the call for earlier candles."""
    series, rules = seen.value, seen.rules
    title = f"# {plain(rules.symbol)} {series.interval} candles"
    foot = footer(seen.at_ms, seen.origin, seen.host)
    if not series.candles:
        return "\n".join([title, *candle_notes(seen), counted(0, series.limit), foot])
    every = _every(series)
    rows = [
        f"{'' if place % every else short_time(candle.open_time_ms)},{row}"
        for place, (candle, row) in enumerate(zip(series.candles, written, strict=True))
    ]
    apart = "" if every == 1 else "; a row without time opens one interval after the row before it"
    lines = [
        title,
        f"{counted(len(rows), series.limit)}, newest last; prices in {plain(rules.quote)}, volume in "
        f"{plain(rules.base)}, UTC{apart}",
        _range(rules, series.candles),
        *candle_notes(seen),
        foot,
        "",
        f"open_time,{COLUMNS}",
        *rows,
    ]
    return with_more(lines, older_candles(seen))


def candle_notes(seen: Observation[CandleSeries]) -> list[str]:
    """Return the price change over all candles. State whether the last candle can still change."""
    candles = seen.value.candles
    if not candles:
        return ["No candle opened in this period."]
    first, last = candles[0].open, candles[-1].close
    change = [f"Change {percent((last - first) / first * 100)}"] if first else []
    return [*change, _last(candles[-1], seen.at_ms)]


def _every(series: CandleSeries) -> int:
    return 1 if series.has_gaps or len(series.candles) <= ROWS_WITH_TIME else MARK_EVERY


def _range(rules: SymbolRules, candles: tuple[Candle, ...]) -> str:
    def shown(value: Decimal) -> str:
        return price(value, rules.quote, rules.tick)

    first, last = candles[0].open, candles[-1].close
    high, low = max(each.high for each in candles), min(each.low for each in candles)
    return f"Open {shown(first)}, close {shown(last)}, high {shown(high)}, low {shown(low)}"


def _last(candle: Candle, at_ms: int) -> str:
    closes = instant(candle.close_time_ms)
    return (
        f"The last candle closed at {closes}" if is_final(candle, at_ms) else f"The last candle is open until {closes}"
    )


def line_value(rules: SymbolRules, line: str, value: float | None) -> str | None:
    """Format an indicator's value. Values in units of price have two decimals more than the tick."""
    if value is None:
        return None
    places = _places(rules, line)
    return f"{round(value, places) + 0.0:.{places}f}"  # adding zero turns -0.0 into 0.0


def indicator_lines(rules: SymbolRules, interval: str, told: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Render a title, notes and rows. The first row has the column names."""
    return [
        f"# {plain(rules.symbol)} {interval} indicators",
        *told,
        "",
        *(",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows),
    ]


def indicator_notes(seen: Observation[IndicatorReading]) -> list[str]:
    """Return notes on indicator rows: values that can change, missing values, and the start of cumulative sums."""
    reading = seen.value
    notes = [
        f"Newest last, prices in {plain(seen.rules.quote)}; a bar that is not final may still change; n/a: too few bars"
    ]
    if "obv" in reading.lines and reading.bars:
        notes.append(f"obv counts from the first bar shown, {instant(reading.bars[0].open_time_ms)}")
    if any(seed_weights(reading, place) for place in range(len(reading.bars))):
        notes.append("Warming: seed weight is the share of a value that still comes from the start of its average")
    return notes


def seed_weights(reading: IndicatorReading, place: int) -> dict[str, str]:
    """Return the weight that the start value still has in each value of a row.

    Weights of at most a hundredth are left out.
    """
    return {
        name: share(weights[place])
        for name, weights in reading.seed_weights.items()
        if weights[place] > SETTLED and reading.lines[name][place] is not None
    }


def _places(rules: SymbolRules, line: str) -> int:
    if line.startswith(PERCENTAGES):
        return 2
    return decimals_of(rules.step) if line.startswith(VOLUMES) else decimals_of(rules.tick) + 2
