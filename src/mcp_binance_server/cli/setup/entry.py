"""This server's entry in a client's configuration: as it should be, and as it is."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcp_binance_server.cli.setup.clients import CLIENTS, CODEX_PATIENCE, Client, Launcher, Machine
from mcp_binance_server.cli.setup.files import UnreadableConfig, read_text
from mcp_binance_server.cli.setup.json_text import is_object, read_json
from mcp_binance_server.installation import MODULE, PACKAGE
from mcp_binance_server.key_file import NAMES, PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE

# An entry of the same name that led elsewhere leads to us now.
ELSEWHERE = ("url", "httpUrl", "serverUrl", "headers")

OUR_WORDS = (PACKAGE, MODULE, "binance-provider")


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


@dataclass(frozen=True, slots=True)
class OurEntry:
    """An entry, with the client that has it; the environment in it may hold keys."""

    client: Client
    name: str
    command: str
    args: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)
    is_disabled: bool = False

    def reads(self, keys: Path, network: str) -> bool:
        """Tell whether the server of this entry would read a key file."""
        if named := self.variables.get(KEY_FILE):
            return Path(named) == keys
        has_own = any(self.variables.get(name) for name in PAIR)
        return not has_own and (self.variables.get("BINANCE_NETWORK") or "mainnet") == network


def our_entries(machine: Machine) -> tuple[list[OurEntry], list[Path]]:
    """Return the entries, and the files that cannot be read and might hold more."""
    entries: list[OurEntry] = []
    unreadable: list[Path] = []
    for client in CLIENTS.values():
        file = Path(client.file(machine))
        try:
            entries += _entries(client, read_text(file) or "")
        except (UnreadableConfig, UnicodeDecodeError, OSError):
            unreadable.append(file)
    return entries, unreadable


def _entries(client: Client, text: str) -> Iterator[OurEntry]:
    for name, entry in _table(client, text).items():
        if is_object(entry) and isinstance(entry.get("command"), str) and _is_ours(entry):
            yield OurEntry(
                client,
                name,
                str(entry["command"]),
                _args(entry),
                {key: str(value) for key, value in variables_of(entry).items()},
                entry.get("disabled") is True or entry.get("enabled") is False,
            )


def _table(client: Client, text: str) -> dict[str, object]:
    if not text.strip("\ufeff \t\r\n"):
        return {}
    if client.form == "toml":
        try:
            document: object = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UnreadableConfig(1, 1, str(error)) from None
    else:
        document = read_json(text, relaxed=client.form == "jsonc").value
    table = document.get(client.table) if is_object(document) else None
    return table if is_object(table) else {}


def _is_ours(entry: Mapping[str, object]) -> bool:
    words = (str(entry["command"]), *_args(entry))
    return KEY_FILE in variables_of(entry) or any(ours in word for ours in OUR_WORDS for word in words)


def _args(entry: Mapping[str, object]) -> tuple[str, ...]:
    args = entry.get("args")
    return tuple(str(each) for each in cast("list[object]", args)) if isinstance(args, list) else ()
