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
input. A value without a name is for the first argument the tool must have. Exit code: 0 an answer, 1 the tool
refused or failed, 2 wrong usage.
"""
DOCTOR_EPILOG = """Exit code: 0 healthy (warnings included), 1 a problem was found, 2 wrong usage.
No key, secret, address of yours or name of your home folder is in the output:
it can go into an issue as it is.
"""

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
DESCRIPTION = "Binance for AI assistants, over the Model Context Protocol."
EPILOG = """Without a command the server speaks MCP on standard input and output: that is what an MCP client starts.
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
        # Written out: argparse cannot wrap a usage with these brackets.
        usage="mcp-binance-server ask [TOOL] [NAME=VALUE …] [--json] [--output FILE] [--csv FILE [--replace]] [--demo] "
        "[--log-level LEVEL]",
        help="ask one tool and print its answer, for people and scripts",
        epilog=ASK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("words", nargs="*", metavar="TOOL [NAME=VALUE …]", help="the tool and what it needs")
    ask.add_argument("--json", action="store_true", help="print the structured answer")
    ask.add_argument("--output", metavar="FILE", help="save the picture, or else the answer, to this file")
    ask.add_argument("--csv", metavar="FILE", help="save the rows of the answer, and of every page after it, as CSV")
    ask.add_argument("--replace", action="store_true", help="let --csv write over a file that is there")
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
    """Add `token` and its actions to the commands."""
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


