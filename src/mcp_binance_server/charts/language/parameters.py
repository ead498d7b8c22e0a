"""Numbers in a text, each assigned to the study parameter that it sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_binance_server.charts.language.reading import Phrases, Token
from mcp_binance_server.charts.language.times.intervals import OFFERED
from mcp_binance_server.charts.language.vocabulary import StudyName, StudyWord
from mcp_binance_server.charts.language.words import BARS, MINUTES, UNIT_OF

Number = int | float

_SUFFIXES: Final = frozenset({*UNIT_OF, "k", "x", "p", "st", "nd", "rd", "th", "am", "pm"})
_MARKS: Final = frozenset({"$", "#", ":", "."})

_BETWEEN: Final = frozenset({",", "/", "and", "&", "+", "-", "or"})
_OPEN: Final = {"(": ")", "[": "]"}
# Words allowed between a study and its numbers.
_NOISE: Final = frozenset(
    {"ribbon", "ribbons", "line", "lines", "cross", "crossover", "crosses", "indicator", "oscillator", "set", "to",
     "with", "of", "at", "=", ":", "settings", "setting", "using", "a", "the", "study", "periods", "values"}
)  # fmt: skip
_NEUTRAL: Final = frozenset({"period", "periods", "bar", "bars", "candle", "candles"})
_LEVEL_WORDS: Final = frozenset({"levels", "level", "limits", "bands", "zones", "overbought"})
# Maximum number of lines from one study with one parameter, as in "EMA 8 13 21 34 55".
_MOST_TIMES: Final = 12


def number_of(text: str) -> Number:
    """Return the number written in a token."""
    return float(text) if "." in text else int(text)


def text_at(tokens: Sequence[Token], place: int) -> str:
    """Return the text of a token. Beyond either end it is empty."""
    return tokens[place].text if 0 <= place < len(tokens) else ""


def is_number(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a token is a number."""
    return 0 <= place < len(tokens) and tokens[place].is_number


def is_glued(tokens: Sequence[Token], place: int) -> bool:
    """Return True if no space separates a token from the previous one."""
    return 0 < place < len(tokens) and tokens[place - 1].end == tokens[place].start


