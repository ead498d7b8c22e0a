"""Arguments given in addition to the text. They override the text, and each difference is reported."""

import re
from dataclasses import dataclass, replace
from typing import Final

from mcp_binance_server.charts.config import Findings
from mcp_binance_server.charts.dialect.times import read_interval
from mcp_binance_server.charts.language.explicit import find_explicit, find_size, find_tickers_with_digits
from mcp_binance_server.charts.language.reading import SentenceReader, fold, normalise, quoted
from mcp_binance_server.charts.language.symbols import find_symbols
from mcp_binance_server.charts.language.tickers import Wanted
from mcp_binance_server.charts.language.times.intervals import find_intervals, settle_interval
from mcp_binance_server.charts.language.times.ranges import find_bare_ranges, find_dated_ranges
from mcp_binance_server.charts.language.times.spans import TimeSpan, settle_range
from mcp_binance_server.charts.language.understanding import Knowledge, Understood, open_reading

_NAMED: Final = re.compile(r"(?P<count>[1-9]\d{0,3})(?P<unit>[DWMYdwy])|DTD|WTD|MTD|YTD|ALL")
_PLAIN: Final = re.compile(r"[A-Za-z0-9]{1,30}")
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class Preferences:
    """The arguments given in addition to the text."""

    symbol: str | None = None
    exchange: str | None = None
    theme: str | None = None
    resolution: str | None = None
    interval: str | None = None
    range: str | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """Merger of preferences and text. `notes` lists the differences."""

    reading: SentenceReader
    knowledge: Knowledge
    preferences: Preferences
    notes: list[str]

    def apply(self, said: Understood) -> Understood:
        """Return the content of the text with all preferences applied."""
        return self._looks(self._time(self._market(said)))

    def _differs(self, name: str, given: object, written: object) -> None:
        if written is not None and written != given:
            self.notes.append(f"used the given {name}, {given}, instead of {written} in the text")

    def _market(self, said: Understood) -> Understood:
        given = self.preferences
        if given.symbol and (market := self._symbol(given.symbol)):
            if said.markets and said.markets[0] != market:
                self.notes.append(f"used the given symbol, {given.symbol.strip()}, instead of the one in the text")
            said = replace(said, markets=[market])
        if given.exchange and (exchange := self._exchange(given.exchange)):
            self._differs("exchange", exchange, said.exchange)
            said = replace(said, exchange=exchange)
        return said

    def _time(self, said: Understood) -> Understood:
        given = self.preferences
        if given.interval and (interval := self._interval(given.interval)):
            self._differs("interval", interval, said.interval)
            said = replace(said, interval=interval)
        if given.range and (span := self._span(given.range)):
            if said.span is not None and said.span.key != span.key:
                self._differs("range", span.said, said.span.said)
            said = replace(said, span=span)
        return said

    def _looks(self, said: Understood) -> Understood:
        given = self.preferences
        if given.resolution and (size := self._size(given.resolution)):
            self._differs("resolution", "{}x{}".format(*size), "{}x{}".format(*said.size) if said.size else None)
            said = replace(said, size=size)
        if given.theme:
            self._differs("theme", given.theme, said.looks.theme)
            said = replace(said, looks=replace(said.looks, theme=given.theme))
        return said

    def _symbol(self, text: str) -> Wanted | None:
        vocabulary, listing = self.knowledge.vocabulary, self.knowledge.listing
        bare = text.strip()
        for written in (bare, f"${bare}") if _PLAIN.fullmatch(bare) else (bare,):
            other = self._read(written)
            found = [
                *find_explicit(other, vocabulary.catalogue),
                *find_tickers_with_digits(other, listing),
                *find_symbols(other, vocabulary, listing),
            ]
            if found:
                return replace(found[0].value, doubt="")
        self.reading.warn("symbol_unverified", f"the symbol {quoted(text)} is not a known market")
        return None

    def _exchange(self, text: str) -> str | None:
        known = self.knowledge.vocabulary.catalogue.exchange(text)
        found = known.id if known else self.knowledge.vocabulary.exchanges.meaning(fold(text.strip()))
        if found is None:
            self.reading.warn("symbol_unverified", f"the exchange {quoted(text)} is unknown")
        return found

    def _interval(self, text: str) -> str | None:
        findings = Findings()
        found = read_interval(text, self.knowledge.vocabulary.catalogue, findings)
        if not findings.errors:
            return found
        nearest = settle_interval(other := self._read(text), find_intervals(other))
        instead = f"{nearest} is drawn" if nearest else "it cannot be read; the interval in the text is drawn"
        self.reading.warn("interval_snapped", f"the interval {quoted(text)} is not offered: {instead}")
        return nearest

    def _span(self, text: str) -> TimeSpan | None:
        named = _NAMED.fullmatch(text.strip())
        if named is not None:
            days = f"{7 * int(named['count'])}D" if (named["unit"] or "") in {"W", "w"} else named[0].upper()
            return TimeSpan(text.strip(), days)
        other = self._read(text)
        span = settle_range(other, [*find_dated_ranges(other), *find_bare_ranges(other)])
        if span is None:
            self.reading.warn("unparsed_range", f"the range {quoted(text)} cannot be read")
        return span

    def _size(self, text: str) -> tuple[int, int] | None:
        size = find_size(self._read(text))
        if size is None:
            self.reading.warn("size_clamped", f"the resolution {quoted(text)} is not a size such as 1200x675")
        return size

    def _read(self, text: str) -> SentenceReader:
        return open_reading(normalise(text[:_LONGEST]), self.reading.now, self.knowledge.vocabulary)


def apply_preferences(
    reading: SentenceReader, said: Understood, preferences: Preferences, knowledge: Knowledge
) -> tuple[Understood, list[str]]:
    """Apply the preferences to the content of a text. Also return one sentence for each difference."""
    notes: list[str] = []
    return Fixed(reading, knowledge, preferences, notes).apply(said), notes
