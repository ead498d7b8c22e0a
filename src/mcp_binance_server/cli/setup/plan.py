"""This server's entry in a client's configuration file."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import cast

from mcp_binance_server.cli.setup.clients import (
    CLIENTS,
    START_SECS,
    USUAL_START_SECS,
    Client,
    Launcher,
    Machine,
    StartTimeout,
)
from mcp_binance_server.cli.setup.files import UnreadableConfig, read_text
from mcp_binance_server.cli.setup.json_edit import entry_in_json, is_object, put_in_json, read_json, take_from_json
from mcp_binance_server.cli.setup.toml_edit import entries_in_toml, entry_in_toml, put_in_toml, take_from_toml
from mcp_binance_server.installation import MODULE, PACKAGE
from mcp_binance_server.key_file import NAMES, PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE

# Fields of a remote server. They are dropped if an entry of the same name becomes this server.
ELSEWHERE = ("url", "httpUrl", "serverUrl", "headers")

TOML = ("toml", "toml list")
OUR_WORDS = (PACKAGE, MODULE, "binance-provider")

# The context lines of a diff can have secrets of other servers. They are recognised by name, flag or pattern.
_SECRET = re.compile(
    r"""(["']?[\w.-]*(?:key|secret|token|password|passwd|authorization|credential)[\w.-]*["']?\s*[:=]\s*)"""
    r"""("(?:[^"\\]|\\.)*"|'[^']*')""",
    re.IGNORECASE,
)
_FLAG = re.compile(r"""(--?[\w-]*(?:key|secret|token|password)[\w-]*(?:=|",\s*"))[^"\s]+""", re.IGNORECASE)
_RANDOM = re.compile(r"""(["'])(?=[^"']*\d)(?=[^"']*[A-Za-z])[\w+=.-]{20,}\1(?!\s*[:=])""")
_BEARER = re.compile(r"(bearer\s+)[^\s\"',]+", re.IGNORECASE)
# Paths that look like secrets and are none.
_NO_SECRET = re.compile(r"MCP_BINANCE_KEY_FILE|BINANCE_PRIVATE_KEY_FILE")


def entry_for(
    client: Client, launcher: Launcher, environment: Mapping[str, str | None], before: object = None
) -> dict[str, object]:
    """Return the entry, merged with an existing entry.

    A variable of None is removed. With a key file, the existing entry's keys are removed.
    """
    old = {key: value for key, value in before.items() if key not in ELSEWHERE} if is_object(before) else {}
    old.pop(client.env, None)
    dropped = NAMES if environment.get(KEY_FILE) else ()
    kept = {key: value for key, value in variables_of(before).items() if key not in dropped}
    variables = {key: value for key, value in {**kept, **environment}.items() if value is not None}
    entry: dict[str, object] = {**client.extra, **_command(client, launcher)}
    merged = {**entry, **{key: value for key, value in old.items() if key not in entry}}
    start = client.start
    if start.is_short or (launcher.may_be_slow and 0 < start.secs < START_SECS and start.field):
        merged.setdefault(start.field, round(START_SECS / start.unit_secs))
    return {**merged, client.env: variables} if variables else merged


def _command(client: Client, launcher: Launcher) -> dict[str, object]:
    if client.has_one_list:
        return {"command": [launcher.command, *launcher.args]}
    return {"command": launcher.command, "args": list(launcher.args)}


def variables_of(entry: object) -> dict[str, object]:
    """Return the environment variables of an entry."""
    variables = entry.get("env", entry.get("environment")) if is_object(entry) else None
    return dict(variables) if is_object(variables) else {}


def holds_keys(entry: object) -> bool:
    """Return whether an entry has a key in plain text."""
    return any(variables_of(entry).get(name) for name in NAMES if name != "BINANCE_PRIVATE_KEY_FILE")


@dataclass(frozen=True, slots=True)
class OurEntry:
    """A client's entry for this server. Its variables can include keys."""

    client: Client
    name: str
    command: str
    args: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)
    is_disabled: bool = False
    start_secs: float = USUAL_START_SECS
    """Longest start that the client waits for."""

    def reads(self, keys: Path, network: str) -> bool:
        """Return whether the server of this entry would use this key file."""
        if named := self.variables.get(KEY_FILE):
            return Path(named) == keys
        has_own = any(self.variables.get(name) for name in PAIR)
        return not has_own and (self.variables.get("BINANCE_NETWORK") or "mainnet") == network


def our_entries(machine: Machine) -> tuple[list[OurEntry], list[Path]]:
    """Return this server's entries in all clients, and the files that could not be read."""
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
        if is_object(entry) and (words := _words(entry)) and _is_ours(entry, words):
            yield OurEntry(
                client,
                name,
                words[0],
                words[1:],
                {key: str(value) for key, value in variables_of(entry).items()},
                entry.get("disabled") is True or entry.get("enabled") is False,
                _start_secs(client.start, entry),
            )


