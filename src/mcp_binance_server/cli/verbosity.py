"""How much a command says: what was typed wins over the environment."""

import argparse
import sys
from dataclasses import dataclass

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
# The commands that they mean something to; None is the server itself.
HEED_QUIET = (None, "demo", "doctor")
HEED_LOG_LEVEL = (None, "demo", "ask")


@dataclass(frozen=True, slots=True)
class Manners:
    """What was asked for on the command line."""

    is_quiet: bool = False
    log_level: str | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Manners":
        return cls(options.quiet, options.log_level)

    def level(self, usual: str) -> str:
        """Return the level of the logs; `usual` is the environment's."""
        return self.log_level or ("ERROR" if self.is_quiet else usual)

    def tell(self, text: str) -> None:
        """Say something to whoever started the command; standard output may belong to a protocol."""
        if not self.is_quiet:
            sys.stderr.write(text)
            sys.stderr.flush()


def add_quiet(parser: argparse.ArgumentParser, **default: object) -> None:
    """Add `--quiet` to a parser."""
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but problems", **default)  # pyright: ignore[reportArgumentType] - a default of any kind


def add_log_level(parser: argparse.ArgumentParser, **default: object) -> None:
    """Add `--log-level` to a parser."""
    parser.add_argument(
        "--log-level",
        type=str.upper,
        choices=LEVELS,
        metavar="LEVEL",
        help="debug, info, warning or error, on standard error (default: MCP_BINANCE_LOG_LEVEL, or warning)",
        **default,  # pyright: ignore[reportArgumentType] - likewise
    )
