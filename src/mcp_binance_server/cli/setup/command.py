"""The arguments of `setup`."""

import argparse
import re
from typing import Any

CLIENT_NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini", "zed")
EPILOG = """What is about to change is shown first, and the old file is kept beside the new.
Keys are asked for without echo and stored in a file that only you can read,
never in the client's own. Nothing else is touched.
"""


def add_setup_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `setup` to the commands."""
    setup = commands.add_parser(
        "setup",
        help="write an MCP client's configuration, and store your keys outside of it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    setup.add_argument("--client", required=True, choices=CLIENT_NAMES, metavar="NAME", help=", ".join(CLIENT_NAMES))
    setup.add_argument(
        "--name", type=_server_name, default="binance", help="what the client calls this server (default: binance)"
    )
    setup.add_argument("--network", choices=("mainnet", "testnet", "demo"), help="which Binance (default: mainnet)")
    setup.add_argument("--no-keys", action="store_true", help="ask for no keys: public data only, or keys set already")
    setup.add_argument("--keyring", action="store_true", help="store keys in the keyring of the operating system")
    setup.add_argument("--dry-run", action="store_true", help="show what would change; ask and write nothing")
    setup.add_argument("--yes", action="store_true", help="write without asking; what would change is still shown")
    setup.add_argument("--remove", action="store_true", help="take the server out of the client's configuration")


def _server_name(text: str) -> str:
    # Tools are named after it, and no client takes more than this.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
        raise argparse.ArgumentTypeError("a name has 1 to 40 letters, digits, '-' and '_'")
    return text
