"""Arguments, exit codes, and which command runs; what a command needs is imported only when it runs."""

import argparse
import difflib
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from mcp_binance_server import __version__
from mcp_binance_server.errors import SettingsError

EXIT_USAGE = 2
DESCRIPTION = "Binance for AI assistants, over the Model Context Protocol."
EPILOG = """Without a command the server speaks MCP on standard input and output: that is what an MCP client starts.
Settings come from the environment (BINANCE_API_KEY, BINANCE_SECRET_KEY, BINANCE_NETWORK …); see README.md.
"""
FLAGS = ("-h", "--help", "--stdio", "--version", "--port", "--scenario", "--seed", "--crowd", "--replay", "--speed")


class Parser(argparse.ArgumentParser):
    """A parser whose refusals fit on one line and say where to look."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\nSee {self.prog} --help\n")


def parser() -> Parser:
    root = Parser(
        prog="mcp-binance-server",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    root.add_argument("--version", action="version", version=f"mcp-binance-server {__version__}")
    root.add_argument("--stdio", action="store_true", help="speak MCP on standard input and output (the default)")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="an offline exchange with moving prices and the server on it: no key")
    simulator = commands.add_parser("simulator", help="the offline exchange alone, on a loopback port")
    simulator.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one (default)")
    simulator.add_argument("--scenario", default="market", help="what the exchange plays (default: market)")
    simulator.add_argument("--crowd", type=int, default=0, metavar="N", help="list N more busy symbols, for load")
    simulator.add_argument("--replay", metavar="DIR", help="replay recorded streams (*.gz) of their symbols")
    simulator.add_argument("--speed", type=float, default=1, help="how fast a replay runs (default: 1, as recorded)")
    guide = commands.add_parser("guide", help="your own playbooks: check their configuration")
    actions = guide.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="say what a guide.yaml means, or which line is wrong")
    check.add_argument("file", nargs="?", help="the file (default: MCP_BINANCE_GUIDE_CONFIG, or where it usually lies)")
    for command in (demo, simulator):
        command.add_argument("--seed", type=int, default=7, help="same seed, same market (default: 7)")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    root = parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    # argparse would rather complain of the word behind a flag that it does not know.
    if unknown := [word for word in given if _is_flag(word) and word.partition("=")[0] not in FLAGS]:
        root.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(unknown[0])}")
    options = root.parse_args(given)
    if options.stdio and options.command:
        root.error(f"--stdio and the command {options.command} exclude each other")
    try:
        return _run(options)
    except SettingsError as error:
        print(error.message, file=sys.stderr)  # noqa: T201 - a person reads it
        return EXIT_USAGE
    except KeyboardInterrupt:
        return 130


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word.lstrip("-").isdecimal()


def _hint(flag: str) -> str:
    if any(word in flag.lower() for word in ("key", "secret", "token")):
        return " (keys come from the environment, never from the command line)"
    near = difflib.get_close_matches(flag, FLAGS, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _run(options: argparse.Namespace) -> int:
    if options.command == "demo":
        from mcp_binance_server.cli.demo import run_demo  # noqa: PLC0415 - the server must not load the simulator

        return run_demo(seed=options.seed)
    if options.command == "simulator":
        from mcp_binance_server.cli.simulator import run_simulator  # noqa: PLC0415 - likewise

        return run_simulator(
            port=options.port,
            scenario=options.scenario,
            seed=options.seed,
            crowd=options.crowd,
            replay=options.replay,
            speed=options.speed,
        )
    if options.command == "guide":
        from mcp_binance_server.cli.guide import run_check  # noqa: PLC0415 - likewise

        return run_check(options.file)
    # Imports make a million objects and no garbage: collecting meanwhile costs a tenth of the start.
    gc.disable()
    from mcp_binance_server.cli.collector import calm  # noqa: PLC0415 - --version and --help load nothing
    from mcp_binance_server.cli.serve import run_stdio  # noqa: PLC0415 - likewise

    calm()
    gc.enable()
    return run_stdio()
