"""The arguments of the commands for who trades."""

import argparse
from typing import Any

MOST_LINES = 1_000_000
JOURNAL_EPILOG = """examples:
  mcp-binance-server journal                               the newest 50 orders
  mcp-binance-server journal --csv > orders.csv            all orders, for a spreadsheet
  mcp-binance-server journal --backup trading-backup.db    a copy that was checked, while servers run

The folder is MCP_BINANCE_TRADING_DIR. Exit code: 0 done, 1 the journal is not whole
or cannot be used, 2 wrong usage.
"""


def add_journal_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `journal` to the commands."""
    journal = commands.add_parser(
        "journal",
        help="the orders that were placed here: list, check, back up",
        epilog=JOURNAL_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ways = journal.add_mutually_exclusive_group()
    ways.add_argument("--csv", action="store_true", help="print every field of every order, for a spreadsheet")
    ways.add_argument("--verify", action="store_true", help="look at every event: is anything changed or missing?")
    ways.add_argument("--backup", metavar="FILE", help="copy the journal to a new file, and check the copy")
    journal.add_argument("--limit", type=_limit, metavar="N", help="at most so many orders, the newest (default: 50)")


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise argparse.ArgumentTypeError(f"a limit is a number from 1 to {MOST_LINES:,}, not {text[:20]!r}")
    return int(text)
