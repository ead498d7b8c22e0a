"""Studies requested by a text, with their numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_binance_server.charts.catalogue import CatalogueStudy, Scalar, StudyInput
from mcp_binance_server.charts.dialect.studies import MULTIPLIERS
from mcp_binance_server.charts.language.parameters import Given, Number, after_name, before_name, is_glued, text_at
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, Token, quoted, tokenise
from mcp_binance_server.charts.language.times.dates import read_date
from mcp_binance_server.charts.language.vocabulary import CROSS_LENGTHS, StudyWord, UnsupportedStudy, Vocabulary

# "volume MA 20" averages the volume, not the price. Averages of another study are not offered.
_AVERAGED: Final = r"(?P<study>volume|vol|obv|on balance volume)"
_AVERAGES_OF: Final = tuple(
    re.compile(rf"(?<!\w){pattern}(?!\w)")
    for pattern in (
        rf"{_AVERAGED}(?P<average>(?: with (?:an?|its))?(?: \d{{1,4}}(?:[- ](?:periods?|bars?|days?))?)?"
        r" (?:ma|sma|moving average|average|avg)(?: ?\d{1,4})?)",
        rf"(?P<average>(?:\d{{1,4}} )?(?:ma|sma|moving average|average)(?: \d{{1,4}})? of (?:the )?){_AVERAGED}",
    )
)
_ANCHOR: Final = re.compile(r" (?:anchored )?(?:from|at|since) (?:the )?")


@dataclass(frozen=True, slots=True)
class Asked:
    """One study to draw. `unit` is the unit of a length, as in "200 week MA"."""

    indicator: CatalogueStudy
    inputs: dict[str, Scalar]
    override: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    unit: str | None = None
    numbers: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Finder:
    """Scanner of a text for study names."""

    reading: SentenceReader
    vocabulary: Vocabulary
    tokens: list[Token]

    def find(self) -> Iterator[Mention[Asked]]:
        """Extract every study with its numbers. Tokens before `free_from` belong to the previous study."""
        place, free_from = 0, 0
        while place < len(self.tokens):
            meaning, after = self.vocabulary.studies.at(self.tokens, place) or (None, place + 1)
            if meaning is None or _is_part_of_ticker(self.tokens, place, after):
                place += 1
                continue
            if isinstance(meaning, StudyWord):
                mentions, after = self._study(meaning, place, after, free_from)
                yield from mentions
            elif isinstance(meaning, str):
                yield from self._cross(meaning, place, after)
            place = free_from = after

    def _cross(self, name: str, first: int, after: int) -> list[Mention[Asked]]:
        average = self.vocabulary.studies.meaning("sma")
        if not isinstance(average, StudyWord):
            return []
        start, end = self.tokens[first].start, self.tokens[after - 1].end
        asked = [_asked(self.reading, average, Given(numbers=(each,)), name) for each in CROSS_LENGTHS]
        return [self.reading.mention(each, start, end) for each in asked]

    def _study(self, study: StudyWord, first: int, after: int, free_from: int) -> tuple[list[Mention[Asked]], int]:
        names = self.vocabulary.studies
        given, begin = before_name(self.tokens, first, free_from, study, names)
        if given is None:
            given, after = after_name(self.tokens, after, study, names)
        else:
            extra, later = after_name(self.tokens, after, study, names)
            # In "3 EMAs 9 21 55" the first number counts the other numbers.
            if given.numbers == (len(extra.numbers),):
                given = extra
            else:
                extra, later = after_name(self.tokens, after, study, names, only_named=True)
                given = replace(given, named=extra.named, levels=extra.levels)
            after = later
        start, end = self.tokens[begin].start, self.tokens[after - 1].end
        said = self.reading.text[start:end]
        # Several numbers for a study with one input request several studies.
        many = len(study.inputs) == 1 and len(given.numbers) > 1
        each_given = [replace(given, numbers=(number,)) for number in given.numbers] if many else [given]
        asked = [_asked(self.reading, study, each, said) for each in each_given]
        return [self.reading.mention(each, start, end) for each in asked], after


def find_studies(reading: SentenceReader, vocabulary: Vocabulary) -> list[Mention[Asked]]:
    """Extract every study named in the text, in order, with its numbers."""
    return list(Finder(reading, vocabulary, tokenise(reading.left)).find())


def refuse_studies(reading: SentenceReader, vocabulary: Vocabulary) -> None:
    """Extract studies that are not offered. Later rules would misread parts of their names or dates."""
    for pattern in _AVERAGES_OF:
        for match in pattern.finditer(reading.left):
            reading.take(*match.span("average"))
            if not reading.negated(match.start()):
                said = quoted(match[0])
                reading.warn(
                    "unknown_indicator", f"{said}: an average of a study is not offered; the study is drawn without it"
                )
    tokens = tokenise(reading.left)
    place = 0
    while place < len(tokens):
        meaning, after = vocabulary.studies.at(tokens, place) or (None, place + 1)
        if isinstance(meaning, UnsupportedStudy):
            start, end = tokens[place].start, tokens[after - 1].end
            anchor = _ANCHOR.match(reading.left, end)
            date = read_date(reading.left, anchor.end(), reading.now) if anchor else None
            reading.take(start, date.after if date else end)
            if not reading.negated(start):
                reading.warn("unknown_indicator", f"{quoted(meaning.name)} is not offered; nothing was drawn instead")
        place = after


def without_volume(reading: SentenceReader, mentions: Sequence[Mention[Asked]]) -> bool:
    """Return True if the text asks to hide the volume. Charts show it by default."""
    wanted = [not reading.negated(each.start) for each in mentions if each.value.indicator.api_name == "Volume"]
    return bool(wanted) and not any(wanted)


def settle_studies(reading: SentenceReader, mentions: Sequence[Mention[Asked]]) -> list[Asked]:
    """Return the distinct studies to draw, without negated and corrected ones."""
    unwanted = [each.value for each in mentions if reading.negated(each.start)]
    wanted = [each for each in mentions if not reading.negated(each.start) and not _is_taken_back(each.value, unwanted)]
    drawn = {
        (each.value.indicator.name, *each.value.inputs.values()): each.value
        for each in wanted
        if not _is_corrected(each, wanted, reading.scopes.corrections)
    }
    for asked in drawn.values():
        if not asked.numbers and StudyWord.of(asked.indicator).is_average:
            length = asked.inputs.get("length")
            reading.warn("default_length", f"{asked.indicator.display_name} has no default length; {length} is used")
    return list(drawn.values())


def _is_taken_back(asked: Asked, unwanted: Sequence[Asked]) -> bool:
    # "drop the RSI" removes every RSI, "drop the EMA 20" only that EMA.
    return any(
        each.indicator.name == asked.indicator.name and (not each.numbers or each.inputs == asked.inputs)
        for each in unwanted
    )


def _is_corrected(one: Mention[Asked], others: Sequence[Mention[Asked]], corrections: Sequence[int]) -> bool:
    return any(
        one.start < cue <= other.start and other.value.indicator.name == one.value.indicator.name
        for cue in corrections
        for other in others
    )


def _asked(reading: SentenceReader, study: StudyWord, given: Given, said: str) -> Asked:
    inputs: dict[str, Scalar] = {}
    for place, rule in enumerate(study.inputs):
        number = given.named.get(rule.public)
        if number is None and place < len(given.numbers):
            number = given.numbers[place]
        if rule.default is not None or number is not None:
            inputs[rule.public] = _checked(reading, study, rule, number)
    upper_lower = given.levels
    override: dict[str, Scalar] = {}
    if upper_lower:
        override = {"UpperLimit.value": upper_lower[0], "LowerLimit.value": upper_lower[1]}
    return Asked(study.indicator, inputs, override, given.unit, bool(given.numbers or given.named), said)


def _checked(reading: SentenceReader, study: StudyWord, rule: StudyInput, number: Number | None) -> Scalar:
    default = rule.default if rule.default is not None else 1
    if number is None:
        return default
    name = study.indicator.display_name
    whole = rule.type == "Integer"
    lowest = max(rule.min or 1, 1) if whole else rule.min
    if (lowest is not None and number < lowest) or (rule.max is not None and number > rule.max):
        limits = f"{lowest} to {rule.max}"
        reading.warn("param_out_of_range", f"{name} {rule.public} {number} is outside {limits}; {default} is used")
        return default
    if float(number).is_integer():
        return int(number)
    if not whole:
        return number
    # The local renderer accepts a fractional multiplier. A number of bars must be whole.
    taken = number if rule.public in MULTIPLIERS else int(number)
    reading.warn(
        "param_integer_only", f"{name} {rule.public} {number}: chart-img.com takes whole numbers; {taken} is used"
    )
    return taken


def _is_part_of_ticker(tokens: Sequence[Token], first: int, after: int) -> bool:
    # "$MA", "BTC.MA" and "rsi:x" are not studies, but "50EMA", "(RSI" and "rsi/macd" are.
    before = text_at(tokens, first - 1)
    if is_glued(tokens, first) and (before in {"$", "#", ":", ".", "_"} or before.isalpha()):
        return True
    return is_glued(tokens, after) and text_at(tokens, after) in {":", "_"} and is_glued(tokens, after + 1)
