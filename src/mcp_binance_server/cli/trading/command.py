"""The arguments of the trading commands."""

import argparse
from typing import Any

MOST_LINES = 1_000_000
RAW = argparse.RawDescriptionHelpFormatter
CODES = "Exit code: 0 done, 1 not done (it says why), 2 wrong usage or setting."
APPROVE = f"""Without an ID what waits is listed; one order alone is asked for at once. The
order is shown in full, then the passphrase is asked for at the terminal: it is
never an argument or a variable. Five wrong ones stop trading. What you approve
is this order and no other. The server cannot approve: it knows the public half
of the key alone.

It is signed by the approver that trading.toml names for the order's account. The
key is approver.pem in the trading folder, or the file of --approver; where that
is another's, it is said before the passphrase is asked for.

With --page the order is shown, and the passphrase asked for, in your browser. The
address is good for one decision and one browser. The page ends with the decision
or the preview, and where standard input is a pipe, with that.

{CODES}
"""
STOP = f"""Within a second no server of this machine takes a new order, for whomever, and
none that is queued leaves; servers that share its state follow. Open orders stay
unless --cancel-all is given. Cancels go on working while trading is stopped.

{CODES}
"""
RESUME = f"""Shows every stop, for everybody and for single accounts, with why and since when,
and lifts them all; with --account only the one of that account. Where
trading.toml names an approver, the passphrase is asked for at the terminal.

{CODES}
"""
CANCEL = f"""Whichever account it belongs to, a stop too, also while trading is stopped.
One that stands at Binance needs the settings of its server: MCP_BINANCE_TRADING,
BINANCE_NETWORK and the key.

{CODES}
"""
PAPER = f"""`reset` gives the account its first balances again and cancels its open orders.
The journal is kept.

{CODES}
"""
JOURNAL_EPILOG = """examples:
  mcp-binance-server journal                               the newest 50 orders
  mcp-binance-server journal --csv > orders.csv            all orders, for a spreadsheet
  mcp-binance-server journal --backup trading-backup.db    a copy that was checked, while servers run

The folder is MCP_BINANCE_TRADING_DIR. Exit code: 0 done, 1 the journal is not whole
or cannot be used, 2 wrong usage.
"""


def add_trading_commands(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add the trading commands to the others."""
    _add_journal_command(commands)
    approve = commands.add_parser(
        "approve", help="say yes to an order that waits for you", epilog=APPROVE, formatter_class=RAW
    )
    approve.add_argument("order", nargs="?", metavar="ID", help="the order, as the assistant or the list names it")
    approve.add_argument(
        "--new", action="store_true", help="make the key that approves, and print its line for trading.toml"
    )
    approve.add_argument(
        "--approver",
        metavar="FILE",
        help="the key that approves, or with --new where to write it (default: approver.pem)",
    )
    approve.add_argument(
        "--page", action="store_true", help="show the order as a page in your browser, on this machine alone"
    )
    approve.add_argument("--print-address", action="store_true", help="with --page: print its address, open nothing")
    stop = commands.add_parser("stop", help="take no new orders, on this machine", epilog=STOP, formatter_class=RAW)
    stop.add_argument("reason", nargs="*", metavar="REASON", help="why, for the journal and for who asks")
    stop.add_argument("--cancel-all", action="store_true", help="cancel every open order too, stops among them")
    resume = commands.add_parser(
        "resume", help="take new orders again after a stop", epilog=RESUME, formatter_class=RAW
    )
    resume.add_argument("--account", type=_account, metavar="ID", help="lift the stop of this account alone")
    cancel = commands.add_parser("cancel", help="cancel an order yourself", epilog=CANCEL, formatter_class=RAW)
    cancel.add_argument("order", metavar="CLIENT_ORDER_ID", help="the order, such as mbp-4k2q…")
    paper = commands.add_parser(
        "paper", help="show the paper account, or start it again", epilog=PAPER, formatter_class=RAW
    )
    paper.add_argument("action", nargs="?", choices=("reset",), help="start again with the first balances")
    paper.add_argument("--token", metavar="NAME", help="the account of a token's holder (default: your own)")
    paper.add_argument("--yes", action="store_true", help="reset without asking")


def _add_journal_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    journal = commands.add_parser(
        "journal",
        help="the orders that were placed here: list, check, back up",
        epilog=JOURNAL_EPILOG,
        formatter_class=RAW,
    )
    ways = journal.add_mutually_exclusive_group()
    ways.add_argument("--csv", action="store_true", help="print every field of every order, for a spreadsheet")
    ways.add_argument("--verify", action="store_true", help="look at every event: is anything changed or missing?")
    ways.add_argument("--backup", metavar="FILE", help="copy the journal to a new file, and check the copy")
    journal.add_argument("--limit", type=_limit, metavar="N", help="at most so many orders, the newest (default: 50)")


def _account(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an account has a name; without --account all are resumed")
    return text.strip()


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise argparse.ArgumentTypeError(f"a limit is a number from 1 to {MOST_LINES:,}, not {text[:20]!r}")
    return int(text)