class Parser(argparse.ArgumentParser):
    """Parser with error messages of one line and a pointer to the help."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\nSee {self.prog} --help\n")


def parser(*, has_commands: bool = True) -> Parser:
    """Return the parser; `has_commands=False` skips the commands, for a start without arguments by an MCP client."""
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
    transports.add_argument("--sse", action="store_true", help="the same server, by the name of its /mcp/sse address")
    transports.add_argument("--grpc", action="store_true", help=f"serve provider.v1 over gRPC (port {GRPC_PORT})")
    root.add_argument("--host", help="address to listen on (default: 127.0.0.1, this machine)")
    root.add_argument("--port", type=_port, help="port to listen on; 0 takes a free one")
    root.add_argument(
        "--probe-port", type=_port, metavar="PORT", help="a second port, for /healthz, /readyz and /metrics"
    )
    root.add_argument("--workers", type=int, default=1, metavar="N", help="processes that share the HTTP port (1)")
    root.add_argument("--tls-cert", metavar="FILE", help="speak TLS with this certificate (PEM, with its chain)")
    root.add_argument("--tls-key", metavar="FILE", help="its private key (PEM, without a passphrase)")
    root.add_argument(
        "--unsafe-no-auth", action="store_true", help="listen beyond this machine without asking callers who they are"
    )
    add_quiet(root)
    add_log_level(root)
    root.set_defaults(command=None)
    if has_commands:
        _add_commands(root.add_subparsers(dest="command", metavar="COMMAND"))
    return root


def _add_commands(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    demo = commands.add_parser("demo", help="an offline exchange with moving prices and the server on it: no key")
    demo.add_argument(
        "--http", action="store_true", dest="demo_http", help="serve it over HTTP, for a browser or another client"
    )
    demo.add_argument(
        "--port",
        type=_port,
        dest="demo_port",
        metavar="PORT",
        help=f"with --http: port on 127.0.0.1; 0 takes a free one (default: {HTTP_PORT})",
    )
    # A default of its own would override a flag given before the command.
    add_quiet(demo, default=argparse.SUPPRESS)
    add_log_level(demo, default=argparse.SUPPRESS)
    simulator = commands.add_parser("simulator", help="the offline exchange alone, on a loopback port")
    simulator.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 takes a free one (default)")
    simulator.add_argument("--scenario", default="market", help="what the exchange plays (default: market)")
    simulator.add_argument("--crowd", type=int, default=0, metavar="N", help="list N more busy symbols, for load")
    simulator.add_argument(
        "--crowd-levels",
        type=int,
        default=8,
        metavar="N",
        help="levels that each of their depth events touches at least (default: 8)",
    )
    simulator.add_argument("--contracts", type=int, default=0, metavar="N", help="list N more perpetuals, for load")
    simulator.add_argument("--replay", metavar="DIR", help="replay recorded streams (*.gz) of their symbols")
    simulator.add_argument("--speed", type=float, default=1, help="how fast a replay runs (default: 1, as recorded)")
    guide = commands.add_parser("guide", help="your own playbooks: check their configuration")
    actions = guide.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="say what a guide.yaml means, or which line is wrong")
    check.add_argument("file", nargs="?", help="the file (default: MCP_BINANCE_GUIDE_CONFIG, or where it usually lies)")
    add_ask_command(commands)
    add_setup_command(commands)
    add_doctor_command(commands)
    add_token_command(commands)
    add_trading_commands(commands)
    completion = commands.add_parser("completion", help="print what lets a shell complete these words")
    completion.add_argument("shell", choices=SHELLS, help="the shell to print it for")
    for command in (demo, simulator):
        command.add_argument("--seed", type=int, default=7, help="same seed, same market (default: 7)")


def completion(shell: str) -> str:
    """Return the completion script of a shell, for both names of the program."""
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
    """Parse the arguments; exit with a message on an invalid one."""
    flags = sorted({flag for action in _actions(root) for flag in action.option_strings})
    # argparse reports the word after an unknown flag instead of the flag.
    if unknown := [word for word in given if _is_flag(word) and word.partition("=")[0] not in flags]:
        root.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(unknown[0], flags)}")
    options = _options(root, given)
    transport = next((name for name in TRANSPORTS if getattr(options, name)), None)
    if transport and options.command:
        root.error(f"--{transport} and the command {options.command} exclude each other")
    if transport in (None, "stdio") and not options.command:
        _refuse_addresses(root, options)
    if bool(options.tls_cert) != bool(options.tls_key):
        root.error("--tls-cert and --tls-key belong together")
    if not 1 <= options.workers <= MOST_WORKERS:
        root.error(f"--workers is 1 to {MOST_WORKERS}, not {options.workers}")
    if transport not in ("http", "sse"):
        _refuse_what_http_has(root, options)
    if options.quiet and options.command not in HEED_QUIET:
        root.error(f"--quiet means nothing to the command {options.command}")
    if options.log_level and options.command not in HEED_LOG_LEVEL:
        root.error(f"--log-level means nothing to the command {options.command}: it logs nothing")
    _refuse_useless(root, options)
    return options


def _options(root: Parser, given: list[str]) -> argparse.Namespace:
    options, rest = root.parse_known_args(given)
    if options.command == "ask" and not any(map(_is_flag, rest)):
        options.words += rest  # argparse takes only the first run of words between flags
    elif rest:
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {HIGHEST_PORT}, not {text[:20]!r}")
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
        root.error(f"{', '.join(useless)}: a pipe has no address; with --http or --grpc it has")


def _refuse_useless(root: Parser, options: argparse.Namespace) -> None:
    if options.command == "demo" and options.demo_port is not None and not options.demo_http:
        root.error("demo --port needs --http: without it nothing listens on a port")
    if options.command == "ask":
        _refuse_useless_for_ask(root, options)
    if options.command == "journal" and options.limit and (options.verify or options.backup):
        root.error("journal --limit goes with the list and with --csv: all is checked, and all is copied")


def _refuse_useless_for_ask(root: Parser, options: argparse.Namespace) -> None:
    if options.csv and (options.json or options.output):
        root.error("ask --csv saves the rows of the answer, --json and --output all of it: choose one of them")
    if options.replace and not options.csv:
        root.error("ask --replace goes with --csv: --output always writes over what is there")
    if options.csv and not options.words:
        root.error("ask --csv needs a tool: the list of tools is no table")


def _refuse_what_http_has(root: Parser, options: argparse.Namespace) -> None:
    if options.workers > 1:
        root.error("--workers goes with --http: other transports have one process")
    if options.probe_port is not None:
        root.error("--probe-port goes with --http: nobody can probe another transport over HTTP")


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
