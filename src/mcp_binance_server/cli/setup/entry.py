"""What a client is told about our server: how to start it, and never a key."""

from collections.abc import Mapping

from mcp_binance_server.cli.setup.clients import CODEX_PATIENCE, Client
from mcp_binance_server.cli.setup.json_text import is_object
from mcp_binance_server.cli.setup.machine import Launcher
from mcp_binance_server.key_file import NAMES
from mcp_binance_server.key_file import VARIABLE as KEY_FILE

# An entry of the same name that led elsewhere leads to us now.
ELSEWHERE = ("url", "httpUrl", "serverUrl", "headers")


def entry_for(
    client: Client, launcher: Launcher, environment: Mapping[str, str | None], before: object = None
) -> dict[str, object]:
    """Return the entry, with whatever else an earlier one says; a variable of None must not be in it.

    Keys that it held are left out when a key file is named.
    """
    old = {key: value for key, value in before.items() if key not in ELSEWHERE} if is_object(before) else {}
    old.pop("env", None)
    dropped = NAMES if environment.get(KEY_FILE) else ()
    kept = {key: value for key, value in variables_of(before).items() if key not in dropped}
    variables = {key: value for key, value in {**kept, **environment}.items() if value is not None}
    entry: dict[str, object] = {**client.extra, "command": launcher.command, "args": list(launcher.args)}
    if client.name == "codex" and launcher.may_be_slow:
        entry["startup_timeout_sec"] = CODEX_PATIENCE
    merged = {**entry, **{key: value for key, value in old.items() if key not in entry}}
    return {**merged, "env": variables} if variables else merged


def variables_of(entry: object) -> dict[str, object]:
    """Return the environment that an entry gives our server."""
    variables = entry.get("env") if is_object(entry) else None
    return dict(variables) if is_object(variables) else {}


def holds_keys(entry: object) -> bool:
    """Tell whether an entry holds a key in plain text."""
    return any(variables_of(entry).get(name) for name in NAMES if name != "BINANCE_PRIVATE_KEY_FILE")
