"""Text reader: normalisation, tokens, negation and corrections."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, TypeVar

_CUES: Final = (
    "no", "not", "without", "w/o", "don't", "dont", "do not", "hide", "hiding", "remove", "removing", "drop",
    "never mind", "nevermind", "forget", "skip", "exclude", "excluding", "except", "minus", "omit", "instead of",
    "rather than", "turn off", "switch off", "get rid of", "isn't", "never", "avoid",
)  # fmt: skip
# Words that end a negation. In a list the negation continues across "or" and "and".
_ENDS: Final = (
    "but", "just", "only", "show", "with", "use", "add", "instead(?! of)", "from", "actually", "rather(?! than)",
    "please", "make",
)  # fmt: skip
_CORRECTIONS: Final = (
    "actually", "make it", "make that", "i mean", "scratch that", "correction", "on second thought", "change it to",
    "switch to", "no wait", "sorry",
)  # fmt: skip

_WORDS: Final = "|".join(sorted(_CUES, key=len, reverse=True))
CUE: Final = re.compile(rf"(?<!\w)(?:{_WORDS})(?!\w)")
# "nothing but price" requests the price alone.
_ONLY: Final = re.compile(r"\bnothing (?:but|except|else)\b|\bwhy not\b|\bno matter\b|\bif not\b")
_END: Final = re.compile(rf"[,;\n]| - |\.(?=\s|$)|\b(?:{'|'.join(_ENDS)})\b")
# In "don't show" and "do not add" the verb after the cue belongs to the negation.
_VERB: Final = re.compile(r"\s*(?:show|use|add|with|want|need|include|draw|put|make|give me|have)\b")
# Words that continue a negated list: "no RSI or MACD". Without one the negation ends: "no volume 4h".
JOINT: Final = re.compile(r"\s*(?:(?:,|/|&|\+|or|and|nor)\s*)+(?:(?:the|any|a|an|all|on|in|no|not)\s*)*")
_CORRECTION: Final = re.compile(rf"\b(?:{'|'.join(_CORRECTIONS)})\b|(?<!\w)instead(?! of)(?!\w)")

LONGEST: Final = 2_000
# Labels stay in the text as words: the label in "range: 3M" makes 3M a range.
LABELS: Final = (
    "symbol", "ticker", "pair", "market", "interval", "timeframe", "indicators", "indicator", "studies", "theme",
    "range", "period", "style", "exchange", "size", "resolution", "drawings", "format", "scale", "timezone",
)  # fmt: skip

# Typographic quotes, dashes and the multiplication sign, by code point: an editor shows them like ASCII characters.
_ALIKE: Final = {
    **dict.fromkeys((0x2018, 0x2019, 0x60), "'"),
    **dict.fromkeys((0x201C, 0x201D), '"'),
    **dict.fromkeys((0x2010, 0x2011, 0x2013, 0x2014, 0x2212), "-"),
    0xD7: "x",
}
_MARKER: Final = re.compile(r"^[ \t]*(?:[-*•]+|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_LABEL: Final = re.compile(rf"\b({'|'.join(LABELS)})[ \t]?[:=][ \t]*", re.IGNORECASE)
# "BTC4h" is two words.
_GLUED: Final = re.compile(r"(?<=[A-Za-z]{3})(?=\d{1,3}[mhdwMHDW](?!\w))")
_SPACES: Final = re.compile(r"[^\S\n]+")

T = TypeVar("T")
# Placeholder for a character already read. It is neither a letter nor a space, so no pattern matches across it.
TAKEN: Final = "\0"
_QUOTED: Final = 80
# Class name of study mentions. Studies form a list even without commas: "without RSI MACD".
_STUDY: Final = "Asked"


@dataclass(frozen=True, slots=True)
class Scopes:
    """Negated spans and corrections in a text.

    `cues` are the words that start a negation. `corrections` are the positions where a correction starts to apply.
    """

    stretches: tuple[tuple[int, int], ...] = ()
    cues: tuple[tuple[int, int], ...] = ()
    corrections: tuple[int, ...] = ()
    correction_words: tuple[tuple[int, int], ...] = ()

    def opened(self, place: int) -> int | None:
        """Return the start of the last negation that covers this position, or None."""
        return max((start for start, end in self.stretches if start <= place < end), default=None)


def find_scopes(folded: str) -> Scopes:
    """Find the negated spans. A span ends at a comma, the end of the line, "but", or a request word."""
    spared = [found.span() for found in _ONLY.finditer(folded)]
    cues = [found.span() for found in CUE.finditer(folded) if not _inside(found.start(), spared)]
    corrections = [found.span() for found in _CORRECTION.finditer(folded)]
    return Scopes(
        stretches=tuple((after, _scope_end(folded, after)) for _start, after in cues),
        cues=(*cues, *spared),
        corrections=tuple(_turn(folded, *span) for span in corrections),
        correction_words=tuple(corrections),
    )


def _scope_end(folded: str, after: int) -> int:
    verb = _VERB.match(folded, after)
    end = _END.search(folded, verb.end() if verb else after)
    return end.start() if end else len(folded)


def _turn(folded: str, start: int, end: int) -> int:
    # "ETH 15m instead" is a correction: the text before "instead" in the same clause counts.
    if folded[start:end] != "instead":
        return end
    breaks = [folded.rfind(sign, 0, start) for sign in (",", ";", "\n", ".")]
    return max(*breaks, -1) + 1


def _inside(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def normalise(text: str) -> str:
    """Normalise a text for pattern matching. The text can become shorter."""
    plain = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    visible = "".join(_visible(character) for character in plain)
    lines = _LABEL.sub(r"\1 ", _MARKER.sub("", visible))
    return _SPACES.sub(" ", _GLUED.sub(" ", lines)).strip()


def fold(text: str) -> str:
    """Convert to lower case character by character, so that all positions stay the same."""
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _visible(character: str) -> str:
    if character in "\n\t ":
        return character
    kind = unicodedata.category(character)
    if kind == "Cc":
        return " "
    return "" if kind in {"Cf", "Cs", "Co", "Cn"} else character


@dataclass(frozen=True, slots=True)
class Mention(Generic[T]):
    """A value named by the text, with its position."""

    value: T
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a sign. A span that was already read is one sign."""

    text: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        return self.text[0].isdigit()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()


