"""Ranges in a text, such as "the last month", "since May", or from one date to another."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from mcp_binance_server.charts.language.reading import TAKEN, Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.times.dates import DAY, LATEST, Stretch, midnight, read_date, shifted
from mcp_binance_server.charts.language.times.spans import (
    COUNTED,
    Counted,
    Found,
    TimeSpan,
    counted_span,
    read_counted,
    window,
)
from mcp_binance_server.charts.language.words import NUMBERS, UNIT_OF, VAGUE

_LEAD: Final = re.compile(
    r"(?<!\w)(?:(?P<day>today|yesterday),? (?=from|between))?"
    r"(?P<word>between|from|since|after|starting(?: from)?|beginning) "
    r"(?:the )?(?:(?:start|beginning) of )?(?:the )?(?:year )?"
)
_TO: Final = re.compile(r" ?(?P<word>to|until|till|through|thru|-|and) ?")
_ON: Final = re.compile(r"(?<!\w)(?:in|on|during|for|of|at)(?: the)? (?:month of |year )?")
# Possible start of a date that has no leading word.
_DATED: Final = re.compile(r"(?<![\w/.,-])(?=\d{1,4}[-/. ]|\d{1,2}(?:st|nd|rd|th)|[a-z]{3,9}\b|q[1-4]\b|h[12] )")
_YEAR: Final = r"(?:19|20)\d\d"
_YEARS: Final = re.compile(rf"(?<![\w-])(?P<first>{_YEAR}) ?(?:-|to|until|through) ?(?P<last>{_YEAR})(?![\w-])")
_NOW: Final = re.compile(r" ?(?:to|until|till|through|-) ?(?:right )?now(?!\w)")
# "may", "march" or a weekday alone is not a date. It needs a number or one of these words.
_DATE_ALONE: Final = re.compile(r"\d|yesterday|this morning|quarter|jan|feb|apr|jun|jul|aug|sep|oct|nov|dec")

MOST_BARS: Final = 1_000
# Smaller counts need a word such as "last" to be a range: "3 candles" can mean anything.
LEAST_BARS: Final = 20

_UNIT: Final = "|".join(sorted((word for word in UNIT_OF if len(word) > 1), key=len, reverse=True))
_COUNT: Final = rf"\d{{1,6}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_AGAIN: Final = "last|past|previous|prior|trailing|recent|latest"
_BACK: Final = rf"(?:(?:for|over|in|during|from|of|since|within|across) )?(?:the )?(?P<back>{_AGAIN})"
_NAMED: Final = {
    "YTD": r"ytd|year[ -]to[ -]date|this year|so far this year|since the (?:start|beginning) of the year",
    "MTD": r"mtd|month[ -]to[ -]date|this month",
    "WTD": r"wtd|week[ -]to[ -]date|this week",
    "DTD": r"dtd|day[ -]to[ -]date",
    "ALL": r"all[ -]time|since inception|since (?:the )?(?:listing|launch|beginning)|from the (?:start|beginning)"
    r"|(?:full|entire|whole|complete|max(?:imum)?) (?:history|range|data)|all (?:the )?(?:history|data)|range all",
    "1D": r"today(?:'s)?|intraday",
}
_NAMES: Final = {
    name: re.compile(rf"(?<!\w)(?:(?:for|over|in|during) )?(?:the )?(?:{words})(?!\w)")
    for name, words in _NAMED.items()
}
_BARS_BACK: Final = re.compile(
    rf"(?<!\w)(?:{_BACK} )?(?P<count>\d{{1,6}}) (?P<bar>\d{{1,3}} ?(?:{_UNIT}|[smhdw]) |daily |hourly |weekly )?"
    r"(?:candles?|bars?|klines?|candlesticks?)(?!\w)"
)
_COUNTED_BACK: Final = re.compile(
    rf"(?<!\w){_BACK} (?:(?P<count>{_COUNT})[ -]?(?:trading )?)?(?P<unit>{_UNIT}|(?<=\d)[smhdwy])(?!\w)"
)
_AHEAD: Final = re.compile(
    rf"(?<!\w)(?:(?:in|over|for) )?(?:the )?(?:next|coming|upcoming) (?:{_COUNT})? ?(?:{_UNIT})(?!\w)"
    r"|(?<!\w)tomorrow(?!\w)"
)
_SPOKEN: Final = re.compile(
    rf"(?<!\w)(?:{_BACK} |for |over )?(?:an? |the )?(?P<said>fortnight|half[ -](?:a )?year|decade)(?!\w)"
)
_SPOKEN_RANGES: Final = {"f": "14D", "h": "6M", "d": "10Y"}


def find_years(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Extract a range of years, such as "2020-2022"."""
    for match in _YEARS.finditer(reading.left):
        first = read_date(match["first"], 0, reading.now)
        last = read_date(match["last"], 0, reading.now)
        if first and last:
            yield from window(reading, first, last, *match.span())


