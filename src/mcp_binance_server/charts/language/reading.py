"""What has been read of a text so far: every rule takes the characters it understood, later rules see the rest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, TypeVar

from mcp_binance_server.charts.language.negation import JOINT, Scopes
from mcp_binance_server.charts.language.normalise import fold

T = TypeVar("T")
# Stands for a character that was understood: no word, no space, so no pattern reaches across it.
TAKEN: Final = "\0"
_QUOTED: Final = 80
# Studies need no word between them to be one list: "without RSI MACD".
_STUDY: Final = "Asked"


@dataclass(frozen=True, slots=True)
class Mention(Generic[T]):
    """One thing the text names, where it stands, and whether the text says not to."""

    value: T
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a sign of the text; a stretch already understood is one sign."""

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
    """Split what is left into words, numbers and signs; letters and digits are always apart."""
    return [Token(found[0], found.start(), found.end()) for found in _TOKEN.finditer(left)]


@dataclass(slots=True)
class SentenceReader:
    """The text, what is left of it (folded, same places), and what was found worth saying."""

    text: str
    left: str
    now: datetime
    scopes: Scopes
    taken: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    warnings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    notes: list[str] = field(default_factory=list[str])

    def take(self, start: int, end: int, kind: str = "") -> str:
        """Mark characters as understood and return them as they were written."""
        self.left = self.left[:start] + TAKEN * (end - start) + self.left[end:]
        self.taken.append((start, end, kind))
        return self.text[start:end]

    def mention(self, value: T, start: int, end: int) -> Mention[T]:
        """Take characters and say what they mean."""
        self.take(start, end, type(value).__name__)
        return Mention(value, start, end)

    def warn(self, code: str, sentence: str) -> None:
        """Add a warning; the same sentence is said once."""
        said = self.warnings.setdefault(code, [])
        if sentence not in said:
            said.append(sentence)

    def negated(self, place: int) -> bool:
        """Whether the text says not to: what follows the negation, and what a list adds to it, but no more."""
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
        """Return what is asked for: not negated, and after a correction ("actually", "make it") only the later."""
        positive = [each for each in mentions if not self.negated(each.start)]
        for cue in reversed(self.scopes.corrections):
            if later := [each for each in positive if each.start >= cue]:
                return later
        return positive


def quoted(text: str) -> str:
    """Quote a piece of the text, cut short."""
    flat = " ".join("".join(each for each in text if each.isprintable() or each.isspace()).split())
    return f"'{flat}'" if len(flat) <= _QUOTED else f"'{flat[: _QUOTED - 1]}…'"
