"""Whether a number of the text is free to be a study's: not a time, a price, a size, or part of a ticker."""

from collections.abc import Sequence
from typing import Final

from mcp_binance_server.charts.language.intervals import OFFERED
from mcp_binance_server.charts.language.phrases import Phrases
from mcp_binance_server.charts.language.reading import Token
from mcp_binance_server.charts.language.vocabulary import StudyName
from mcp_binance_server.charts.language.words import BARS, MINUTES, UNIT_OF

Number = int | float

_SUFFIXES: Final = frozenset({*UNIT_OF, "k", "x", "p", "st", "nd", "rd", "th", "am", "pm"})
_MARKS: Final = frozenset({"$", "#", ":", "."})


def number_of(text: str) -> Number:
    """Return the number a token stands for."""
    return float(text) if "." in text else int(text)


def text_at(tokens: Sequence[Token], place: int) -> str:
    """Return a token's text; beyond the ends there is nothing."""
    return tokens[place].text if 0 <= place < len(tokens) else ""


def is_number(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number stands at a place."""
    return 0 <= place < len(tokens) and tokens[place].is_number


def is_glued(tokens: Sequence[Token], place: int) -> bool:
    """Whether a token follows the one before it without a space."""
    return 0 < place < len(tokens) and tokens[place - 1].end == tokens[place].start


def is_free(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is not part of something else, such as `4h`, `70k` or `$5`."""
    if not is_number(tokens, place):
        return False
    has_suffix = is_glued(tokens, place + 1) and text_at(tokens, place + 1) in _SUFFIXES
    return not has_suffix and not (is_glued(tokens, place) and text_at(tokens, place - 1) in _MARKS)


def is_glued_to_word(tokens: Sequence[Token], place: int) -> bool:
    """Whether letters stand right before a number: the 4 of "H4 RSI" is no length."""
    return is_glued(tokens, place) and tokens[place - 1].is_word


def has_unit(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number counts time, bars or pixels."""
    after = place + 2 if text_at(tokens, place + 1) == "-" else place + 1
    return text_at(tokens, after) in {*UNIT_OF, *BARS, "x", "by", "%", "$"}


def is_plain(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number can be a study's."""
    return is_free(tokens, place) and not has_unit(tokens, place)


def belongs_right(tokens: Sequence[Token], place: int, names: Phrases[StudyName]) -> bool:
    """Whether a number belongs to the study after it: "RSI 50 EMA", but not "MA 9 MA 21"."""
    found = names.at(tokens, place + 2 if text_at(tokens, place + 1) == "-" else place + 1)
    if found is None:
        return False
    return text_at(tokens, found[1]) not in {"(", "["} and not is_plain(tokens, found[1])


def is_interval(count: str, unit: str) -> bool:
    """Whether a counted unit is an interval that is offered."""
    return float(count) * MINUTES[unit] in OFFERED.values()
