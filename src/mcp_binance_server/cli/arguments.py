"""Arguments and commands of the command line."""

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, cast

from mcp_binance_server import __version__
from mcp_binance_server.cli.setup.command import add_setup_command
from mcp_binance_server.cli.terminal import HEED_LOG_LEVEL, HEED_QUIET, add_log_level, add_quiet
from mcp_binance_server.cli.trading.command import add_trading_commands
from mcp_binance_server.domain.access import SCOPES

ASK_EPILOG = """examples:
  mcp-binance-server ask                                   lists the tools
  mcp-binance-server ask get_ticker btcusdt
  mcp-binance-server ask get_klines symbol=ETHUSDT interval=1h limit=24 --json
  mcp-binance-server ask --demo get_indicators btcusdt indicators=rsi,macd
  mcp-binance-server ask generate_chart_image config=@chart.json --output chart.png
  mcp-binance-server ask get_account_trades symbols=BTCUSDT,ETHUSDT start=2026-01-01 --csv trades.csv

A value is text, a number, yes or no, a list with commas, or JSON; @FILE reads it from a file, @- from standard
input. A value without a name fills the first required argument. Exit code: 0 an answer, 1 the tool refused or
failed, 2 wrong usage.
"""
DOCTOR_EPILOG = """Exit code: 0 healthy (warnings included), 1 a problem was found, 2 wrong usage.
You can paste the output into an issue: it contains no key, secret, address or
home folder.
"""

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
DESCRIPTION = "Binance for AI assistants, over the Model Context Protocol."
EPILOG = """Without a command the server speaks MCP on standard input and output, as MCP clients start it.
Settings come from the environment (BINANCE_API_KEY, BINANCE_SECRET_KEY, BINANCE_NETWORK …); see README.md.
"""
TRANSPORTS = ("stdio", "http", "sse", "grpc")
HOST = "127.0.0.1"
HTTP_PORT = 3000
GRPC_PORT = 50053
MOST_WORKERS = 64
HIGHEST_PORT = 65_535
SHELLS = ("bash", "zsh", "fish")
NAME, ALIAS = "mcp-binance-server", "binance-provider"


def add_ask_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `ask` to the commands."""
    ask = commands.add_parser(
        "ask",
        # Write the usage by hand, because argparse cannot wrap one with these brackets.
        usage="mcp-binance-server ask [TOOL] [NAME=VALUE …] [--json] [--output FILE] [--csv FILE [--replace]] [--demo] "
        "[--log-level LEVEL]",
        help="call one tool and print its answer, for people and scripts",
        epilog=ASK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("words", nargs="*", metavar="TOOL [NAME=VALUE …]", help="tool and its arguments")
    ask.add_argument("--json", action="store_true", help="print the structured answer")
    ask.add_argument("--output", metavar="FILE", help="save the picture, or else the answer, to a file")
    ask.add_argument("--csv", metavar="FILE", help="save the rows of the answer as CSV, with all further pages")
    ask.add_argument("--replace", action="store_true", help="let --csv overwrite an existing file")
    ask.add_argument("--demo", action="store_true", help="use the demo's offline exchange: no key, no network")
    add_log_level(ask, default=argparse.SUPPRESS)


def add_doctor_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `doctor` to the commands."""
    doctor = commands.add_parser(
        "doctor",
        help="find problems and show how to fix them",
        epilog=DOCTOR_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    add_quiet(doctor, default=argparse.SUPPRESS)


def add_token_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `token` and its actions to the commands."""
    token = commands.add_parser("token", help="make, list and revoke tokens for callers over HTTP")
    actions = token.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="make a token, print it once, store only its hash")
    new.add_argument("name", metavar="NAME", help="name of the holder: letters, digits, '.', '-' and '_'")
    scopes = sorted(SCOPES)
    told = f"permission of the holder, repeatable: {', '.join(scopes)} (default: market:read)"
    new.add_argument("--scope", action="append", choices=scopes, metavar="SCOPE", help=told)
    new.add_argument("--expires", metavar="DATE", help="last valid day, in UTC (default: no expiry)")
    new.add_argument("--file", metavar="FILE", help="append to a token file; a new one is readable by you only")
    listed = actions.add_parser("list", help="list the tokens of a file, or its invalid lines")
    listed.add_argument("--file", metavar="FILE", required=True, help="token file")
    revoked = actions.add_parser("revoke", help="remove a token from a file; it stops working within a second")
    revoked.add_argument("name", metavar="NAME", help="name of the holder")
    revoked.add_argument("--file", metavar="FILE", required=True, help="token file")


class Parser(argparse.ArgumentParser):
    """Parser with one-line error messages that point to the help."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\nSee {self.prog} --help\n")


