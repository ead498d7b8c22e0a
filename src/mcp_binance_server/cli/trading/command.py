"""The arguments of the trading commands."""

import argparse
from typing import Any

MOST_LINES = 1_000_000
RAW = argparse.RawDescriptionHelpFormatter
CODES = "Exit code: 0 done, 1 not done (with the reason), 2 wrong usage or setting."
APPROVE = f"""Without an ID, waiting orders are listed; a single one is shown at once. The order
is shown in full, then the terminal asks for the passphrase: it is never an
argument or a variable. Five wrong ones stop trading. You approve this order and
no other. The server cannot approve: it has only the public half of the key.

The signer is the approver that trading.toml names for the order's account. The
key is approver.pem in the trading folder, or the file of --approver; a different
key is reported before the passphrase is asked for.

With --page, your browser shows the order and asks for the passphrase. The address
is valid for one decision and one browser. The page ends with the decision or the
preview, and if standard input is a pipe, with the pipe.

{CODES}
"""
STOP = f"""Within a second no server of this machine takes a new order for any account, and
no queued order is sent; servers that share its state follow. Open orders stay
unless --cancel-all is given. Cancels still work while trading is stopped.

{CODES}
"""
RESUME = f"""Shows every stop, of all accounts and of single ones, with reason and time, and
lifts them all; with --account only the one of that account. If trading.toml names
an approver, the terminal asks for the passphrase.

{CODES}
"""
CANCEL = f"""Orders of every account, stops too, also while trading is stopped. An order at
Binance needs the settings of its server: MCP_BINANCE_TRADING, BINANCE_NETWORK and
the key.

{CODES}
"""
PAPER = f"""`reset` restores the account's initial balances and cancels its open orders.
The journal is kept.

{CODES}
"""
JOURNAL_EPILOG = """examples:
  mcp-binance-server journal                               the newest 50 orders
  mcp-binance-server journal --csv > orders.csv            all orders, for a spreadsheet
  mcp-binance-server journal --backup trading-backup.db    a checked copy, while servers run

The folder is MCP_BINANCE_TRADING_DIR. Exit code: 0 done, 1 the journal is not intact
or cannot be used, 2 wrong usage.
"""


def add_trading_commands(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add the trading commands to the parser."""
    _add_journal_command(commands)
    approve = commands.add_parser(
        "approve", help="approve an order that waits for you", epilog=APPROVE, formatter_class=RAW
    )
    approve.add_argument("order", nargs="?", metavar="ID", help="order ID, as shown by the assistant or the list")
    approve.add_argument(
        "--new", action="store_true", help="create the approval key, and print its line for trading.toml"
    )
    approve.add_argument(
        "--approver",
        metavar="FILE",
        help="file of the approval key, with --new a new file (default: approver.pem)",
    )
    approve.add_argument(
        "--page", action="store_true", help="show the order as a page in your browser, on this machine only"
    )
    approve.add_argument("--print-address", action="store_true", help="with --page: print its address, open nothing")
    stop = commands.add_parser("stop", help="stop new orders on this machine", epilog=STOP, formatter_class=RAW)
    stop.add_argument("reason", nargs="*", metavar="REASON", help="reason, stored in the journal")
    stop.add_argument("--cancel-all", action="store_true", help="also cancel every open order, stops too")
    resume = commands.add_parser(
        "resume", help="allow new orders again after a stop", epilog=RESUME, formatter_class=RAW
    )
    resume.add_argument("--account", type=_account, metavar="ID", help="lift only the stop of this account")
    cancel = commands.add_parser("cancel", help="cancel an order yourself", epilog=CANCEL, formatter_class=RAW)
    cancel.add_argument("order", metavar="CLIENT_ORDER_ID", help="ID of the order, such as mbp-4k2q…")
    paper = commands.add_parser("paper", help="show the paper account, or reset it", epilog=PAPER, formatter_class=RAW)
    paper.add_argument("action", nargs="?", choices=("reset",), help="restore the initial balances")
    paper.add_argument("--token", metavar="NAME", help="the account of a token's holder (default: your own)")
    paper.add_argument("--yes", action="store_true", help="reset without asking")
    for each in (approve, stop, resume, cancel, paper):
        _add_demo(each)


def _add_journal_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    journal = commands.add_parser(
        "journal",
        help="the order journal: list, check, back up",
        epilog=JOURNAL_EPILOG,
        formatter_class=RAW,
    )
    ways = journal.add_mutually_exclusive_group()
    ways.add_argument("--csv", action="store_true", help="print every field of every order, for a spreadsheet")
    ways.add_argument("--verify", action="store_true", help="check every event for changes and gaps")
    ways.add_argument("--backup", metavar="FILE", help="copy the journal to a new file, and check the copy")
    _add_demo(journal)
    journal.add_argument("--limit", type=_limit, metavar="N", help="number of newest orders (default: 50)")


def _add_demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--demo", action="store_true", help="the paper account of this user's demos")


def _account(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an account ID cannot be empty; without --account all are resumed")
    return text.strip()


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise argparse.ArgumentTypeError(f"a limit is a number from 1 to {MOST_LINES:,}, not {text[:20]!r}")
    return int(text)
