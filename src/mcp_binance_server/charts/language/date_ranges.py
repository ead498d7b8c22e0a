"""Ranges between dates: "since March", "between Jan 1 and Feb 15", "in Q3 2025", "on Nov 5"."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_binance_server.charts.language.dates import DAY, Stretch, midnight, read_date, shifted
from mcp_binance_server.charts.language.reading import TAKEN, Mention, SentenceReader
from mcp_binance_server.charts.language.spans import TimeSpan, window

_LEAD: Final = re.compile(
    r"(?<!\w)(?:(?P<day>today|yesterday),? (?=from|between))?"
    r"(?P<word>between|from|since|after|starting(?: from)?|beginning) "
    r"(?:the )?(?:(?:start|beginning) of )?(?:the )?(?:year )?"
)
_TO: Final = re.compile(r" ?(?P<word>to|until|till|through|thru|-|and) ?")
_ON: Final = re.compile(r"(?<!\w)(?:in|on|during|for|of|at)(?: the)? (?:month of |year )?")
# Where a date may begin that no word leads to.
_DATED: Final = re.compile(r"(?<![\w/.,-])(?=\d{1,4}[-/. ]|\d{1,2}(?:st|nd|rd|th)|[a-z]{3,9}\b|q[1-4]\b|h[12] )")
_YEAR: Final = r"(?:19|20)\d\d"
_YEARS: Final = re.compile(rf"(?<![\w-])(?P<first>{_YEAR}) ?(?:-|to|until|through) ?(?P<last>{_YEAR})(?![\w-])")
_NOW: Final = re.compile(r" ?(?:to|until|till|through|-) ?(?:right )?now(?!\w)")
# Alone, "may", "march" or a weekday is hardly a date; with a number it is, and so are these.
_DATE_ALONE: Final = re.compile(r"\d|yesterday|this morning|quarter|jan|feb|apr|jun|jul|aug|sep|oct|nov|dec")


def find_years(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Take "2020-2022"."""
    for match in _YEARS.finditer(reading.left):
        first = read_date(match["first"], 0, reading.now)
        last = read_date(match["last"], 0, reading.now)
        if first and last:
            yield from window(reading, first, last, *match.span())


def find_between(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Take two dates with a word between them, and one date after since or from."""
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
        # "since Jan 1 and RSI": "and" goes on only after between and from.
        if last is None or (joint and joint["word"] == "and" and lead not in {"between", "from"}):
            if lead not in {"", "between"}:
                yield from window(reading, first, None, start, first.after)
            continue
        yield from window(reading, *_on_one_day(first, last), start, last.after)


def find_on_dates(reading: SentenceReader) -> Iterator[Mention[TimeSpan]]:
    """Take one date, month, quarter or year that is the whole range."""
    for start, place, lead in _places(reading, _ON):
        found = read_date(reading.left, place, reading.now)
        if found is None or TAKEN in reading.left[start : found.after]:
            continue
        said = reading.left[place : found.after]
        # A year alone may still be the length of an average: it is read after the studies.
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
    """A time without a day is on the other's day; an end before its beginning, as midnight is, on the next."""
    if last.names_day and not first.names_day:
        first = shifted(first, midnight(last.begin) - midnight(first.begin))
    elif not last.names_day:
        last = shifted(last, midnight(first.begin) - midnight(last.begin))
    if not last.names_day and last.end <= first.begin:
        last = shifted(last, DAY)
    return first, last
