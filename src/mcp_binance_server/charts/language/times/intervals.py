"""Intervals in a text, and ranges counted in bars."""

import re
from datetime import datetime, timedelta
from typing import Final

from mcp_binance_server.charts.dialect.times import bar_open, months_before
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.times.spans import COUNTED, Counted, TimeSpan, read_counted

OFFERED: Final = {
    "1m": 1, "3m": 3, "5m": 5, "15m": 15, "30m": 30, "45m": 45, "1h": 60, "2h": 120, "3h": 180, "4h": 240, "6h": 360,
    "8h": 480, "12h": 720, "1D": 1_440, "2D": 2_880, "3D": 4_320, "1W": 10_080, "1M": 43_200, "3M": 129_600,
    "6M": 259_200, "1Y": 525_600,
}  # fmt: skip
_TAIL: Final = r"(?: (?:candles?|candlesticks?|charts?|time ?frame|tf|bars?|klines?|view|interval))?"
_NAMED: Final = {
    "minutely": "1m", "hourly": "1h", "daily": "1D", "weekly": "1W", "monthly": "1M", "quarterly": "3M", "yearly": "1Y",
    "annual": "1Y",
}  # fmt: skip
_WORD: Final = re.compile(
    r"(?<![\w-])(?:(?P<count>\d{1,3}|two|three|four|six|eight|twelve)[ -]?)?"
    rf"(?P<word>{'|'.join(_NAMED)})(?!\w){_TAIL}"
)
# MetaTrader's notation, including W1 and MN1.
_LETTERED: Final = re.compile(rf"(?<![\w.$#])(?P<unit>mn|[mhdw])(?P<count>\d{{1,2}})(?![\w.]|[,/]\d){_TAIL}")
_BARE: Final = re.compile(
    r"(?<!\w)(?:on the|interval|timeframe|time frame|tf) (?P<count>\d{1,4})"
    r"(?![\w.:%]|[,/]\d)(?! ?(?:candles|bars|ema|sma|ma)\b)"
)
_SPOKEN: Final = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12}
# "the 5" means five minutes, "the 4" means four hours, because four-minute charts are unusual.
_HOURS_OF_THE: Final = frozenset({2, 4, 6, 8, 12})

FEWEST: Final = 10
MOST: Final = 1_000
_MINUTE: Final = timedelta(minutes=1)
# Longest span in hours for each interval.
_SUITED: Final = (
    (8.0, "5m"),
    (23.9999, "15m"),
    (7 * 24.0, "1h"),
    (62 * 24.0, "4h"),
    (731 * 24.0, "1D"),
    (19 * 8_766.0, "1W"),
)
_TO_DATE: Final = {"DTD": "1D", "WTD": "1W", "MTD": "1M", "YTD": "1Y"}


def find_intervals(reading: SentenceReader) -> list[Mention[str]]:
    """Extract every interval named by the text, in order."""
    found = [*_counted(reading), *_named(reading), *_lettered(reading), *_bare(reading)]
    return sorted(found, key=lambda each: each.start)


def interval_of(minutes: float) -> tuple[str, bool]:
    """Return the available interval of this length, or the next longer one.

    The flag is True if the interval differs from the request.
    """
    exact = next((name for name, length in OFFERED.items() if length == minutes), None)
    if exact:
        return exact, False
    return next((name for name, length in OFFERED.items() if length > minutes), "1Y"), True


def offered(counted: Counted, said: str, reading: SentenceReader) -> str:
    """Return the available interval for a counted time. Add a warning if it differs."""
    if counted.unit in "MY" and (name := f"{counted.count}{counted.unit}") in OFFERED:
        return name
    name, changed = interval_of(counted.minutes)
    if changed:
        reading.warn(
            "interval_snapped", f"{quoted(said)} is not an available interval; {name}, the next longer one, is drawn"
        )
    return name


def settle_interval(reading: SentenceReader, mentions: list[Mention[str]]) -> str | None:
    """Return the first interval, or the one after a correction. Warn if the text names several."""
    wanted = reading.wanted(mentions)
    names = list(dict.fromkeys(each.value for each in wanted))
    if len(names) > 1:
        reading.warn("conflicting_interval", f"{', '.join(names)} were requested; {names[0]} is drawn")
    return names[0] if names else None


def _counted(reading: SentenceReader) -> list[Mention[str]]:
    found: list[Mention[str]] = []
    for match in COUNTED.finditer(reading.left):
        counted = read_counted(match, reading.text)
        if counted is None or not counted.is_bar or counted.count == 0:
            continue
        end = match.end("unit") if match["tail"] in {"bars", "bar"} and not counted.lead else match.end()
        said = reading.text[match.start() : match.end("unit")]
        found.append(reading.mention(offered(counted, said, reading), match.start(), max(end, match.end())))
    return found


def _named(reading: SentenceReader) -> list[Mention[str]]:
    found: list[Mention[str]] = []
    for match in _WORD.finditer(reading.left):
        count = match["count"] or "1"
        number = int(count) if count.isdigit() else _SPOKEN[count]
        name = _NAMED[match["word"]]
        if number != 1:
            name = offered(Counted(number, name[-1], compact=True), match[0], reading)
        found.append(reading.mention(name, *match.span()))
    return found


def _lettered(reading: SentenceReader) -> list[Mention[str]]:
    found: list[Mention[str]] = []
    for match in _LETTERED.finditer(reading.left):
        unit = {"mn": "M", "m": "m", "h": "h", "d": "D", "w": "W"}[match["unit"]]
        if int(match["count"]):
            counted = Counted(int(match["count"]), unit, compact=True)
            found.append(reading.mention(offered(counted, match[0], reading), *match.span()))
    return found


def _bare(reading: SentenceReader) -> list[Mention[str]]:
    found: list[Mention[str]] = []
    for match in _BARE.finditer(reading.left):
        count = int(match["count"])
        if not count:
            continue
        minutes = 60 * count if count in _HOURS_OF_THE and match[0].startswith("on") else count
        name, _changed = interval_of(minutes)
        reading.warn("interval_assumed", f"{quoted(match[0])} is read as {name}")
        found.append(reading.mention(name, *match.span()))
    return found


def span_of(span: TimeSpan | None, now: datetime) -> timedelta | None:
    """Return the length of a range.

    It is None without a range, for the whole history, and for a range counted in bars.
    """
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
    """Return an interval that suits the length of a range."""
    length = span_of(span, now)
    if length is None:
        return "1W" if span is not None and span.name == "ALL" else "1D"
    hours = length / timedelta(hours=1)
    return next((name for limit, name in _SUITED if hours <= limit), "1M")


def count_bars(reading: SentenceReader, span: TimeSpan | None, interval: str) -> None:
    """Warn about a chart with very few or too many bars."""
    length = span_of(span, reading.now)
    if length is None:
        return
    bars = int(length / (OFFERED[interval] * _MINUTE))
    if bars < FEWEST:
        reading.warn("few_bars", f"only {bars} bars of {interval} fit into this range")
    elif bars > MOST:
        fits = next((name for name, minutes in OFFERED.items() if length / (minutes * _MINUTE) <= MOST), "1Y")
        reading.warn("too_many_bars", f"{bars} bars of {interval} are more than {MOST}; {fits} would fit")
