"""Durations and ranges of time in a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.times.dates import Stretch
from mcp_binance_server.charts.language.words import BARS, MINUTES, NUMBERS, UNIT_OF, VAGUE

_NUMBER: Final = rf"\d{{1,6}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_UNIT: Final = "|".join(sorted(UNIT_OF, key=len, reverse=True))
COUNTED: Final = re.compile(
    rf"(?<![\w.$])(?<!\d,)(?P<count>{_NUMBER})(?P<gap>[ -]?)(?P<unit>{_UNIT})(?![\w%])"
    rf"(?: ?(?P<tail>candles?|bars?|klines?|candlesticks?|charts?|time ?frame|tf|intervals?|view|resolution)(?!\w))?"
)
_LEAD: Final = re.compile(
    r"(?P<lead>last|past|previous|prior|trailing|recent|latest|for|over|during|within|range|period|span|interval|timeframe"
    r"|time frame|tf|every|each|on)(?: of)?(?: the| a| an)? $"
)
_RANGE_LEADS: Final = frozenset(
    {"range", "period", "span", "last", "past", "previous", "prior", "trailing", "recent", "latest"}
)
_BAR_LEADS: Final = frozenset({"interval", "timeframe", "time frame", "tf", "every", "each"})
_LONGEST_YEARS: Final = 100


@dataclass(frozen=True, slots=True)
class Counted:
    """A count of time units, with the words before and after it that decide its meaning."""

    count: int
    unit: str
    compact: bool
    lead: str = ""
    tail: str = ""
    vague: bool = False

    @property
    def minutes(self) -> float:
        return self.count * MINUTES[self.unit]

    @property
    def is_bar(self) -> bool:
        """Whether this is a bar length. Otherwise it is the range of the chart."""
        if self.lead in _RANGE_LEADS:
            return False
        if self.lead in _BAR_LEADS or self.tail.removesuffix("s") in {
            *BARS,
            "timeframe",
            "time frame",
            "tf",
            "interval",
        }:
            return True
        if self.unit in "sm":
            return self.compact or self.lead not in {"for", "over", "during", "within"}
        if self.unit == "h":
            return self.count <= 12 and (self.compact or self.lead not in {"for", "over", "during", "within"})
        if self.compact:
            return (self.count, self.unit) in {(1, "D"), (2, "D"), (3, "D"), (1, "W"), (1, "M")}
        return bool(self.tail) and self.count == 1 and self.unit in "DW"

    @property
    def doubt(self) -> bool:
        """Whether the text can mean either a range or a bar length."""
        if self.is_bar or self.lead in _RANGE_LEADS or self.lead in {"for", "over", "during", "within"}:
            return self.vague
        alike = {(3, "M"), (6, "M")} if self.compact else {(1, "D"), (1, "W")}
        return self.vague or (self.count, self.unit) in alike


def read_counted(found: re.Match[str], text: str) -> Counted | None:
    """Read one match of COUNTED. The single letter m means minutes, and M means months."""
    word, unit = text[found.start("unit") : found.end("unit")], UNIT_OF[found["unit"]]
    count = int(found["count"]) if found["count"].isdigit() else NUMBERS[found["count"]]
    if len(word) == 1:
        unit = "M" if word == "M" else unit
        # A single letter needs a count in digits and no hyphen: "a d" and "3-m" are not times.
        if not found["count"].isdigit() or found["gap"] == "-":
            return None
    elif found["count"] in {"a", "an"} and not found["tail"] and unit in "sm":
        return None
    lead = _LEAD.search(found.string[max(0, found.start() - 24) : found.start()])
    compact = len(word) == 1 or (found["gap"] == "" and unit in "mh")
    return Counted(
        count, unit, compact, lead["lead"] if lead else "", found["tail"] or "", vague=found["count"] in VAGUE
    )


def range_text(counted: Counted) -> str | timedelta | None:
    """Convert a counted time to a range, or return None if it is impossible.

    Days, months and years become a range name. Hours and minutes become a duration.
    """
    count, unit = counted.count, counted.unit
    if count < 1 or counted.minutes > _LONGEST_YEARS * MINUTES["Y"]:
        return None
    if unit == "h" and count % 24 == 0:
        count, unit = count // 24, "D"
    if unit in "smh":
        return timedelta(minutes=1) * counted.minutes
    if unit == "W":
        count, unit = 7 * count, "D"
    if unit == "Q":
        count, unit = 3 * count, "M"
    if unit == "D":
        return {30: "1M", 60: "2M", 90: "3M", 180: "6M", 365: "1Y"}.get(count, f"{count}D")
    if unit == "M" and count % 12 == 0:
        count, unit = count // 12, "Y"
    return f"{count}{unit}"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """One range: a name, two times, or a number of bars.

    Without `end` the range lasts until now.
    """

    said: str
    name: str | None = None
    begin: datetime | None = None
    end: datetime | None = None
    bars: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Key for comparing ranges. Equal keys are the same request."""
        return self.name, self.begin, self.end, self.bars


Found = list[Mention[TimeSpan]]


def settle_range(reading: SentenceReader, mentions: Found) -> TimeSpan | None:
    """Return the first range, or the one after a correction. Warn if the text names several."""
    wanted = sorted(reading.wanted(mentions), key=lambda each: each.start)
    distinct = list({each.value.key: each.value for each in wanted}.values())
    if len(distinct) > 1:
        said = " and ".join(quoted(each.said) for each in distinct)
        reading.warn("ambiguous_range", f"{said} were both requested; {quoted(distinct[0].said)} is drawn")
    return distinct[0] if distinct else None


def counted_span(
    reading: SentenceReader, counted: Counted, said: str, start: int, end: int
) -> Iterator[Mention[TimeSpan]]:
    """Extract a range such as "last 3 weeks". Refuse zero, and more time than any market has existed."""
    span = range_text(counted)
    if span is None:
        reading.warn("unparsed_range", f"{quoted(said)} is not an available range; the range is left open")
        reading.take(start, end)
        return
    if counted.doubt:
        other = "" if counted.vague else f"; write '{said} candles' for the bars"
        taken = f"{counted.count} {counted.unit}" if isinstance(span, timedelta) else span
        reading.warn("ambiguous_range", f"{quoted(said)} is read as the span of the chart, {taken}{other}")
    if isinstance(span, str):
        yield reading.mention(TimeSpan(said, span), start, end)
    else:
        yield reading.mention(TimeSpan(said, begin=reading.now - span), start, end)


def window(
    reading: SentenceReader, first: Stretch, last: Stretch | None, start: int, end: int
) -> Iterator[Mention[TimeSpan]]:
    """Extract a range of two dates and sort them. A range with one date ends now."""
    said = reading.text[start:end]
    for warning in (first.warning, last.warning if last else None):
        if warning:
            reading.warn(*warning)
    begin, until = first.begin, last.end if last else None
    if last and last.begin < first.begin:
        reading.warn("range_reversed", f"{quoted(said)} ends before it begins; its ends were swapped")
        begin, until = last.begin, first.end
    if begin > reading.now:
        reading.warn("future_range", f"{quoted(said)} is in the future, without prices; the range is left open")
        reading.take(start, end)
        return
    if until is not None and (until > reading.now or until - begin < timedelta(minutes=1)):
        until = None
    yield reading.mention(TimeSpan(said, begin=begin, end=until), start, end)
