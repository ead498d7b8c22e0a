"""The arguments of `setup`."""

import argparse
import difflib
import re
from typing import Any

CLIENT_NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini", "zed")
# Accepted names, without case, blanks and dashes.
ALIASES = {
    **{name.replace("-", ""): name for name in CLIENT_NAMES},
    "claudeai": "claude-desktop",
    "claudeapp": "claude-desktop",
    "claudecli": "claude-code",
    "visualstudiocode": "vscode",
    "code": "vscode",
    "copilot": "vscode",
    "githubcopilot": "vscode",
    "codexcli": "codex",
    "openaicodex": "codex",
    "geminicli": "gemini",
    "zededitor": "zed",
}
EPILOG = """Without --client the clients on this machine are found and listed to choose from.
What is about to change is shown first, and the old file is kept beside the new.
Keys are asked for without echo and stored in a file that only you can read,
never in the client's own; then the key is tried, and what it may do is said.

With --trading a file of limits is written, for paper and with the lines for real
money commented out, and the key that approves orders is made: its passphrase is
asked for at the terminal. A file of limits that is there is kept but for the line
that names the approver. With --client the client's entry is set to paper as well,
unless it names a mode already.
"""


def add_setup_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `setup` to the commands."""
    setup = commands.add_parser(
        "setup",
        help="write an MCP client's configuration, and store your keys outside of it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    setup.add_argument(
        "--client",
        type=client_name,
        choices=CLIENT_NAMES,
        metavar="NAME",
        help=f"{', '.join(CLIENT_NAMES)} (default: those found here, to choose from)",
    )
    setup.add_argument(
        "--name", type=_server_name, default="binance", help="what the client calls this server (default: binance)"
    )
    setup.add_argument("--network", choices=("mainnet", "testnet", "demo"), help="which Binance (default: mainnet)")
    setup.add_argument("--no-keys", action="store_true", help="ask for no keys: public data only, or keys set already")
    setup.add_argument("--keyring", action="store_true", help="store keys in the keyring of the operating system")
    ways = setup.add_mutually_exclusive_group()
    ways.add_argument(
        "--trading",
        action="store_true",
        help="write limits for orders and make the key that approves them; with --client, trade on paper there",
    )
    setup.add_argument("--dry-run", action="store_true", help="show what would change; ask and write nothing")
    setup.add_argument("--yes", action="store_true", help="write without asking; what would change is still shown")
    ways.add_argument("--remove", action="store_true", help="take the server out of the client's configuration")


def client_name(text: str) -> str:
    """Return the client with a name in any notation.

    Raises:
        ArgumentTypeError: the name is unknown or ambiguous.
    """
    folded = re.sub(r"[^a-z0-9]", "", text.lower())
    if folded == "claude":
        raise argparse.ArgumentTypeError("'claude' may be claude-desktop or claude-code: say which")
    if folded in ALIASES:
        return ALIASES[folded]
    near = difflib.get_close_matches(folded, ALIASES, n=1)
    meant = f"; did you mean {ALIASES[near[0]]}?" if near else ""
    raise argparse.ArgumentTypeError(f"'{text[:40]}' is no client we know: {', '.join(CLIENT_NAMES)}{meant}")


def _server_name(text: str) -> str:
    # Tools are named after it, and 40 characters is the clients' limit.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
        raise argparse.ArgumentTypeError("a name has 1 to 40 letters, digits, '-' and '_'")
    return text
