"""Rules applied to a text in order, and their result."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.language.appearance import STYLE_WORDS, WantedLooks, find_looks
from mcp_binance_server.charts.language.drawings import WantedDrawing, find_drawings
from mcp_binance_server.charts.language.explicit import find_explicit, find_size, find_tickers_with_digits
from mcp_binance_server.charts.language.names import STOCK_EXCHANGES, Listing
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, find_scopes, fold, tokenise
from mcp_binance_server.charts.language.studies import (
    Asked,
    find_studies,
    refuse_studies,
    settle_studies,
    without_volume,
)  # fmt: skip
from mcp_binance_server.charts.language.symbols import find_symbols
from mcp_binance_server.charts.language.tickers import Wanted
from mcp_binance_server.charts.language.times.intervals import find_intervals, settle_interval
from mcp_binance_server.charts.language.times.ranges import find_bare_ranges, find_dated_ranges
from mcp_binance_server.charts.language.times.spans import TimeSpan, settle_range
from mcp_binance_server.charts.language.vocabulary import Vocabulary
from mcp_binance_server.domain.symbols import SymbolTable

# Foreign words and their English translation. Upper-case words stay, because they are tickers. English words and names
# of coins are not in this table.
_WORDS: Final = {
    "last": "letzte letzten letzter letztes letztem último última últimos últimas ultimo ultima ultimos ultimas",
    "day": "tag día", "days": "tage tagen días dias", "week": "woche semana", "weeks": "wochen semanas",
    "month": "monat mes", "months": "monate monaten meses", "year": "jahr año", "years": "jahre jahren años",
    "hour": "stunde hora", "hours": "stunden horas", "minutes": "minuten minutos",
    "yesterday": "gestern ayer", "today": "heute hoy", "since": "seit desde", "until": "bis hasta",
    "hourly": "stündlich stundenchart", "daily": "täglich tageschart diario diaria", "monthly": "monatlich mensual",
    "weekly": "wöchentlich wochenchart semanal",
    "with": "mit con", "without": "ohne sin", "and": "und", "volume": "volumen",
    "support": "unterstützung soporte", "resistance": "widerstand resistencia",
    "line": "linie línea", "lines": "linien líneas", "periods": "perioden periodos períodos",
    "2": "zwei dos", "3": "drei tres", "4": "vier cuatro", "5": "fünf cinco", "6": "sechs seis", "7": "sieben siete",
    "8": "acht ocho", "9": "neun nueve", "10": "zehn diez", "12": "zwölf doce", "14": "vierzehn catorce",
    "15": "fünfzehn quince", "20": "zwanzig veinte", "24": "vierundzwanzig veinticuatro", "30": "dreißig treinta",
    "50": "fünfzig cincuenta", "100": "hundert cien", "200": "zweihundert doscientos doscientas",
}  # fmt: skip
_MEANING: Final = {word: meant for meant, words in _WORDS.items() for word in words.split()}
_WORD: Final = re.compile(
    rf"(?<![\w$#:/.])(?:{'|'.join(sorted(_MEANING, key=len, reverse=True))})(?![\w/:])", re.IGNORECASE
)
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), meant)
    for pattern, meant in (
        (r"\bgleitende[rnms]? durchschnitt(?:e[ns]?|s)?\b", "moving average"),
        (r"\bmedias? m[oó]vil(?:es)?\b", "moving average"),
        (r"\bbandas de bollinger\b", "bollinger bands"),
        (r"\b(?:bei|en)(?= \$?\d)", "at"),
        (r"\bde(?= \d+ )", "of"),
        # "50 y 200" is Spanish for "50 and 200". "5 y" means five years.
        (r"(?<=\d) [ye] (?=\d)|(?<=\d{3}) y (?=[a-z]{3})", " and "),
        (r"(?<=[a-z)]) y (?=[a-z])", " and "),
        (r"\bhalf[ -](?:an )?hourly\b", "30 minute candles"),
        (r"\b(?:a )?half[ -](?:an )?hour\b", "30 minutes"),
        (r"\b(?:a )?quarter[ -](?:of an )?hour(?:ly)?\b", "15 minutes"),
    )
)
_ONES: Final = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine".split(), start=1)  # noqa: SIM905
}
_TEENS: Final = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "dozen": 12,
}  # fmt: skip
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)  # noqa: SIM905
}
_BELOW_HUNDRED: Final = (
    rf"(?:(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<ones>{'|'.join(_ONES)}))?|(?P<teen>{'|'.join(_TEENS)}))"
)
_HUNDREDS: Final = rf"(?:(?P<hundreds>a|{'|'.join(_ONES)})[ -])?(?P<hundred>hundred)"
# Number words below ten are not replaced: ONE is a coin, and "two" is read only as a count.
_NUMBER: Final = re.compile(
    rf"(?<![\w-])(?:{_HUNDREDS}(?: and)?(?: {_BELOW_HUNDRED.replace('?P<', '?P<more_')})?|{_BELOW_HUNDRED})(?![\w-])",
    re.IGNORECASE,
)

_PERPETUAL: Final = re.compile(
    r"(?<!\w)(?:(?:usdt|usd|linear|perp(?:etual)?) )?(?:perps?|perpetuals?|swaps?|futures?)(?: contracts?)?(?!\w)"
)
_STOCK_EXCHANGE: Final = re.compile(rf"(?<!\w)(?:on|at) (?:the )?(?P<name>{'|'.join(STOCK_EXCHANGES)})(?! 100)(?!\w)")
_LEADS: Final = frozenset({"on", "at", "from", "via", "the", "in"})


def translated(text: str) -> str:
    """Translate foreign words to English and replace number words by digits."""
    for pattern, meant in _PHRASES:
        text = pattern.sub(meant, text)
    return _NUMBER.sub(_digits, _WORD.sub(_english, text))


def _english(found: re.Match[str]) -> str:
    return found[0] if found[0].isupper() else _MEANING[fold(found[0])]


def _digits(found: re.Match[str]) -> str:
    said = {name: fold(word) for name, word in found.groupdict().items() if word}
    total = 0
    if "hundred" in said:
        total = 100 * _ONES.get(said.get("hundreds", ""), 1)
    for before in ("", "more_"):
        total += _TENS.get(said.get(f"{before}tens", ""), 0) + _ONES.get(said.get(f"{before}ones", ""), 0)
        total += _TEENS.get(said.get(f"{before}teen", ""), 0)
    return str(total)


def find_exchanges(reading: SentenceReader, vocabulary: Vocabulary) -> list[Mention[str]]:
    """Extract the exchanges named by the text, stock exchanges last. A part of a longer name does not count."""
    stocks = [
        reading.mention(STOCK_EXCHANGES[match["name"]], *match.span())
        for match in _STOCK_EXCHANGE.finditer(reading.left)
    ]
    tokens = tokenise(reading.left)
    found: list[Mention[str]] = []
    place = 0
    while place < len(tokens):
        named = vocabulary.exchanges.at(tokens, place)
        longer = vocabulary.markets.at(tokens, place)
        if named is None or (longer is not None and longer[1] >= named[1]):
            place += 1
            continue
        first = place
        while first > 0 and tokens[first - 1].text in _LEADS:
            first -= 1
        found.append(reading.mention(named[0], tokens[first].start, tokens[named[1] - 1].end))
        place = named[1]
    return [*found, *stocks]


def wants_perpetual(reading: SentenceReader) -> bool:
    """Extract the words for perpetual contracts. Return True if the text requests one."""
    found = [reading.mention(None, *match.span()) for match in _PERPETUAL.finditer(reading.left)]
    return bool(reading.wanted(found))


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All known names: words of the catalogue and pairs of the exchange. It is built once for all texts."""

    vocabulary: Vocabulary
    listing: Listing

    @classmethod
    def of(cls, catalogue: ChartCatalogue, symbols: SymbolTable | None) -> "Knowledge":
        """Build the knowledge from a catalogue and a symbol table. Without a table no pair is verified."""
        listing = Listing.of(symbols)
        return cls(Vocabulary.of(catalogue, STYLE_WORDS, listing.bases), listing)