def is_free(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a number stands alone. In `4h`, `70k` and `$5` it does not."""
    if not is_number(tokens, place):
        return False
    has_suffix = is_glued(tokens, place + 1) and text_at(tokens, place + 1) in _SUFFIXES
    return not has_suffix and not (is_glued(tokens, place) and text_at(tokens, place - 1) in _MARKS)


def is_glued_to_word(tokens: Sequence[Token], place: int) -> bool:
    """Return True if letters directly precede a number. The 4 of "H4 RSI" is not a length."""
    return is_glued(tokens, place) and tokens[place - 1].is_word


def has_unit(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a unit of time, bars or pixels follows a number."""
    after = place + 2 if text_at(tokens, place + 1) == "-" else place + 1
    return text_at(tokens, after) in {*UNIT_OF, *BARS, "x", "by", "%", "$"}


def is_plain(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a number can be a study parameter."""
    return is_free(tokens, place) and not has_unit(tokens, place)


def belongs_right(tokens: Sequence[Token], place: int, names: Phrases[StudyName]) -> bool:
    """Return True if a number belongs to the study after it, as in "RSI 50 EMA". In "MA 9 MA 21" it does not."""
    found = names.at(tokens, place + 2 if text_at(tokens, place + 1) == "-" else place + 1)
    if found is None:
        return False
    return text_at(tokens, found[1]) not in {"(", "["} and not is_plain(tokens, found[1])


def is_interval(count: str, unit: str) -> bool:
    """Return True if a count and a unit form an available interval."""
    return float(count) * MINUTES[unit] in OFFERED.values()


@dataclass(frozen=True, slots=True)
class Given:
    """The numbers given for one study.

    `numbers` are in order of the text, `named` by public key. `levels` are the upper and lower level. `unit` is the
    unit of a length.
    """

    numbers: tuple[Number, ...] = ()
    named: dict[str, Number] = field(default_factory=dict[str, Number])
    levels: tuple[Number, Number] | None = None
    unit: str | None = None


@dataclass(slots=True)
class After:
    """Scanner of the tokens after a study name. It collects the numbers of the study."""

    tokens: Sequence[Token]
    study: StudyWord
    names: Phrases[StudyName]
    only_named: bool
    cursor: int
    end: int
    closing: str = ""
    numbers: list[Number] = field(default_factory=list[Number])
    named: dict[str, Number] = field(default_factory=dict[str, Number])
    levels: tuple[Number, Number] | None = None

    def walk(self) -> tuple[Given, int]:
        """Scan the tokens that belong to the study. Return its numbers and the index after the last token."""
        opening = text_at(self.tokens, self.cursor)
        if opening in _OPEN:
            self.closing, self.cursor = _OPEN[opening], self.cursor + 1
        while self.cursor < len(self.tokens):
            if self.closing and text_at(self.tokens, self.cursor) == self.closing:
                self._close()
                break
            if not (self._take_levels() or self._take_named() or self._take_number() or self._pass_joint()):
                break
        return Given(tuple(self.numbers), self.named, self.levels), self.end

    @property
    def has_something(self) -> bool:
        return bool(self.numbers or self.named or self.levels)

    def _close(self) -> None:
        self.closing, self.cursor = "", self.cursor + 1
        self.end = self.cursor
        self._take_levels()

    def _take_levels(self) -> bool:
        found = _levels(self.tokens, self.cursor) if self.study.has_levels and self.levels is None else None
        if found is None:
            return False
        self.levels, self.cursor = found
        self.end = self.cursor
        return True

    def _take_named(self) -> bool:
        found = _named(self.tokens, self.cursor, self.study)
        if found is None:
            return False
        key, number, self.cursor = found
        self.named[key] = number
        self.end = self.cursor
        return True

    def _take_number(self) -> bool:
        inputs = len(self.study.inputs)
        most = _MOST_TIMES if inputs == 1 else inputs
        if self.only_named or len(self.numbers) >= most or not inputs:
            return False
        negative = text_at(self.tokens, self.cursor) == "-" and is_glued(self.tokens, self.cursor + 1)
        # A "-" between two numbers is a dash, not a minus sign.
        if negative and is_glued(self.tokens, self.cursor) and not self.closing:
            return False
        place = self.cursor + negative
        ours = is_plain(self.tokens, place) and not belongs_right(self.tokens, place, self.names)
        if not (ours or (self.closing and is_number(self.tokens, place))):
            return False
        number = number_of(self.tokens[place].text)
        self.numbers.append(-number if negative else number)
        self.cursor = self.end = place + 1
        return True

    def _is_named_next(self) -> bool:
        if _named(self.tokens, self.cursor + 1, self.study) is not None:
            return True
        return self.study.has_levels and _levels(self.tokens, self.cursor + 1) is not None

    def _pass_joint(self) -> bool:
        word = text_at(self.tokens, self.cursor)
        joint = word in {*_BETWEEN, ";"} and (self.has_something or self.closing)
        doubled = text_at(self.tokens, self.cursor - 1) in _BETWEEN - {"and"}
        leads = word in {"with", "at", "using"} and self._is_named_next()
        if not leads and (not joint or doubled):
            return False
        self.cursor += 1
        return True


def after_name(
    tokens: Sequence[Token], place: int, study: StudyWord, names: Phrases[StudyName], *, only_named: bool = False
) -> tuple[Given, int]:
    """Read the numbers after a study name. Return them and the index after the last one."""
    return After(tokens, study, names, only_named, _past_noise(tokens, place, study), place).walk()


def before_name(
    tokens: Sequence[Token], first: int, free_from: int, study: StudyWord, names: Phrases[StudyName]
) -> tuple[Given | None, int]:
    """Read the numbers before a study name. Return None without numbers, or if they belong to another study."""
    cursor, unit = _past_unit(tokens, first, free_from, study)
    if cursor < free_from or not study.inputs or not is_number(tokens, cursor) or is_glued_to_word(tokens, cursor):
        return None, first
    if unit and (is_interval(tokens[cursor].text, unit) or _has_own_number(tokens, first, study, names)):
        return None, first
    if cursor == first - 1 and not is_free(tokens, cursor):
        return None, first
    begin, numbers = cursor, [number_of(tokens[cursor].text)]
    while (earlier := _earlier(tokens, begin, free_from)) is not None:
        begin = earlier
        numbers.insert(0, number_of(tokens[begin].text))
    if 1 < len(numbers) < len(study.inputs):
        return None, first
    return Given(tuple(numbers), unit=unit), begin


def _past_unit(tokens: Sequence[Token], first: int, free_from: int, study: StudyWord) -> tuple[int, str | None]:
    cursor = first - 1
    if cursor >= free_from and text_at(tokens, cursor) == "-":
        cursor -= 1
    word = text_at(tokens, cursor)
    if cursor <= free_from or not study.is_average or word not in {*UNIT_OF, *_NEUTRAL}:
        return cursor, None
    cursor -= 1
    return cursor - (text_at(tokens, cursor) == "-"), UNIT_OF.get(word)


def _earlier(tokens: Sequence[Token], begin: int, free_from: int) -> int | None:
    cursor = begin - 1
    while cursor >= free_from and text_at(tokens, cursor) in _BETWEEN and begin - cursor <= 2:
        cursor -= 1
    return cursor if cursor >= free_from and is_free(tokens, cursor) and not is_glued_to_word(tokens, cursor) else None


def _has_own_number(tokens: Sequence[Token], first: int, study: StudyWord, names: Phrases[StudyName]) -> bool:
    found = names.at(tokens, first)
    return found is not None and bool(after_name(tokens, found[1], study, names)[0].numbers)


def _past_noise(tokens: Sequence[Token], place: int, study: StudyWord) -> int:
    for cursor in range(place, min(place + 3, len(tokens))):
        if is_number(tokens, cursor) or tokens[cursor].text in _OPEN or study.keys.at(tokens, cursor):
            return cursor
        if tokens[cursor].text not in _NOISE:
            return place
    behind = place + 3
    return behind if is_number(tokens, behind) or text_at(tokens, behind) in _OPEN else place


def _named(tokens: Sequence[Token], place: int, study: StudyWord) -> tuple[str, Number, int] | None:
    if place >= len(tokens):
        return None
    if (found := study.keys.at(tokens, place)) is not None:
        key, cursor = found
        while text_at(tokens, cursor) in {"=", ":", "of", "is"}:
            cursor += 1
        if is_number(tokens, cursor) and not has_unit(tokens, cursor):
            return key, number_of(tokens[cursor].text), cursor + 1
        return None
    # The number can come first: "2 standard deviations".
    if tokens[place].is_number and (later := study.keys.at(tokens, place + 1)) is not None:
        key, cursor = later
        if not is_number(tokens, cursor):
            return key, number_of(tokens[place].text), cursor
    return None


def _levels(tokens: Sequence[Token], place: int) -> tuple[tuple[Number, Number], int] | None:
    worded = text_at(tokens, place) in _LEVEL_WORDS
    cursor = place + worded
    if not is_number(tokens, cursor) or not is_number(tokens, cursor + 2):
        return None
    upper, lower = number_of(tokens[cursor].text), number_of(tokens[cursor + 2].text)
    joint = text_at(tokens, cursor + 1)
    if worded:
        return ((upper, lower), cursor + 3) if joint in {*_BETWEEN, "oversold"} and upper > lower else None
    return ((upper, lower), cursor + 3) if joint == "/" and upper > 50 > lower else None