def parser(*, has_commands: bool = True) -> Parser:
    """Return the parser.

    An MCP client starts the server without arguments and needs no commands (`has_commands=False`).
    """
    root = Parser(
        prog=NAME,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    root.add_argument("--version", action="version", version=f"{NAME} {__version__}")
    transports = root.add_mutually_exclusive_group()
    transports.add_argument("--stdio", action="store_true", help="speak MCP on standard input and output (the default)")
    transports.add_argument("--http", action="store_true", help=f"serve MCP over HTTP, at /mcp (port {HTTP_PORT})")
    transports.add_argument("--sse", action="store_true", help="same as --http, for older clients that use /mcp/sse")
    transports.add_argument("--grpc", action="store_true", help=f"serve provider.v1 over gRPC (port {GRPC_PORT})")
    root.add_argument("--host", help="address to listen on (default: 127.0.0.1, this machine)")
    root.add_argument("--port", type=_port, help="port to listen on; 0 for a free one")
    root.add_argument(
        "--probe-port", type=_port, metavar="PORT", help="second port, for /healthz, /readyz and /metrics"
    )
    root.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of processes that share the HTTP port (default: 1)"
    )
    root.add_argument("--tls-cert", metavar="FILE", help="TLS certificate (PEM, with its chain)")
    root.add_argument("--tls-key", metavar="FILE", help="private key of the certificate (PEM, without a passphrase)")
    root.add_argument(
        "--unsafe-no-auth", action="store_true", help="listen beyond this machine without authentication of callers"
    )
    add_quiet(root)
    add_log_level(root)
    root.set_defaults(command=None)
    if has_commands:
        _add_commands(root.add_subparsers(dest="command", metavar="COMMAND"))
    return root


def _add_commands(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    demo = commands.add_parser("demo", help="run the server on an offline exchange with moving prices: no key")
    demo.add_argument(
        "--http", action="store_true", dest="demo_http", help="serve over HTTP, for a browser or another client"
    )
    demo.add_argument(
        "--port",
        type=_port,
        dest="demo_port",
        metavar="PORT",
        help=f"port on 127.0.0.1 with --http; 0 for a free one (default: {HTTP_PORT})",
    )
    # A default here would override a flag that was given before the command.
    demo.add_argument("--fresh", action="store_true", help="start with a new paper account and an empty journal")
    add_quiet(demo, default=argparse.SUPPRESS)
    add_log_level(demo, default=argparse.SUPPRESS)
    simulator = commands.add_parser("simulator", help="serve the offline exchange alone, on a loopback port")
    simulator.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 for a free one (default: 0)")
    simulator.add_argument("--scenario", default="market", help="market that the exchange simulates (default: market)")
    simulator.add_argument("--crowd", type=int, default=0, metavar="N", help="list N more busy symbols, for load tests")
    simulator.add_argument(
        "--crowd-levels",
        type=int,
        default=8,
        metavar="N",
        help="minimum number of levels in a depth event of --crowd (default: 8)",
    )
    simulator.add_argument(
        "--contracts", type=int, default=0, metavar="N", help="list N more perpetuals, for load tests"
    )
    simulator.add_argument("--replay", metavar="DIR", help="replay the recorded streams (*.gz) in a folder")
    simulator.add_argument("--speed", type=float, default=1, help="speed of a replay (default: 1, as recorded)")
    guide = commands.add_parser("guide", help="check the configuration of your own playbooks")
    actions = guide.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="show the contents of a guide.yaml, or its invalid lines")
    check.add_argument("file", nargs="?", help="file to check (default: MCP_BINANCE_GUIDE_CONFIG, or the usual place)")
    add_ask_command(commands)
    add_setup_command(commands)
    add_doctor_command(commands)
    add_token_command(commands)
    add_trading_commands(commands)
    completion = commands.add_parser("completion", help="print the completion script of a shell")
    completion.add_argument("shell", choices=SHELLS, help="shell of the script")
    for command in (demo, simulator):
        command.add_argument(
            "--seed", type=int, default=7, help="seed of the market; the same seed gives the same market (default: 7)"
        )


