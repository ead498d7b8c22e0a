"""Entry point of the language package: text, time and known names in, chart configuration out."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from mcp_binance_server.charts.config import MY_ORDERS
from mcp_binance_server.charts.dialect.symbol import MOST as MOST_COMPARED
from mcp_binance_server.charts.dialect.symbol import is_binance_spot
from mcp_binance_server.charts.dialect.times import bars_before
from mcp_binance_server.charts.language.drawings import LAST_SWING_SAID, WantedDrawing
from mcp_binance_server.charts.language.explicit import settle_size
from mcp_binance_server.charts.language.preferences import Preferences, apply_preferences
from mcp_binance_server.charts.language.reading import LONGEST, SentenceReader, normalise, quoted
from mcp_binance_server.charts.language.reasoning import (
    drawings_said,
    interval_said,
    market_said,
    range_said,
    report_leftovers,
    studies_said,
)
from mcp_binance_server.charts.language.studies import Asked
from mcp_binance_server.charts.language.tickers import symbol_of
from mcp_binance_server.charts.language.times.intervals import OFFERED, count_bars, suited_interval
from mcp_binance_server.charts.language.times.spans import TimeSpan
from mcp_binance_server.charts.language.understanding import Knowledge, Understood, open_reading, understand
from mcp_binance_server.charts.plans import Plan
from mcp_binance_server.errors import InvalidArguments

DEFAULT_THEME: Final = "dark"
_COMPARES: Final = re.compile(r"\b(?:vs|versus|compar(?:e|ed|ing|ison))\b", re.IGNORECASE)
_EXAMPLE: Final = "for example 'BTC 4h with RSI' or 'NASDAQ:AAPL daily'"


@dataclass(frozen=True, slots=True)
class Construction:
    """A configuration in the tools' dialect, the reasons for it, and every market named by the text.

    Each warning has the form "code: sentence".
    """

    config: dict[str, object]
    reasoning: str
    warnings: tuple[str, ...]
    symbols: tuple[str, ...]
    interval_explicit: bool


def construct(
    text: str,
    *,
    now: datetime,
    knowledge: Knowledge,
    preferences: Preferences | None = None,
    plan: Plan | None = None,
    default_theme: str = DEFAULT_THEME,
) -> Construction:
    """Convert a text to a chart configuration.

    A pure function: the same text at the same time gives the same chart.

    Raises:
        InvalidArguments: the text is empty, too long, or names no market.
    """
    vocabulary = knowledge.vocabulary
    reading = open_reading(_accepted(text), now.astimezone(UTC).replace(microsecond=0), vocabulary)
    said, notes = apply_preferences(reading, understand(reading, knowledge), preferences or Preferences(), knowledge)
    symbols = _symbols(reading, said, knowledge)
    compared = _compared(reading, symbols)
    drawings = _possible(reading, said.drawings, symbols[0])
    report_leftovers(reading)
    interval, explicit = _interval(reading, said)
    count_bars(reading, said.span, interval)
    width, height = settle_size(reading, said.size, plan)
    if plan and len(said.studies) + len(said.drawings) > plan.max_studies:
        count = f"{len(said.studies)} studies and {len(said.drawings)} drawings"
        reading.warn("plan_limit", f"{count} are more than the {plan.max_studies} of the {plan.name} plan")
    looks = said.looks
    config: dict[str, object] = {
        "symbol": symbols[0],
        "compare": compared,
        "interval": interval,
        "range": _range(said.span, interval, reading.now),
        "theme": looks.theme or default_theme,
        "style": looks.style or "candle",
        "width": width,
        "height": height,
        "scale": looks.scale,
        "session": looks.session,
        "timezone": looks.timezone,
        "format": looks.format,
        "studies": [_study(each) for each in said.studies],
        "drawings": [_drawing(each) for each in drawings],
        "override": looks.override,
        MY_ORDERS: True if said.my_orders else None,
    }
    reasons = [
        market_said(symbols[0]),
        *([f"compared with {', '.join(compared)} in percent"] if compared else []),
        *range_said(said.span, said.span.name if said.span else None),
        interval_said(interval, explicit=explicit, has_range=said.span is not None),
        *studies_said(said.studies),
        *drawings_said(drawings),
        *(["added lines of your open orders and your average price, drawn locally"] if said.my_orders else []),
        *notes,
        *reading.notes,
    ]
    return Construction(
        config={key: value for key, value in config.items() if value not in (None, [], {})},
        reasoning=", ".join(reasons),
        warnings=tuple(f"{code}: {each}" for code, sentences in reading.warnings.items() for each in sentences),
        symbols=tuple(symbols),
        interval_explicit=explicit,
    )


def _accepted(text: str) -> str:
    if len(text) > LONGEST:
        raise _refused("input_too_long", f"The text has {len(text)} characters; at most {LONGEST} are read")
    clean = normalise(text)
    if not clean:
        raise _refused("empty_input", f"Describe the chart, {_EXAMPLE}")
    if len(clean) > LONGEST:
        raise _refused("input_too_long", f"The text has {len(clean)} characters; at most {LONGEST} are read")
    return clean


def _refused(code: str, problem: str) -> InvalidArguments:
    return InvalidArguments(
        summary=f"{code}: {problem}", errors=({"argument": "naturalLanguage", "problem": problem, "reason": code},)
    )


def _symbols(reading: SentenceReader, said: Understood, knowledge: Knowledge) -> list[str]:
    if not said.markets:
        raise _refused("no_symbol", f"{quoted(reading.text)} names no market. Add one, {_EXAMPLE}")
    written = [
        symbol_of(reading, each, knowledge.listing, said.exchange, perpetual=said.perpetual) for each in said.markets
    ]
    symbols = list(dict.fromkeys(written))
    if len(symbols) > 1 and not _compared(reading, symbols):
        reading.warn(
            "multiple_symbols",
            f"a chart shows one market: {symbols[0]} is drawn, not {', '.join(symbols[1:])}; `compare` in the"
            " configuration adds spot pairs of Binance in percent",
        )
    return symbols


def _possible(reading: SentenceReader, drawings: list[WantedDrawing], symbol: str) -> list[WantedDrawing]:
    """Return the drawings without a retracement of the last swing if no candles are known to find it in."""
    if is_binance_spot(symbol):
        return drawings
    kept = [each for each in drawings if "swing" not in each.coordinates]
    if len(kept) < len(drawings):
        reading.warn("drawing_needs_points", "a fib retracement needs times and prices here; it is not drawn")
        reading.notes[:] = [each for each in reading.notes if each != LAST_SWING_SAID]
    return kept


def _compared(reading: SentenceReader, symbols: list[str]) -> list[str]:
    """Return the markets to compare the first one with, if the text asks for that and all are drawn locally."""
    others = symbols[1:]
    is_asked = _COMPARES.search(reading.text) is not None and len(others) <= MOST_COMPARED
    return others if others and is_asked and all(map(is_binance_spot, symbols)) else []


def _interval(reading: SentenceReader, said: Understood) -> tuple[str, bool]:
    units = [each.unit for each in said.studies if each.unit]
    if said.interval is None:
        named = next((f"1{unit}" for unit in units if f"1{unit}" in OFFERED), None)
        return (named, True) if named else (suited_interval(said.span, reading.now), False)
    for asked in said.studies:
        if asked.unit and OFFERED.get(f"1{asked.unit}") != OFFERED[said.interval]:
            other = f"{quoted(asked.said)} is not a number of {said.interval} bars"
            reading.warn("ma_unit_mismatch", f"{other}; the length is counted in {said.interval} bars")
    return said.interval, True


def _range(span: TimeSpan | None, interval: str, now: datetime) -> str | dict[str, str | None] | None:
    if span is None:
        return None
    if span.name:
        return span.name
    begin = span.begin or _bars_ago(now, interval, span.bars)
    return {"from": _moment(begin), "to": _moment(span.end) if span.end else None}


def _bars_ago(now: datetime, interval: str, bars: int) -> datetime:
    # Months differ in length: count calendar months, including the current one.
    if interval[-1] in "MY":
        return bars_before(now, interval, bars - 1)
    return now - bars * OFFERED[interval] * timedelta(minutes=1)


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _study(asked: Asked) -> dict[str, object]:
    parts = {"inputs": asked.inputs, "override": asked.override}
    return {"name": asked.indicator.name, **{key: part for key, part in parts.items() if part}}


def _drawing(drawn: WantedDrawing) -> dict[str, object]:
    return {"type": drawn.type, "coordinates": drawn.coordinates}
