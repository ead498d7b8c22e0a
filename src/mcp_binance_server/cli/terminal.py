"""What a terminal can show: colour only where somebody looks, better signs only where they can be written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TextIO

Colour = Literal["red", "green", "yellow", "cyan", "dim", "bold", "alarm"]
_CODES: Final = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1", "alarm": "1;97;41"}
NARROWEST, WIDEST = 40, 100


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to write to one stream."""

    is_terminal: bool = False
    has_colour: bool = False
    has_signs: bool = False
    width: int = 80

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> "Terminal":
        is_terminal = stream.isatty() and environment.get("TERM") != "dumb"
        # https://no-color.org: any value but an empty one
        return cls(is_terminal, is_terminal and not environment.get("NO_COLOR"), _can_write(stream, "✓✗…"), _width())

    def paint(self, text: str, colour: Colour) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.has_colour and text else text


def _can_write(stream: TextIO, signs: str) -> bool:
    try:
        signs.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width() -> int:
    import shutil  # noqa: PLC0415 - --help needs none

    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))
