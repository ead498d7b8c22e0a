"""What the text and the structure of one answer each say, so that a test can look for what only one of them has.

A fact of the structure is a leaf with its name: it is said where a line of the text, together with the heading and the
table head above it, has both. A fact of the text is a number, or a word that is no label.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any, cast

from mcp_binance_server.surface.views.measures import WHY
from support.channel_words import GLOSSARY, LABELS, SAID_BY, UNITS

Path = tuple[str, ...]

NUMBER = re.compile(r"(?<![\w.])[-+]?\$?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?!\w)(?:\s?%)?")
WRITTEN = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?")
WORD = re.compile(r"[^\W\d_]{4,}")
# Members that say something of the member above them, by whose name they are known.
UNNAMED = frozenset({"value", "unit", "confidence", "why_null", "method", "progress"})
SILENT = frozenset({"success"})
A_HUNDREDTH = Decimal("0.01")
INTERVALS = {"1m": timedelta(minutes=1), "1h": timedelta(hours=1)}
SCALES = (Decimal(1), Decimal(1000), Decimal(60_000), Decimal(3_600_000))


@dataclass(frozen=True, slots=True)
class Fact:
    """A leaf of a structure, by its path."""

    path: Path
    value: str | int | float | bool

    @property
    def name(self) -> str:
        if self.path[0] != "metrics":
            return self.path[-1]
        return next(each for each in reversed(self.path) if each not in UNNAMED)

    def __str__(self) -> str:
        return f"{'.'.join(self.path)} = {str(self.value)[:80]}"


def facts(node: object, path: Path = ()) -> Iterator[Fact]:
    """Return every leaf that says something."""
    if isinstance(node, Mapping):
        for name, each in cast("Mapping[str, object]", node).items():
            yield from facts(each, (*path, name))
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from facts(each, path)
    elif isinstance(node, str | int | float) and node != "" and path[-1] not in SILENT:
        yield Fact(path, node)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, and with it the heading and the table head that it stands under."""

    text: str
    scope: str
    numbers: list[str]


class Text:
    """A text as a reader takes it in: line by line, each under its heading."""

    def __init__(self, text: str) -> None:
        self.whole = squeezed(text)
        self.lines = [*_lines(text)]
        self._naming: dict[str, list[Line]] = {}

    def says(self, fact: Fact) -> bool:
        """Tell whether a line has both the value and the name of a fact."""
        said = [*SAID_BY.get((fact.name, fact.value), ())]
        if any(re.search(pattern, self.whole, re.IGNORECASE) for pattern in said):
            return True
        if isinstance(fact.value, str) and len(fact.value) > 60:
            return squeezed(fact.value).casefold() in self.whole.casefold()
        needs_name = _is_number(fact) or fact.name != fact.path[-1]
        return any(map(_told_by(fact), self._lines_naming(fact.name) if needs_name else self.lines))

    def _lines_naming(self, name: str) -> list[Line]:
        if name not in self._naming:
            self._naming[name] = [line for line in self.lines if _names(line.scope, name)]
        return self._naming[name]

    def missing(self, structure: Mapping[str, Any]) -> list[str]:
        """Return the facts of a structure that this text does not say."""
        return [str(fact) for fact in facts(meant(structure)) if not self.says(fact)]


