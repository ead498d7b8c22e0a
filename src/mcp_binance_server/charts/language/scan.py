"""One walk over what is left of a text, looking for markets; and an asset as it was found there."""

import re
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.language.listing import Listing
from mcp_binance_server.charts.language.names import Named
from mcp_binance_server.charts.language.reading import SentenceReader, Token, tokenise
from mcp_binance_server.charts.language.vocabulary import Vocabulary
from mcp_binance_server.charts.language.words import FILLER

_COMPARING: Final = re.compile(r"\b(?:compare|comparing|comparison|compared)\b")
# Everyday words in capitals: somebody is shouting, and capitals say nothing about a ticker.
_SHOUTING: Final = 2


@dataclass(frozen=True, slots=True)
class Asset:
    """A token, or a few, read as an asset.

    `weak` gives way to anything certain; `doubtful` is a plain word that counts only when nothing else is there.
    """

    named: Named
    after: int
    weak: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """The tokens that are left, and what is known of the whole text."""

    reading: SentenceReader
    vocabulary: Vocabulary
    listing: Listing
    tokens: list[Token]
    all_caps: bool
    comparing: bool

    @classmethod
    def of(cls, reading: SentenceReader, vocabulary: Vocabulary, listing: Listing) -> "Scan":
        """Begin a walk."""
        tokens = tokenise(reading.left)
        return cls(
            reading,
            vocabulary,
            listing,
            tokens,
            all_caps=reading.text.isupper() and sum(each.text in FILLER for each in tokens) >= _SHOUTING,
            comparing=_COMPARING.search(reading.left) is not None,
        )

    def text(self, place: int) -> str:
        """Return a token, folded; beyond the ends there is nothing."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def written(self, place: int) -> str:
        """Return a token as it was written."""
        return self.reading.text[self.tokens[place].start : self.tokens[place].end]

    def glued(self, place: int) -> bool:
        """Whether a token follows the one before it without a space."""
        return 0 < place < len(self.tokens) and self.tokens[place - 1].end == self.tokens[place].start
