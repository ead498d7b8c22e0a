"""What can be typed behind `mcp-binance-server token`; apart from the command, so that --help loads nothing."""

from argparse import ArgumentParser
from typing import Protocol

from mcp_binance_server.domain.access import SCOPES


class Commands(Protocol):
    """The sub-commands of a parser; argparse has no public name for them."""

    def add_parser(self, name: str, *, help: str) -> ArgumentParser: ...  # noqa: A002 - argparse's own word


def add_token_command(commands: Commands) -> None:
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