class Structure:
    """A structure as a reader takes it in: names, words and numbers."""

    def __init__(self, structure: Mapping[str, Any]) -> None:
        self.facts = [*facts(meant(structure)), *_opened(structure)]
        said = [f"{each.value} {WHY.get(str(each.value), '')}" for each in self.facts]
        whole = squeezed(" ".join([*_names_in(structure), *said])).casefold()
        self.whole = f"{whole} {whole.replace('_', ' ')}"
        self._written = {
            number
            for each in (self.whole, re.sub(r"(?<=\d),(?=\d)", "", self.whole))
            for number in WRITTEN.findall(each)
        }
        self._lengths = {Decimal(length) for length in _lengths(structure)}

    @cached_property
    def numbers(self) -> list[Decimal]:
        known = [(number, each) for each in self.facts if (number := decimal(each.value)) is not None]
        return [number / scale for number, each in known for scale in _scales(each)]

    @cached_property
    def instants(self) -> list[str]:
        return [str(each.value) for each in self.facts if INSTANT.fullmatch(str(each.value))]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(WORD.findall(self.whole.replace("_", " ")))

    def missing(self, text: str) -> list[str]:
        """Return the numbers and words of a text that this structure does not have."""
        plain = squeezed(text)
        moments = [each for each in INSTANT.findall(plain) if not self._has_moment(each)]
        rest = INSTANT.sub(" ", plain)
        numbers = [each for each in NUMBER.findall(rest) if not self._has_number(each.strip())]
        unsaid = {word for word in WORD.findall(rest.replace("_", " ")) if not self._has_word(word)}
        return [*moments, *numbers, *sorted(unsaid)]

    def _has_moment(self, moment: str) -> bool:
        return any(_same_moment(moment, each) for each in self.instants) or moment.casefold() in self.whole

    def _has_number(self, token: str) -> bool:
        number = token.lstrip("+-$").rstrip(" %,").replace(",", "")
        if number in self._written:
            return True
        return Decimal(number) in self._lengths or any(_reads_as(token, each) for each in self.numbers)

    def _has_word(self, shown: str) -> bool:
        word = shown.casefold()
        if shown.isupper() and word in self.whole:  # an asset, which a symbol names
            return True
        return word in self.words or word in GLOSSARY or word.removesuffix("s") in self.words


def meant(structure: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a structure with levels as prices and quantities where it counts them in ticks and steps."""
    if "price_scale" not in structure:
        return structure
    scales = Decimal(structure["price_scale"]), Decimal(structure["qty_scale"])

    def level(pair: list[int]) -> list[str]:
        return [f"{number * scale:f}" for number, scale in zip(pair, scales, strict=True)]

    return {**structure, **{side: [level(each) for each in structure[side]] for side in ("bids", "asks")}}


def squeezed(text: str) -> str:
    """Return a text without its Markdown and with single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"\\(?=[\\`*_{}\[\]<>|#])", "", text).replace("**", ""))


def decimal(value: object) -> Decimal | None:
    """Return a number, or decimal text, as a number."""
    if isinstance(value, bool):
        return None
    try:
        return Decimal(str(value)) if re.fullmatch(r"[-+]?\d+(\.\d+)?(e-?\d+)?", str(value)) else None
    except InvalidOperation:
        return None


def _opened(structure: Mapping[str, Any]) -> Iterator[Fact]:
    """Return when each candle opened: the first is told, the others follow by the interval."""
    if structure.get("first_open_time") and structure.get("interval") in INTERVALS and "columns" in structure:
        first = datetime.fromisoformat(structure["first_open_time"])
        for place in range(-1, structure["count"] + 1):
            moment = first + place * INTERVALS[structure["interval"]]
            yield Fact(("open_time",), f"{moment:%Y-%m-%dT%H:%M:%S}.000Z")


def _is_number(fact: Fact) -> bool:
    """Tell whether a value says nothing without its name."""
    return isinstance(fact.value, bool) or decimal(fact.value) is not None or bool(INSTANT.fullmatch(str(fact.value)))


def _scales(fact: Fact) -> tuple[Decimal, ...]:
    return SCALES if fact.path[-1].endswith("ms") else SCALES[:1]


