"""Sentences that explain a chart, and a report of the words that were not understood."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.language.drawings import IN_PASSING, WantedDrawing
from mcp_binance_server.charts.language.reading import SentenceReader, Token, quoted, tokenise
from mcp_binance_server.charts.language.studies import Asked
from mcp_binance_server.charts.language.times.dates import MONTHS
from mcp_binance_server.charts.language.times.spans import TimeSpan
from mcp_binance_server.charts.language.vocabulary import StudyWord
from mcp_binance_server.charts.language.words import FILLER, NUMBERS, PLAIN_WORDS
from mcp_binance_server.domain.money import ASSET_NAMES

_DATE_STARTERS: Final = frozenset(
    {"since", "until", "till", "before", "after", "between", "from", "ago", "seit", "depuis", "desde", "dal", "ab",
     "vor", "bis"}
)  # fmt: skip
_MONTHS_ELSEWHERE: Final = (
    "januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet août septembre octobre "
    "novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre"
)
# A month name that no rule has read is invalid ("june 31") or in another language.
_MONTH_WORDS: Final = frozenset(
    {*_MONTHS_ELSEWHERE.split(), *MONTHS, "jan", "feb", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
) - {"may", "march"}
_STUDY_STARTERS: Final = frozenset(
    {"with", "add", "adding", "plus", "using", "indicator", "indicators", "studies", "overlay", "include", "including"}
)
_MOST_FILLER: Final = 3
_NOTHING: Final = re.compile(r"(?<!\w)(?:any |all )?(?:indicators?|studies|overlays?|drawings?|lines?)(?!\w)")
_MARKUP: Final = frozenset("<>{}[]\\")


def market_said(symbol: str) -> str:
    """Return the sentence about the detected market, with its name if known."""
    exchange, _, ticker = symbol.partition(":")
    name = next(
        (name for code, name in ASSET_NAMES.items() if ticker.startswith(code) and len(ticker) - len(code) <= 6), ""
    )
    if exchange == "BINANCE" and name:
        return f"Detected {name} ({ticker})"
    return f"Detected {symbol}"


def range_said(span: TimeSpan | None, range_text: str | None) -> list[str]:
    """Return the sentence about the detected range."""
    if span is None:
        return []
    if range_text is None:
        return [f"interpreted '{span.said}' as two moments in UTC"]
    return [f"interpreted '{span.said}' as range '{range_text}'"]


def interval_said(interval: str, *, explicit: bool, has_range: bool) -> str:
    """Return the sentence about the interval and its source."""
    if explicit:
        return f"used the requested {interval} interval"
    return (
        f"selected {interval} interval for good resolution" if has_range else f"selected {interval} interval by default"
    )


def studies_said(studies: Sequence[Asked]) -> list[str]:
    """Return the sentence about the added studies."""
    if not studies:
        return []
    if all(_is_default(each) for each in studies):
        return ["added requested indicators with default parameters"]
    listed = ", ".join(_study_said(each) for each in studies)
    return [f"added {listed}"]


def drawings_said(drawings: Sequence[WantedDrawing]) -> list[str]:
    """Return the sentence about the added drawings."""
    given = sum("swing" not in each.coordinates for each in drawings)
    return [f"drew {given} {'drawing' if given == 1 else 'drawings'} at the prices given"] if given else []


def _study_said(asked: Asked) -> str:
    numbers = ", ".join(f"{value}" for value in asked.inputs.values())
    return f"{asked.indicator.display_name} ({numbers})" if numbers else asked.indicator.display_name


def _is_default(asked: Asked) -> bool:
    usual = {each.public: each.default for each in StudyWord.of(asked.indicator).inputs}
    return not asked.override and all(usual.get(key) == value for key, value in asked.inputs.items())


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that no rule understood, and the word that introduces it."""

    start: int
    end: int
    lead: str
    words: tuple[str, ...]


def report_leftovers(reading: SentenceReader) -> None:
    """Warn about all unread text except filler words."""
    for start, end in (*reading.scopes.cues, *reading.scopes.correction_words):
        reading.take(start, end)
    for match in IN_PASSING.finditer(reading.left):
        said = quoted(reading.take(*match.span()))
        reading.notes.append(f"took {said} as a remark about the price, not as a line to draw")
    for match in _NOTHING.finditer(reading.left):
        reading.take(*match.span())
    for piece in _pieces(reading):
        text = reading.text[piece.start : piece.end]
        if (
            piece.lead in _DATE_STARTERS
            or not _MONTH_WORDS.isdisjoint(piece.words)
            or not _DATE_STARTERS.isdisjoint(piece.words[:1])
        ):
            reading.warn("unparsed_range", f"{quoted(text)} is not a readable time; the range is left open")
        elif piece.lead in _STUDY_STARTERS and piece.words and not reading.negated(piece.start):
            reading.warn("unknown_indicator", f"{quoted(text)} is not offered; nothing was drawn instead")
        else:
            reading.warn("unrecognized_text", f"{quoted(text)} was not understood and has no effect")


def is_filler(word: str) -> bool:
    """Return True if a word is filler, even with two adjacent letters swapped."""
    if word in FILLER or word in PLAIN_WORDS or word in NUMBERS or len(word) == 1:
        return True
    swaps = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
    return len(word) <= 7 and any(each in FILLER for each in swaps)


def _pieces(reading: SentenceReader) -> Iterator[Piece]:
    lead, run, pending = "", list[Token](), list[Token]()
    for token in (*tokenise(reading.left), None):
        if token is not None and _is_strange(token):
            run += [*pending, token] if run else [token]
            pending = []
            continue
        # Filler words inside a span that was not understood belong to it. The words after it are checked on their own.
        if run and token is not None and _goes_on(token) and len(pending) < _MOST_FILLER:
            pending.append(token)
            continue
        if run:
            yield Piece(run[0].start, run[-1].end, lead, tuple(each.text for each in run if each.is_word))
            lead = ""
        for each in (*pending, token):
            lead = _lead_after(lead, each)
        run, pending = [], []


def _goes_on(token: Token) -> bool:
    return "\0" not in token.text and token.text not in {".", ",", ";"}


def _lead_after(lead: str, token: Token | None) -> str:
    """Return the word that introduces a span. In "since the great" it is "since", so the span is about time."""
    if token is None or not token.is_word:
        return ""
    if token.text in _DATE_STARTERS or token.text in _STUDY_STARTERS or not lead:
        return token.text
    return lead


def _is_strange(token: Token) -> bool:
    if token.is_number:
        return True
    if token.is_word:
        return not is_filler(token.text)
    return token.text in _MARKUP or (token.text.isalnum() and unicodedata.category(token.text[0]) != "So")
