"""The arguments of `setup`."""

import argparse
import difflib
import re
from typing import Any

CLIENT_NAMES = (
    "claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini", "qwen", "opencode", "cline",
    "continue", "vibe", "zed",
)  # fmt: skip
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
    "qwencode": "qwen",
    "clinecli": "cline",
    "continuedev": "continue",
    "mistral": "vibe",
    "mistralvibe": "vibe",
    "zededitor": "zed",
}
EPILOG = """Without --client it lists the clients found on this machine to choose from.
It shows each change first, and keeps a copy of the old file.
It asks for keys without echo and stores them in a file that only you can read,
never in the client's; then it tests the key and shows the key's permissions.

--trading writes a file of limits for paper trading, with the lines for real money
commented out, and makes the approver's key; it asks for a passphrase at the
terminal. An existing file of limits gets only the line that names the approver.
With --client the client's entry is also set to paper, unless it already names a
mode.
"""


def add_setup_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `setup` to the commands."""
    setup = commands.add_parser(
        "setup",
        help="write the configuration of an MCP client, and store your keys outside of it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    setup.add_argument(
        "--client",
        type=client_name,
        choices=CLIENT_NAMES,
        metavar="NAME",
        help=f"client: {', '.join(CLIENT_NAMES)} (default: a choice of those found)",
    )
    setup.add_argument(
        "--name", type=_server_name, default="binance", help="name of the server in the client (default: binance)"
    )
    setup.add_argument(
        "--network", choices=("mainnet", "testnet", "demo"), help="network of Binance (default: mainnet)"
    )
    setup.add_argument(
        "--no-keys", action="store_true", help="ask for no keys: public data only, or keys that are already set"
    )
    setup.add_argument("--keyring", action="store_true", help="store keys in the keyring of the operating system")
    ways = setup.add_mutually_exclusive_group()
    ways.add_argument(
        "--trading",
        action="store_true",
        help="write limits for orders and make an approver's key; with --client, set that client to paper trading",
    )
    setup.add_argument(
        "--essential",
        action="store_true",
        help="list a dozen tools, with find_tool and call_tool for the rest (default for a new entry of Cursor)",
    )
    setup.add_argument("--dry-run", action="store_true", help="show the changes; ask and write nothing")
    setup.add_argument("--yes", action="store_true", help="write without asking; still show the changes")
    ways.add_argument("--remove", action="store_true", help="remove the server from the client's configuration")


def client_name(text: str) -> str:
    """Return the client with this name. Case, blanks and dashes are ignored.

    Raises:
        ArgumentTypeError: the name is unknown or ambiguous.
    """
    folded = re.sub(r"[^a-z0-9]", "", text.lower())
    if folded == "claude":
        raise argparse.ArgumentTypeError("'claude' is ambiguous: claude-desktop or claude-code")
    if folded in ALIASES:
        return ALIASES[folded]
    near = difflib.get_close_matches(folded, ALIASES, n=1)
    meant = f"; did you mean {ALIASES[near[0]]}?" if near else ""
    raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a known client: {', '.join(CLIENT_NAMES)}{meant}")


def _server_name(text: str) -> str:
    # Clients put the name in front of tool names and allow 40 characters.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
        raise argparse.ArgumentTypeError("a name has 1 to 40 letters, digits, '-' and '_'")
    return text