def _lines(text: str) -> Iterator[Line]:
    heading, head, before = "", "", ""
    for raw in re.sub(r"\\(?=[\\`*_{}\[\]<>|#])", "", text).splitlines():
        line = raw.replace("**", "").strip()
        if line.startswith("#") or (raw.startswith("**") and raw.rstrip().endswith("**")):
            heading, head = line, ""
        elif re.fullmatch(r"\|?[-| ]+\|?", line) and line:
            head = before
        elif re.fullmatch(r'[a-z_]+(,("[^"]*"|[\w().]+))+', line):
            head = line
        plain = squeezed(line)
        yield Line(plain, f"{heading} {head} {line}".replace("_", " ").casefold(), NUMBER.findall(plain))
        before = line


def _names(scope: str, name: str) -> bool:
    return any(all(word in scope for word in words) for words in _labels(name))


@lru_cache
def _labels(name: str) -> list[list[str]]:
    return [_words_of(each) for each in LABELS.get(name, (name,))]


def _words_of(name: str) -> list[str]:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").casefold()
    return apart.split()


def _told_by(fact: Fact) -> Callable[[Line], bool]:
    """Return what tells whether a line has the value of a fact."""
    value = str(fact.value)
    if fact.path[-1] == "unit":
        return _found(UNITS.get(value, re.escape(value)))
    if isinstance(fact.value, bool):
        return _found(r"(?i)\b(yes|true)\b" if fact.value else r"(?i)\b(no|false)\b")
    if (number := decimal(fact.value)) is not None:
        meant = [number / scale for scale in _scales(fact)]
        return lambda line: value in line.text or any(_reads_as(each, one) for each in line.numbers for one in meant)
    if INSTANT.fullmatch(value):
        return lambda line: any(_same_moment(each, value) for each in INSTANT.findall(line.text))
    words = squeezed(value).strip().casefold()
    ways = words, words.replace("_", " "), WHY.get(words, words)
    return lambda line: any(way in line.text.casefold() for way in ways)


def _found(pattern: str) -> Callable[[Line], bool]:
    wanted = re.compile(pattern)
    return lambda line: wanted.search(line.text) is not None


def _reads_as(token: str, value: Decimal) -> bool:
    """Tell whether a written number is a value, rounded at most so far that two digits of it are left."""
    shown, is_share, rounding = _written(token)
    for meant in (value, value * 100) if is_share else (value,):
        if shown == meant or shown == abs(meant):
            return True
        if is_share and abs(meant - shown) <= A_HUNDREDTH / 2:
            return True
        if rounding is not None and abs(abs(meant) - abs(shown)) <= rounding:
            return True
    return False


@lru_cache(maxsize=4096)
def _written(token: str) -> tuple[Decimal, bool, Decimal | None]:
    """Return a written number, whether it is a share of a hundred, and how far it may be from what it rounds."""
    token = token.strip()
    shown = Decimal(token.lstrip("+").replace("$", "").rstrip(" %").replace(",", ""))
    _, digits, exponent = shown.as_tuple()
    is_rounded = bool(shown) and len(digits) >= 2
    return shown, token.endswith("%"), Decimal(1).scaleb(min(0, int(exponent))) / 2 if is_rounded else None


def _same_moment(shown: str, moment: str) -> bool:
    """Tell whether a time is another, to the digits that it shows."""
    first, second = (each.rstrip("Z").replace(" ", "T") for each in (shown, moment))
    if second.startswith(first) or first == second:
        return True
    if len(first) >= 19 and len(second) >= 19:
        return abs(datetime.fromisoformat(first[:19]) - datetime.fromisoformat(second[:19])) < timedelta(seconds=1)
    return False


def _names_in(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for name, each in cast("Mapping[str, object]", node).items():
            yield " ".join(_words_of(name))
            yield name
            yield from _names_in(each)
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for each in cast("Sequence[object]", node):
            yield from _names_in(each)


def _lengths(node: object) -> Iterator[int]:
    if isinstance(node, Mapping):
        for each in cast("Mapping[str, object]", node).values():
            yield from _lengths(each)
    elif isinstance(node, list):
        yield len(cast("list[object]", node))
        for each in cast("list[object]", node):
            yield from _lengths(each)
