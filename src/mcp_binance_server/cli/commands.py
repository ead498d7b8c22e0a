"""What can be typed behind `ask`, `doctor` and `token`; apart from what they do, so that --help loads none of it."""

import argparse
from typing import Any

from mcp_binance_server.cli.manners import add_log_level, add_quiet
from mcp_binance_server.domain.access import SCOPES

ASK_EPILOG = """examples:
  mcp-binance-server ask                                   lists the tools
  mcp-binance-server ask get_ticker btcusdt
  mcp-binance-server ask get_klines symbol=ETHUSDT interval=1h limit=24 --json
  mcp-binance-server ask --demo get_indicators btcusdt indicators=rsi,macd
  mcp-binance-server ask generate_chart_image config=@chart.json --output chart.png

A value is text, a number, yes or no, a list with commas, or JSON; @FILE reads it from a file, @- from standard
input. A value without a name is for the first argument the tool must have. Exit code: 0 an answer, 1 the tool
refused or failed, 2 wrong usage.
"""
DOCTOR_EPILOG = """Exit code: 0 healthy (warnings included), 1 a problem was found, 2 wrong usage.
No key, secret, address of yours or name of your home folder is in the output:
it can go into an issue as it is.
"""


def add_ask_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `ask` to the commands."""
    ask = commands.add_parser(
        "ask",
        # Written out: argparse cannot wrap a usage with these brackets.
        usage="mcp-binance-server ask [TOOL] [NAME=VALUE …] [--json] [--output FILE] [--demo] [--log-level LEVEL]",
        help="ask one tool and print its answer, for people and scripts",
        epilog=ASK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("words", nargs="*", metavar="TOOL [NAME=VALUE …]", help="the tool and what it needs")
    ask.add_argument("--json", action="store_true", help="print the structured answer")
    ask.add_argument("--output", metavar="FILE", help="save the picture, or else the answer, to this file")
    ask.add_argument("--demo", action="store_true", help="ask the offline exchange of the demo: no key, no network")
    add_log_level(ask, default=argparse.SUPPRESS)


def add_doctor_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `doctor` to the commands."""
    doctor = commands.add_parser(
        "doctor",
        help="find out what does not work and how to fix it",
        epilog=DOCTOR_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    add_quiet(doctor, default=argparse.SUPPRESS)


def add_token_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add the command and its actions to those of the command line."""
    token = commands.add_parser("token", help="tokens for callers over HTTP: make, list, revoke")
    actions = token.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="make a token, show it once, keep only its hash")
    new.add_argument("name", metavar="NAME", help="whose it is: letters, digits, '.', '-' and '_'")
    scopes = sorted(SCOPES)
    told = f"what its holder may do: {', '.join(scopes)}; repeat it for more (default: market:read)"
    new.add_argument("--scope", action="append", choices=scopes, metavar="SCOPE", help=told)
    new.add_argument("--expires", metavar="DATE", help="the last day it works, in UTC (default: it does not expire)")
    new.add_argument("--file", metavar="FILE", help="append to this token file; a new one is readable by you alone")
    listed = actions.add_parser("list", help="say who holds tokens of a file, or which line is wrong")
    listed.add_argument("--file", metavar="FILE", required=True, help="the token file")
    revoked = actions.add_parser("revoke", help="take a token out of a file; it stops working within a second")
    revoked.add_argument("name", metavar="NAME", help="whose it is")
    revoked.add_argument("--file", metavar="FILE", required=True, help="the token file")
