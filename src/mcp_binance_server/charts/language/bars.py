"""How many bars a chart has, and which interval suits a span of time."""

from datetime import datetime, timedelta
from typing import Final

from mcp_binance_server.charts.dialect.instants import bar_open, months_before
from mcp_binance_server.charts.language.intervals import OFFERED
from mcp_binance_server.charts.language.reading import SentenceReader
from mcp_binance_server.charts.language.spans import TimeSpan

FEWEST: Final = 10
MOST: Final = 1_000
_MINUTE: Final = timedelta(minutes=1)
# Up to this span, in hours, the interval beside it.
_SUITED: Final = (
    (8.0, "5m"),
    (23.9999, "15m"),
    (7 * 24.0, "1h"),
    (62 * 24.0, "4h"),
    (731 * 24.0, "1D"),
    (19 * 8_766.0, "1W"),
)
_TO_DATE: Final = {"DTD": "1D", "WTD": "1W", "MTD": "1M", "YTD": "1Y"}


def span_of(span: TimeSpan | None, now: datetime) -> timedelta | None:
    """Return how long a range is; None for no range, for all there is, and for a count of bars."""
    if span is None or span.bars or span.name == "ALL":
        return None
    if span.begin is not None:
        return (span.end or now) - span.begin
    name = span.name or ""
    if name in _TO_DATE:
        return now - bar_open(now, _TO_DATE[name])
    count, unit = int(name[:-1]), name[-1]
    if unit == "D":
        return timedelta(days=count)
    begin = months_before(now, count * (12 if unit == "Y" else 1))
    return None if begin is None else now - begin


def suited_interval(span: TimeSpan | None, now: datetime) -> str:
    """Return the interval that shows a range well."""
    length = span_of(span, now)
    if length is None:
        return "1W" if span is not None and span.name == "ALL" else "1D"
    hours = length / timedelta(hours=1)
    return next((name for limit, name in _SUITED if hours <= limit), "1M")


def count_bars(reading: SentenceReader, span: TimeSpan | None, interval: str) -> None:
    """Warn about a chart of very few or far too many bars."""
    length = span_of(span, reading.now)
    if length is None:
        return
    bars = int(length / (OFFERED[interval] * _MINUTE))
    if bars < FEWEST:
        reading.warn("few_bars", f"only {bars} bars of {interval} fit into this range")
    elif bars > MOST:
        fits = next((name for name, minutes in OFFERED.items() if length / (minutes * _MINUTE) <= MOST), "1Y")
        reading.warn("too_many_bars", f"{bars} bars of {interval} are more than {MOST}; {fits} would fit")
