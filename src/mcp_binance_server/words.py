"""Cleaning of texts from outside before they are passed on: without invisible characters."""

import re

# Controls except tab and line feed; bidi and zero-width marks; soft hyphen, fillers and joiners that show nothing; tag
# characters and variation selectors, which can hide a whole message. U+FE0F stays: it turns a sign into an emoji.
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
    """Return a text with line feeds only, without invisible and control characters."""
    if text.isascii():  # ten times as fast, and most long texts are ASCII
        return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))


def one_line(text: str, longest: int = 200) -> str:
    """Return a text as one visible line of limited length."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shown(text: str) -> str:
    """Return the visible part of a text on one line, without unprintable and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in _INVISIBLE.sub("", text) if character.isprintable())


def word(text: str) -> str:
    """Return a name, a state or a short sentence from outside for output: visible, one line, at most 200 characters."""
    seen = shown(text[: 2 * LONGEST_WORD])
    return seen if len(seen) <= LONGEST_WORD else f"{seen[: LONGEST_WORD - 1]}…"