def find_between(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Extract two joined dates, or one date after "since" or "from"."""
    for start, place, lead in _places(reading, _LEAD):
        first = read_date(reading.left, place, reading.now)
        if first is None or TAKEN in reading.left[start : first.after]:
            continue
        if reading.left.startswith("yesterday", start) and not first.names_day:
            first = shifted(first, -DAY)
        if now := _NOW.match(reading.left, first.after):
            yield from window(reading, first, None, start, now.end())
            continue
        joint = _TO.match(reading.left, first.after)
        last = read_date(reading.left, joint.end(), reading.now) if joint else None
        # "and" joins two dates only after "between" or "from". In "since Jan 1 and RSI" it does not.
        if last is None or (joint and joint["word"] == "and" and lead not in {"between", "from"}):
            if lead not in {"", "between"}:
                yield from window(reading, first, None, start, first.after)
            continue
        yield from window(reading, *_on_one_day(first, last), start, last.after)


def find_on_dates(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Extract one date, month, quarter or year as the whole range."""
    for start, place, lead in _places(reading, _ON):
        found = read_date(reading.left, place, reading.now)
        if found is None or TAKEN in reading.left[start : found.after]:
            continue
        said = reading.left[place : found.after]
        # A year alone can be the length of an average, so the studies are read first.
        if not lead and (not _DATE_ALONE.search(said) or re.fullmatch(_YEAR, said)):
            continue
        yield from window(reading, found, found, start, found.after)


def _places(reading: SentenceReader, leads: re.Pattern[str]) -> list[tuple[int, int, str]]:
    led = [
        (match.start(), match.end(), match.groupdict().get("word") or match[0])
        for match in leads.finditer(reading.left)
    ]
    return led + [(match.start(), match.start(), "") for match in _DATED.finditer(reading.left)]


def _on_one_day(first: Stretch, last: Stretch) -> tuple[Stretch, Stretch]:
    """Complete a time of day with the date of the other time.

    An end before its start moves to the next day.
    """
    if last.names_day and not first.names_day:
        first = shifted(first, midnight(last.begin) - midnight(first.begin))
    elif not last.names_day:
        last = shifted(last, midnight(first.begin) - midnight(last.begin))
    if not last.names_day and last.end <= first.begin:
        last = shifted(last, DAY)
    return first, last


def find_dated_ranges(reading: SentenceReader) -> Found:
    """Extract ranges with dates or with a leading word such as "last", "since" or "between"."""
    rules: tuple[Callable[[SentenceReader], Iterator[Mention[TimeSpan]]], ...] = (
        _bars_back, find_years, find_between, _counted_back, _ahead, _named, find_on_dates, _spoken,
    )  # fmt: skip
    return [each for rule in rules for each in rule(reading)]


def find_bare_ranges(reading: SentenceReader) -> Found:
    """Extract counted times that are not intervals, and single years.

    This rule runs after the studies have read their numbers.
    """
    return [*_bare_counted(reading), *_bare_years(reading)]


def _bare_counted(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in COUNTED.finditer(reading.left):
        counted = read_counted(match, reading.text)
        if counted is None or counted.is_bar:
            continue
        start = match.start()
        if counted.lead and (lead := re.search(rf"{counted.lead}(?: of)?(?: the| a| an)? $", reading.left[:start])):
            start = lead.start()
        said = reading.text[match.start() : match.end("unit")]
        yield from counted_span(reading, counted, said, start, match.end())


def _bare_years(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in re.finditer(r"(?<![\w.,$/-])(?:year )?(?P<year>(?:19|20)\d\d)(?![\w.,%/:-])", reading.left):
        stretch = read_date(reading.left, match.start("year"), reading.now)
        if stretch is not None and int(match["year"]) < LATEST:
            yield from window(reading, stretch, stretch, *match.span())


def _bars_back(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in _BARS_BACK.finditer(reading.left):
        count = int(match["count"])
        if not count or not (match["bar"] or match["back"] or count >= LEAST_BARS):
            continue
        if count > MOST_BARS:
            sentence = f"{count} bars are more than can be drawn; {MOST_BARS} are drawn"
            reading.warn("too_many_bars", sentence)
        said = reading.text[match.start() : match.end()]
        yield reading.mention(TimeSpan(said, bars=min(count, MOST_BARS)), *match.span())
        # Put the bar length back into the unread text: a later rule reads it as an interval.
        if match["bar"]:
            start, end = match.span("bar")
            reading.left = reading.left[:start] + match["bar"] + reading.left[end:]


def _counted_back(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in _COUNTED_BACK.finditer(reading.left):
        count = match["count"]
        number = 1 if count is None else int(count) if count.isdigit() else NUMBERS[count]
        unit = "M" if reading.text[match.start("unit") : match.end("unit")] == "M" else UNIT_OF[match["unit"]]
        counted = Counted(number, unit, compact=False, lead="last", vague=count in VAGUE)
        said = reading.text[match.start("count") if count else match.start("unit") : match.end()]
        if unit == "Q":
            sentence = f"{quoted(match[0])} is read as the months up to now, not as calendar quarters"
            reading.warn("ambiguous_range", sentence)
        yield from counted_span(reading, counted, said, *match.span())


def _ahead(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in _AHEAD.finditer(reading.left):
        said = quoted(reading.take(*match.span()))
        reading.warn("future_range", f"{said} is in the future, without prices; the range is left open")
    yield from ()


def _named(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for name, pattern in _NAMES.items():
        for match in pattern.finditer(reading.left):
            yield reading.mention(TimeSpan(match[0], name), *match.span())


def _spoken(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    for match in _SPOKEN.finditer(reading.left):
        yield reading.mention(TimeSpan(match["said"], _SPOKEN_RANGES[match["said"][0]]), *match.span())