_TOKEN: Final = re.compile(r"\d{1,12}(?:\.\d{1,8})?|[^\W\d_]+|\0+|[^\s\0]")


def tokenise(left: str) -> list[Token]:
    """Split the unread text into words, numbers and signs. Letters and digits are always separate tokens."""
    return [Token(found[0], found.start(), found.end()) for found in _TOKEN.finditer(left)]


@dataclass(slots=True)
class SentenceReader:
    """Reader of one text.

    `left` is the unread part in lower case, with the same positions as the original text.
    """

    text: str
    left: str
    now: datetime
    scopes: Scopes
    taken: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    warnings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    notes: list[str] = field(default_factory=list[str])

    def take(self, start: int, end: int, kind: str = "") -> str:
        """Mark characters as read and return their original text."""
        self.left = self.left[:start] + TAKEN * (end - start) + self.left[end:]
        self.taken.append((start, end, kind))
        return self.text[start:end]

    def mention(self, value: T, start: int, end: int) -> Mention[T]:
        """Mark characters as read and return them with their meaning."""
        self.take(start, end, type(value).__name__)
        return Mention(value, start, end)

    def warn(self, code: str, sentence: str) -> None:
        """Add a warning unless it was added before."""
        said = self.warnings.setdefault(code, [])
        if sentence not in said:
            said.append(sentence)

    def negated(self, place: int) -> bool:
        """Return True if a position directly follows a negation, or belongs to the list that continues it."""
        opened = self.scopes.opened(place)
        if opened is None:
            return False
        between = sorted(each for each in self.taken if opened <= each[0] < place)
        reached, kind = opened, None
        for start, end, next_kind in (*between, (place, place, self._kind_at(place))):
            if kind is not None and start > reached and not self._goes_on(reached, start, kind, next_kind):
                return False
            reached, kind = max(reached, end), next_kind
        return True

    def _kind_at(self, place: int) -> str:
        return next((kind for start, _end, kind in self.taken if start == place), "")

    def _goes_on(self, reached: int, start: int, kind: str, next_kind: str) -> bool:
        gap = fold(self.text[reached:start])
        return JOINT.fullmatch(gap) is not None or (gap.isspace() and kind == next_kind == _STUDY)

    def wanted(self, mentions: Sequence[Mention[T]]) -> list[Mention[T]]:
        """Return the mentions without the negated ones.

        After a correction ("actually", "make it") only the later mentions count.
        """
        positive = [each for each in mentions if not self.negated(each.start)]
        for cue in reversed(self.scopes.corrections):
            if later := [each for each in positive if each.start >= cue]:
                return later
        return positive


def quoted(text: str) -> str:
    """Quote a piece of the text, cut to 80 characters."""
    flat = " ".join("".join(each for each in text if each.isprintable() or each.isspace()).split())
    return f"'{flat}'" if len(flat) <= _QUOTED else f"'{flat[: _QUOTED - 1]}…'"


class Phrases(Generic[T]):
    """Phrases and their meanings. Matching ignores hyphens inside a phrase and a plural s at its end."""

    def __init__(self, pairs: Iterable[tuple[str, T]]) -> None:
        self._meaning: dict[tuple[str, ...], T] = {}
        self._begins: set[tuple[str, ...]] = set()
        for phrase, value in pairs:
            words = tuple(token.text for token in tokenise(fold(phrase)) if token.text not in "-'")
            self._meaning.setdefault(words, value)
            self._begins.update(words[:count] for count in range(1, len(words) + 1))

    def words(self) -> set[str]:
        """Return every word of every phrase."""
        return {word for words in self._meaning for word in words}

    def meaning(self, phrase: str) -> T | None:
        """Return the meaning of a whole phrase, or None."""
        return self._meaning.get(tuple(token.text for token in tokenise(fold(phrase))))

    def ends(self, tokens: Sequence[Token]) -> bool:
        """Return True if the last tokens form a phrase."""
        begins = range(max(0, len(tokens) - 6), len(tokens))
        return any((found := self.at(tokens, place)) is not None and found[1] == len(tokens) for place in begins)

    def at(self, tokens: Sequence[Token], place: int) -> tuple[T, int] | None:
        """Return the meaning of the longest phrase at a token and the index after it, or None."""
        said: tuple[str, ...] = ()
        found: tuple[T, int] | None = None
        for after in range(place, len(tokens)):
            word = tokens[after].text
            if word in "-'" and said:
                continue
            singular = (*said, word.removesuffix("s")) if len(word) > 2 else (*said, word)
            said = (*said, word)
            if said in self._meaning:
                found = (self._meaning[said], after + 1)
            elif singular in self._meaning:
                found = (self._meaning[singular], after + 1)
            if said not in self._begins:
                break
        return found
