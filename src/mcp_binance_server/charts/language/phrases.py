"""A table of phrases, looked up word by word: the longest one that stands at a place wins."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from mcp_binance_server.charts.language.normalise import fold
from mcp_binance_server.charts.language.reading import Token, tokenise

T = TypeVar("T")


class Phrases(Generic[T]):
    """Phrases and what they mean. Hyphens inside a phrase and a plural s at its end do not matter."""

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
        """Return what a whole phrase means."""
        return self._meaning.get(tuple(token.text for token in tokenise(fold(phrase))))

    def ends(self, tokens: Sequence[Token]) -> bool:
        """Whether the last words are a phrase."""
        begins = range(max(0, len(tokens) - 6), len(tokens))
        return any((found := self.at(tokens, place)) is not None and found[1] == len(tokens) for place in begins)

    def at(self, tokens: Sequence[Token], place: int) -> tuple[T, int] | None:
        """Return the meaning of the longest phrase that begins at a token, and the place after it."""
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
