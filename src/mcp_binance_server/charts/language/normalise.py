"""One clean text: no invisible characters, plain quotes, no list markers, case kept."""

import re
import unicodedata
from typing import Final

LONGEST: Final = 2_000
# Kept as words, so that "range: 3M" still says that 3M is a range.
LABELS: Final = (
    "symbol", "ticker", "pair", "market", "interval", "timeframe", "indicators", "indicator", "studies", "theme",
    "range", "period", "style", "exchange", "size", "resolution", "drawings", "format", "scale", "timezone",
)  # fmt: skip

# Typographic quotes, dashes and the sign of multiplication, by number: they look like others in an editor.
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


def normalise(text: str) -> str:
    """Return the text as every rule reads it; its length may shrink, its meaning not."""
    plain = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    visible = "".join(_visible(character) for character in plain)
    lines = _LABEL.sub(r"\1 ", _MARKER.sub("", visible))
    return _SPACES.sub(" ", _GLUED.sub(" ", lines)).strip()


def fold(text: str) -> str:
    """Lower the case, character by character, so that every place stays where it was."""
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _visible(character: str) -> str:
    if character in "\n\t ":
        return character
    kind = unicodedata.category(character)
    if kind == "Cc":
        return " "
    return "" if kind in {"Cf", "Cs", "Co", "Cn"} else character