def _table(client: Client, text: str) -> dict[str, object]:
    if not text.strip("\ufeff \t\r\n"):
        return {}
    if client.form in TOML:
        return entries_in_toml(text, client.table)
    document = read_json(text, relaxed=client.form == "jsonc").value
    table = document.get(client.table) if is_object(document) else None
    return table if is_object(table) else {}


def _is_ours(entry: Mapping[str, object], words: tuple[str, ...]) -> bool:
    return KEY_FILE in variables_of(entry) or any(ours in word for ours in OUR_WORDS for word in words)


def _words(entry: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command of an entry and its arguments. The list is empty if the entry has no command."""
    command, args = entry.get("command"), entry.get("args")
    parts = [*(_list(command) or [command]), *_list(args)]
    return tuple(map(str, parts)) if parts and isinstance(parts[0], str) else ()


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _start_secs(start: StartTimeout, entry: Mapping[str, object]) -> float:
    named = entry.get(start.field)
    return float(named) * start.unit_secs if isinstance(named, int | float) else start.secs


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file with its old and new text. The old text is None if the file does not exist."""

    client: Client
    path: PurePath
    before: str | None
    after: str
    entry_before: object = None

    @property
    def changes(self) -> bool:
        return (self.before or "") != self.after

    def diff(self) -> list[str]:
        """Return the unified diff with possible secrets masked."""
        return [_masked(line) for line in changed_lines(self.path, self.before, self.after)]


def changed_lines(path: PurePath, before: str | None, after: str) -> list[str]:
    """Return the unified diff of a changed or new file."""
    named = str(path) if before is not None else "(no file yet)"
    now = (before or "").splitlines()
    return [*difflib.unified_diff(now, after.splitlines(), named, str(path), lineterm="", n=2)]


def plan_addition(
    client: Client, machine: Machine, text: str | None, *, name: str, environment: Mapping[str, str | None]
) -> FileChange:
    """Return the change that adds this server to a client's file.

    Raises:
        UnreadableConfig: the file cannot be edited.
    """
    before = text or ""
    old = entry_of(client, before, name)
    entry = entry_for(client, machine.launcher, environment, old)
    if client.form in TOML:
        after = put_in_toml(before, client.table, name, entry, in_list=client.form == "toml list")
    else:
        after = put_in_json(before, client.table, name, entry, relaxed=client.form == "jsonc")
    _check(client, before, after, name, entry)
    return FileChange(client, client.file(machine), text, after, old)


def plan_removal(client: Client, machine: Machine, text: str | None, *, name: str) -> FileChange:
    """Return the change that removes this server from a client's file.

    Raises:
        UnreadableConfig: the file cannot be edited.
    """
    before = text or ""
    old = entry_of(client, before, name)
    if client.form in TOML:
        after = take_from_toml(before, client.table, name)
    else:
        after = take_from_json(before, client.table, name, relaxed=client.form == "jsonc")
    _check(client, before, after, name, None)
    return FileChange(client, client.file(machine), text, after, old)


def entry_of(client: Client, text: str, name: str) -> object:
    """Return this server's entry in a client's file, or None.

    Raises:
        UnreadableConfig: the file cannot be edited.
    """
    if client.form in TOML:
        return entry_in_toml(text, client.table, name)
    return entry_in_json(text, client.table, name, relaxed=client.form == "jsonc")


def _check(client: Client, before: str, after: str, name: str, entry: Mapping[str, object] | None) -> None:
    """Refuse an edit that changes anything else than intended. The TOML editor has a check of its own."""
    if client.form in TOML or before == after:
        return
    relaxed = client.form == "jsonc"
    found = read_json(after, relaxed=relaxed).value
    meant = _object(read_json(before, relaxed=relaxed).value if before.strip("\ufeff \t\r\n") else None)
    servers = {key: value for key, value in _object(meant.get(client.table)).items() if key != name}
    meant[client.table] = servers if entry is None else {**servers, name: entry}
    if _without_empty(_object(found), client.table) != _without_empty(meant, client.table):
        raise UnreadableConfig(1, 1, "this file cannot be edited safely; edit it by hand")


def _object(value: object) -> dict[str, object]:
    return dict(value) if is_object(value) else {}


def _without_empty(document: dict[str, object], table: str) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != table or value}


def _masked(line: str) -> str:
    if _NO_SECRET.search(line):
        return line
    line = _FLAG.sub(r"\g<1>****", _SECRET.sub(r'\g<1>"****"', line))
    return _BEARER.sub(r"\g<1>****", _RANDOM.sub('"****"', line))
