"""One range of time as it was asked for, and how two readings of it are settled."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_binance_server.charts.language.dates import Stretch
from mcp_binance_server.charts.language.durations import Counted, range_text
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """One range: by name, between two moments (no end: until now), or so many bars back."""

    said: str
    name: str | None = None
    begin: datetime | None = None
    end: datetime | None = None
    bars: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What two spans must share to be the same request."""
        return self.name, self.begin, self.end, self.bars


Found = list[Mention[TimeSpan]]


def settle_range(reading: SentenceReader, mentions: Found) -> TimeSpan | None:
    """Choose one range: the first, or the one after a correction; a contradiction is said."""
    wanted = sorted(reading.wanted(mentions), key=lambda each: each.start)
    distinct = list({each.value.key: each.value for each in wanted}.values())
    if len(distinct) > 1:
        said = " and ".join(quoted(each.said) for each in distinct)
        reading.warn("ambiguous_range", f"{said} were both asked for; {quoted(distinct[0].said)} is drawn")
    return distinct[0] if distinct else None


def counted_span(
    reading: SentenceReader, counted: Counted, said: str, start: int, end: int
) -> Iterator[Mention[TimeSpan]]:
    """Take a counted time as the range; one that is nothing, or longer than any market, is refused."""
    span = range_text(counted)
    if span is None:
        reading.warn("unparsed_range", f"{quoted(said)} is no range that can be drawn; the range is left open")
        reading.take(start, end)
        return
    if counted.doubt:
        other = "" if counted.vague else f"; say '{said} candles' for the bars"
        taken = f"{counted.count} {counted.unit}" if isinstance(span, timedelta) else span
        reading.warn("ambiguous_range", f"{quoted(said)} is read as the span of the chart, {taken}{other}")
    if isinstance(span, str):
        yield reading.mention(TimeSpan(said, span), start, end)
    else:
        yield reading.mention(TimeSpan(said, begin=reading.now - span), start, end)


def window(
    reading: SentenceReader, first: Stretch, last: Stretch | None, start: int, end: int
) -> Iterator[Mention[TimeSpan]]:
    """Take two dates as the range, in their order in time; without a last one it goes on until now."""
    said = reading.text[start:end]
    for warning in (first.warning, last.warning if last else None):
        if warning:
            reading.warn(*warning)
    begin, until = first.begin, last.end if last else None
    if last and last.begin < first.begin:
        reading.warn("range_reversed", f"{quoted(said)} runs backwards; its ends were swapped")
        begin, until = last.begin, first.end
    if begin > reading.now:
        reading.warn("future_range", f"{quoted(said)} lies in the future, where no prices are; the range is left open")
        reading.take(start, end)
        return
    if until is not None and (until > reading.now or until - begin < timedelta(minutes=1)):
        until = None
    yield reading.mention(TimeSpan(said, begin=begin, end=until), start, end)
