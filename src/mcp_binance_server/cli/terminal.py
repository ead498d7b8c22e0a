"""Verbosity options and terminal capabilities."""

import argparse
import codecs
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TextIO

Colour = Literal["red", "green", "yellow", "cyan", "dim", "bold", "alarm"]
_CODES: Final = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1", "alarm": "1;97;41"}
NARROWEST, WIDEST = 40, 100

ESCAPED: Final = "mcp_binance_server.escaped"

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
# Commands that accept each option. None means the server itself.
HEED_QUIET = (None, "demo", "doctor")
HEED_LOG_LEVEL = (None, "demo", "ask")


def escape_unencodable(*streams: TextIO) -> None:
    r"""Escape characters that a stream's encoding lacks as `\u2192`, which is also valid in JSON.

    Redirected output on Windows is cp1252. Other characters would end the command with UnicodeEncodeError.
    """
    codecs.register_error(ESCAPED, _escaped)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - an output stream only encodes
    # A character above U+FFFF becomes a UTF-16 pair, as in JSON. A lone surrogate is a byte of a file name.
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end


@dataclass(frozen=True, slots=True)
class Terminal:
    """Capabilities of one output stream."""

    is_terminal: bool = False
    has_colour: bool = False
    has_signs: bool = False
    width: int = 80

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> "Terminal":
        is_terminal = stream.isatty() and environment.get("TERM") != "dumb"
        # https://no-color.org: any value except an empty one disables colour
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
    import shutil  # noqa: PLC0415 - not needed by --help

    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


@dataclass(frozen=True, slots=True)
class Verbosity:
    """The verbosity options of the command line."""

    is_quiet: bool = False
    log_level: str | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Verbosity":
        return cls(options.quiet, options.log_level)

    def level(self, usual: str) -> str:
        """Return the log level. `usual` is the level in the environment."""
        return self.log_level or ("ERROR" if self.is_quiet else usual)

    def tell(self, text: str) -> None:
        """Print a message on standard error. Standard output may carry a protocol."""
        if not self.is_quiet:
            sys.stderr.write(text)
            sys.stderr.flush()


def add_quiet(parser: argparse.ArgumentParser, **default: object) -> None:
    """Add `--quiet` to a parser."""
    parser.add_argument("-q", "--quiet", action="store_true", help="print problems only", **default)  # pyright: ignore[reportArgumentType] - a default of any kind


def add_log_level(parser: argparse.ArgumentParser, **default: object) -> None:
    """Add `--log-level` to a parser."""
    parser.add_argument(
        "--log-level",
        type=str.upper,
        choices=LEVELS,
        metavar="LEVEL",
        help="log level on standard error: debug, info, warning or error (default: MCP_BINANCE_LOG_LEVEL, or warning)",
        **default,  # pyright: ignore[reportArgumentType] - as above
    )