def completion(shell: str) -> str:
    """Return a shell's completion script, for both program names."""
    import shtab  # noqa: PLC0415 - needed only for completion scripts

    root = parser()
    for action in _actions(root):
        if paths := {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}.get(str(action.metavar or action.dest).upper()):
            vars(action)["complete"] = paths
    written = shtab.complete(root, shell)
    if shell == "zsh":
        return re.sub(rf"(#compdef|-N) {NAME}", rf"\1 {NAME} {ALIAS}", written)
    alias = f"complete -c {ALIAS} -w {NAME}" if shell == "fish" else written.splitlines()[-1].replace(NAME, ALIAS)
    return f"{written.rstrip()}\n{alias}\n"


def parse(root: Parser, given: list[str]) -> argparse.Namespace:
    """Parse the arguments. Exit with a message if an argument is invalid."""
    flags = sorted({flag for action in _actions(root) for flag in action.option_strings})
    # Check flags first, because argparse names the word after an unknown flag, not the flag.
    if unknown := [word for word in given if _is_flag(word) and word.partition("=")[0] not in flags]:
        root.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(unknown[0], flags)}")
    options = _options(root, given)
    transport = next((name for name in TRANSPORTS if getattr(options, name)), None)
    if transport and options.command:
        root.error(f"--{transport} and the command {options.command} cannot be used together")
    if transport in (None, "stdio") and not options.command:
        _refuse_addresses(root, options)
    if bool(options.tls_cert) != bool(options.tls_key):
        root.error("--tls-cert and --tls-key must be used together")
    if not 1 <= options.workers <= MOST_WORKERS:
        root.error(f"--workers must be 1 to {MOST_WORKERS}, not {options.workers}")
    if transport not in ("http", "sse"):
        _refuse_what_http_has(root, options)
    if options.quiet and options.command not in HEED_QUIET:
        root.error(f"--quiet has no effect on the command {options.command}")
    if options.log_level and options.command not in HEED_LOG_LEVEL:
        root.error(f"--log-level has no effect on the command {options.command}: it logs nothing")
    _refuse_useless(root, options)
    return options


def _options(root: Parser, given: list[str]) -> argparse.Namespace:
    options, rest = root.parse_known_args(given)
    if options.command == "ask" and not any(map(_is_flag, rest)):
        options.words += rest  # argparse stops collecting words at the first flag
    elif rest:
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"a port must be a number from 0 to {HIGHEST_PORT}, not {text[:20]!r}")
    return int(text)


def _refuse_addresses(root: Parser, options: argparse.Namespace) -> None:
    given = {
        "--host": options.host,
        "--port": options.port,
        "--tls-cert": options.tls_cert,
        "--tls-key": options.tls_key,
        "--unsafe-no-auth": options.unsafe_no_auth or None,
    }
    useless = [flag for flag, value in given.items() if value is not None]
    if useless:
        root.error(f"{', '.join(useless)}: stdio has no address; add --http or --grpc")


def _refuse_useless(root: Parser, options: argparse.Namespace) -> None:
    if options.command == "demo" and options.demo_port is not None and not options.demo_http:
        root.error("demo --port needs --http: stdio has no port")
    if options.command == "ask":
        _refuse_useless_for_ask(root, options)
    if options.command == "journal" and options.limit and (options.verify or options.backup):
        root.error("journal --limit works with the list and --csv only; --verify and --backup cover all orders")


def _refuse_useless_for_ask(root: Parser, options: argparse.Namespace) -> None:
    if options.csv and (options.json or options.output):
        root.error("ask --csv saves the rows of the answer; --json and --output give the whole answer: choose one")
    if options.replace and not options.csv:
        root.error("ask --replace works with --csv only; --output always overwrites")
    if options.csv and not options.words:
        root.error("ask --csv needs a tool: the list of tools is not a table")


def _refuse_what_http_has(root: Parser, options: argparse.Namespace) -> None:
    if options.workers > 1:
        root.error("--workers needs --http: other transports have one process")
    if options.probe_port is not None:
        root.error("--probe-port needs --http: other transports have no probes over HTTP")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse shows them nowhere else
        yield action
        for each in cast("dict[str, object]", action.choices or {}).values() if action.nargs == "A..." else ():
            if isinstance(each, argparse.ArgumentParser):
                yield from _actions(each)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-" and not word.lstrip("-").isdecimal()


def _hint(flag: str, flags: list[str]) -> str:
    if any(word in flag.lower() for word in ("key", "secret", "token")):
        return " (keys come from the environment, never from the command line)"
    near = difflib.get_close_matches(flag, flags, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
