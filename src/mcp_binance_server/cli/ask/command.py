"""The arguments of `ask`."""

import argparse
from typing import Any

from mcp_binance_server.cli.manners import add_log_level

EPILOG = """examples:
  mcp-binance-server ask                                   lists the tools
  mcp-binance-server ask get_ticker btcusdt
  mcp-binance-server ask get_klines symbol=ETHUSDT interval=1h limit=24 --json
  mcp-binance-server ask --demo get_indicators btcusdt indicators=rsi,macd
  mcp-binance-server ask generate_chart_image config=@chart.json --output chart.png

A value is text, a number, yes or no, a list with commas, or JSON; @FILE reads it from a file, @- from standard
input. A value without a name is for the first argument the tool must have. Exit code: 0 an answer, 1 the tool
refused or failed, 2 wrong usage.
"""


def add_ask_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `ask` to the commands."""
    ask = commands.add_parser(
        "ask",
        # Written out: argparse cannot wrap a usage with these brackets.
        usage="mcp-binance-server ask [TOOL] [NAME=VALUE …] [--json] [--output FILE] [--demo] [--log-level LEVEL]",
        help="ask one tool and print its answer, for people and scripts",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("words", nargs="*", metavar="TOOL [NAME=VALUE …]", help="the tool and what it needs")
    ask.add_argument("--json", action="store_true", help="print the structured answer")
    ask.add_argument("--output", metavar="FILE", help="save the picture, or else the answer, to this file")
    ask.add_argument("--demo", action="store_true", help="ask the offline exchange of the demo: no key, no network")
    add_log_level(ask, default=argparse.SUPPRESS)
