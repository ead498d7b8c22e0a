"""Every rule in its order over one text: each takes what it understands and leaves the rest to the next."""

from dataclasses import dataclass
from datetime import datetime

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.language.appearance import STYLE_WORDS, WantedLooks, find_looks
from mcp_binance_server.charts.language.drawings import WantedDrawing, find_drawings
from mcp_binance_server.charts.language.explicit import find_explicit, find_tickers_with_digits
from mcp_binance_server.charts.language.intervals import find_intervals, settle_interval
from mcp_binance_server.charts.language.listing import Listing
from mcp_binance_server.charts.language.markets import Wanted
from mcp_binance_server.charts.language.negation import find_scopes
from mcp_binance_server.charts.language.normalise import fold
from mcp_binance_server.charts.language.ranges import find_bare_ranges, find_dated_ranges
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, tokenise
from mcp_binance_server.charts.language.size import find_size
from mcp_binance_server.charts.language.spans import TimeSpan, settle_range
from mcp_binance_server.charts.language.studies import (
    Asked,
    find_studies,
    refuse_studies,
    settle_studies,
    without_volume,
)  # fmt: skip
from mcp_binance_server.charts.language.symbols import find_symbols
from mcp_binance_server.charts.language.translation import translated
from mcp_binance_server.charts.language.venues import find_exchanges, wants_perpetual
from mcp_binance_server.charts.language.vocabulary import Vocabulary
from mcp_binance_server.domain.symbols import SymbolTable


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What can be named: the catalogue's words and the exchange's pairs, arranged once and used for every text."""

    vocabulary: Vocabulary
    listing: Listing

    @classmethod
    def of(cls, catalogue: ChartCatalogue, symbols: SymbolTable | None) -> "Knowledge":
        """Arrange a catalogue and a symbol table; without a table every pair is unverified."""
        listing = Listing.of(symbols)
        return cls(Vocabulary.of(catalogue, STYLE_WORDS, listing.bases), listing)


@dataclass(frozen=True, slots=True)
class Understood:
    """All that one text says; None and empty where it says nothing."""

    markets: list[Wanted]
    exchange: str | None
    perpetual: bool
    interval: str | None
    span: TimeSpan | None
    studies: list[Asked]
    drawings: list[WantedDrawing]
    looks: WantedLooks
    size: tuple[int, int] | None


def open_reading(text: str, now: datetime, vocabulary: Vocabulary) -> SentenceReader:
    """Begin to read a normalised text: put it into English, mend its spelling, find what it negates."""
    mended = vocabulary.speller.mend(translated(text))
    folded = fold(mended.text)
    reading = SentenceReader(mended.text, folded, now, find_scopes(folded))
    for written, meant in mended.changes:
        reading.warn("fuzzy_match", f"'{written}' is read as '{meant}'")
    return reading


def understand(reading: SentenceReader, knowledge: Knowledge) -> Understood:
    """Apply every rule; the order is the grammar: what is certain first, what looks like anything last."""
    vocabulary, listing = knowledge.vocabulary, knowledge.listing
    markets = find_explicit(reading, vocabulary.catalogue)
    markets += find_tickers_with_digits(reading, listing)
    markets += _numbered_names(reading, vocabulary)
    size = find_size(reading)
    drawings = find_drawings(reading, vocabulary.studies)
    refuse_studies(reading, vocabulary)
    spans = find_dated_ranges(reading)
    studies = find_studies(reading, vocabulary)
    intervals = find_intervals(reading)
    spans += find_bare_ranges(reading)
    looks = find_looks(reading, vocabulary.catalogue)
    exchanges = find_exchanges(reading, vocabulary)
    markets += find_symbols(reading, vocabulary, listing)
    if not reading.wanted(markets):
        markets += _study_that_is_a_ticker(reading, vocabulary, studies)
    venues = list(dict.fromkeys(each.value for each in reading.wanted(exchanges)))
    if len(venues) > 1:
        reading.warn("symbol_assumed", f"{' and '.join(venues)} were named; the market of {venues[0]} is drawn")
    if without_volume(reading, studies):
        looks.override["showVolume"] = False
    return Understood(
        markets=[each.value for each in sorted(reading.wanted(markets), key=lambda each: each.start)],
        exchange=venues[0] if venues else None,
        perpetual=wants_perpetual(reading),
        interval=settle_interval(reading, intervals),
        span=settle_range(reading, spans),
        studies=settle_studies(reading, studies),
        drawings=[each.value for each in reading.wanted(drawings)],
        looks=looks,
        size=size,
    )


def _numbered_names(reading: SentenceReader, vocabulary: Vocabulary) -> list[Mention[Wanted]]:
    """Take names such as S&P 500 or TOTAL3 before their digits look like a length."""
    tokens = tokenise(reading.left)
    found: list[Mention[Wanted]] = []
    for place in range(len(tokens)):
        named = vocabulary.markets.at(tokens, place)
        if named is None or "\0" in reading.left[tokens[place].start : tokens[named[1] - 1].end]:
            continue
        meaning = named[0]
        words = tokens[place : named[1]]
        if (
            meaning.kind == "fixed"
            and any(each.is_number for each in words)
            and not all(each.is_number for each in words)
        ):
            wanted = Wanted(full=meaning.code, assumed=meaning.assumed)
            found.append(reading.mention(wanted, words[0].start, words[-1].end))
    return found


def _study_that_is_a_ticker(
    reading: SentenceReader, vocabulary: Vocabulary, studies: list[Mention[Asked]]
) -> list[Mention[Wanted]]:
    """Read "chart MA" as Mastercard: a study's name in capitals, alone, with nothing it could be drawn on."""
    if len(studies) != 1 or studies[0].value.numbers:
        return []
    written = reading.text[studies[0].start : studies[0].end]
    named = vocabulary.markets.meaning(fold(written))
    if named is None or named.kind != "fixed" or not written.isupper():
        return []
    doubt = f"'{written}' is read as {named.code}; name a market to draw the study instead"
    mention = Mention(Wanted(full=named.code, doubt=doubt), studies[0].start, studies[0].end)
    studies.clear()
    return [mention]