@dataclass(frozen=True, slots=True)
class Understood:
    """The content of one text. Parts that the text does not mention are None or empty."""

    markets: list[Wanted]
    exchange: str | None
    perpetual: bool
    interval: str | None
    span: TimeSpan | None
    studies: list[Asked]
    drawings: list[WantedDrawing]
    looks: WantedLooks
    size: tuple[int, int] | None
    my_orders: bool = False


_OWNED: Final = (
    r"(?:(?:own|open|live|pending|resting|average|avg|mean) )*"
    r"(?:orders?|entry|entries|stops?(?:[ -]loss(?:es)?)?|position|average|avg|cost)(?: prices?| levels?| lines?)?"
)
_MY: Final = re.compile(rf"(?<!\w)my {_OWNED}(?:(?: ?, ?(?:and )?| and | & | \+ )(?:my |the )?{_OWNED})*(?!\w)")


def wants_own_orders(reading: SentenceReader) -> bool:
    """Extract the words for the caller's own orders. Return True if the text asks for them."""
    found = [reading.mention(None, *match.span()) for match in _MY.finditer(reading.left)]
    return bool(reading.wanted(found))


def open_reading(text: str, now: datetime, vocabulary: Vocabulary) -> SentenceReader:
    """Return a reader of a text. The text is normalised, translated to English and corrected for spelling."""
    mended = vocabulary.speller.mend(translated(text))
    folded = fold(mended.text)
    reading = SentenceReader(mended.text, folded, now, find_scopes(folded))
    for written, meant in mended.changes:
        reading.warn("fuzzy_match", f"'{written}' is read as '{meant}'")
    return reading


def understand(reading: SentenceReader, knowledge: Knowledge) -> Understood:
    """Apply every rule to a text.

    The order of the rules resolves ambiguity: certain forms come first, ambiguous forms last.
    """
    vocabulary, listing = knowledge.vocabulary, knowledge.listing
    markets = find_explicit(reading, vocabulary.catalogue)
    markets += find_tickers_with_digits(reading, listing)
    markets += _numbered_names(reading, vocabulary)
    size = find_size(reading)
    my_orders = wants_own_orders(reading)
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
        my_orders=my_orders,
    )


def _numbered_names(reading: SentenceReader, vocabulary: Vocabulary) -> list[Mention[Wanted]]:
    """Extract names such as S&P 500 or TOTAL3. Later rules would read their digits as a length."""
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
    """Read "chart MA" as Mastercard if the text names no market.

    A study name is a ticker if it is in capitals, without numbers, and the only study of the text.
    """
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
