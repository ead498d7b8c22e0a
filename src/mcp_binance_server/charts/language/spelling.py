"""Misspelt words, mended before anything is read; every change is said."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.language.listing import KNOWN_QUOTES
from mcp_binance_server.charts.language.normalise import fold
from mcp_binance_server.charts.language.words import UNIT_OF

# Shorter words are too close to each other: "goal" must not become gold.
SHORTEST: Final = 5
LONG: Final = 8
_WORD: Final = re.compile(r"(?<![\w:$#.])[^\W\d_]{3,24}(?![\w:])")
_LEADS: Final = ("last", "past", "previous")
_COUNT: Final = re.compile(r"(?<![\w.,$])\d{1,4} ?$")
_TIME_WORDS: Final = (
    "day", "days", "week", "weeks", "month", "months", "year", "years", "hour", "hours", "minute", "minutes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mended:
    """The text with its known words, and the pairs (written, taken for)."""

    text: str
    changes: tuple[tuple[str, str], ...]


class Speller:
    """Knows the words that mean something, and those that may be meant."""

    def __init__(self, known: Iterable[str], meant: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._meant = tuple(sorted({word for word in meant if len(word) >= SHORTEST and word.isalpha()}))

    def mend(self, text: str) -> Mended:
        """Replace each unknown word by the one known word that is a slip away, if there is exactly one."""
        changes: list[tuple[str, str]] = []

        def replace(found: re.Match[str]) -> str:
            word = fold(found[0])
            before = text[: found.start()].rstrip().lower()
            counted = _COUNT.search(text[: found.start()]) is not None
            better = self._better(word, is_time=counted or before.endswith(_LEADS))
            if better is None:
                return found[0]
            changes.append((found[0], better))
            return better

        return Mended(_WORD.sub(replace, text), tuple(changes))

    def _better(self, word: str, *, is_time: bool) -> str | None:
        if word in self._known or word.removesuffix("s") in self._known or word in UNIT_OF:
            return None
        distance = _distance()
        if is_time and (unit := _only(word, _TIME_WORDS, 1, distance)) is not None:
            return unit
        if len(word) < SHORTEST or word.endswith(tuple(quote.lower() for quote in KNOWN_QUOTES)):
            return None
        alike = [each for each in self._meant if each[0] == word[0] and abs(len(each) - len(word)) <= 2]
        return _only(word, alike, 2 if len(word) >= LONG else 1, distance)


def _only(word: str, candidates: Iterable[str], most: int, distance: Callable[[str, str], int]) -> str | None:
    ranked = sorted((slips, each) for each in candidates if (slips := distance(word, each)) <= most)
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0] and not ranked[1][1].startswith(ranked[0][1])):
        return None
    return ranked[0][1]


def _distance() -> Callable[[str, str], int]:
    # Loaded late: only an unknown word needs it.
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    return OSA.distance
