"""Cleaning of external texts: invisible characters are removed."""

import re

# Control characters except tab and line feed, bidi and zero-width marks, soft hyphens, invisible fillers and joiners,
# tag characters, and variation selectors. Tags and selectors can hide a whole message. U+FE0F stays, because it turns a
# sign into an emoji.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127])
LONGEST_WORD = 200


def visible(text: str) -> str:
    """Return a text without invisible and control characters. All line endings become line feeds."""
    if text.isascii():  # ten times as fast for ASCII texts, which most long texts are
        return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))


def one_line(text: str, longest: int = 200) -> str:
    """Return a text as one line of limited length, without invisible characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shown(text: str) -> str:
    """Return a text without unprintable and invisible characters, including line breaks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in _INVISIBLE.sub("", text) if character.isprintable())


def word(text: str) -> str:
    """Return an external name, state or short sentence as one visible line with at most 200 characters."""
    seen = shown(text[: 2 * LONGEST_WORD])
    return seen if len(seen) <= LONGEST_WORD else f"{seen[: LONGEST_WORD - 1]}…"
