"""Every entry in every client's file that starts our server, whatever its name."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcp_binance_server.cli.setup.clients import CLIENTS, Client
from mcp_binance_server.cli.setup.entry import variables_of
from mcp_binance_server.cli.setup.files import read_text
from mcp_binance_server.cli.setup.json_text import is_object, read_json
from mcp_binance_server.cli.setup.machine import Machine
from mcp_binance_server.cli.setup.unreadable import UnreadableConfig
from mcp_binance_server.installation import MODULE, PACKAGE
from mcp_binance_server.key_file import PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE

OUR_WORDS = (PACKAGE, MODULE, "binance-provider")


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
