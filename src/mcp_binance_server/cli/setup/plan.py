"""What would change in a client's file: worked out and checked before anybody is asked."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from mcp_binance_server.cli.setup.clients import Client, Machine
from mcp_binance_server.cli.setup.entry import entry_for
from mcp_binance_server.cli.setup.files import UnreadableConfig
from mcp_binance_server.cli.setup.json_edit import entry_in_json, put_in_json, take_from_json
from mcp_binance_server.cli.setup.json_text import is_object, read_json
from mcp_binance_server.cli.setup.toml_edit import entry_in_toml, put_in_toml, take_from_toml

# The lines around a change may hold the secrets of other servers: by their name, as a flag, or by their looks.
_SECRET = re.compile(
    r"""(["']?[\w.-]*(?:key|secret|token|password|passwd|authorization|credential)[\w.-]*["']?\s*[:=]\s*)"""
    r"""("(?:[^"\\]|\\.)*"|'[^']*')""",
    re.IGNORECASE,
)
_FLAG = re.compile(r"""(--?[\w-]*(?:key|secret|token|password)[\w-]*(?:=|",\s*"))[^"\s]+""", re.IGNORECASE)
_RANDOM = re.compile(r"""(["'])(?=[^"']*\d)(?=[^"']*[A-Za-z])[\w+=.-]{20,}\1(?!\s*[:=])""")
_BEARER = re.compile(r"(bearer\s+)[^\s\"',]+", re.IGNORECASE)
# These only look like one: a path, and flags.
_NO_SECRET = re.compile(r"MCP_BINANCE_KEY_FILE|BINANCE_PRIVATE_KEY_FILE")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file, its text now (none: there is no file) and the text it is to have."""

    client: Client
    path: PurePath
    before: str | None
    after: str
    entry_before: object = None

    @property
    def changes(self) -> bool:
        return (self.before or "") != self.after

    def diff(self) -> list[str]:
        """Return the lines of a unified diff in which nothing that looks like a secret can be read."""
        now = (self.before or "").splitlines()
        named = str(self.path) if self.before is not None else "(no file yet)"
        lines = difflib.unified_diff(now, self.after.splitlines(), named, str(self.path), lineterm="", n=2)
        return [_masked(line) for line in lines]


def plan_addition(
    client: Client, machine: Machine, text: str | None, *, name: str, environment: Mapping[str, str | None]
) -> FileChange:
    """Work out how our server gets into a client's file.

    Raises:
        Unreadable: the file cannot be edited.
    """
    before = text or ""
    old = entry_of(client, before, name)
    entry = entry_for(client, machine.launcher, environment, old)
    if client.form == "toml":
        after = put_in_toml(before, client.table, name, entry)
    else:
        after = put_in_json(before, client.table, name, entry, relaxed=client.form == "jsonc")
    _check(client, before, after, name, entry)
    return FileChange(client, client.file(machine), text, after, old)


def plan_removal(client: Client, machine: Machine, text: str | None, *, name: str) -> FileChange:
    """Work out how our server gets out of a client's file.

    Raises:
        Unreadable: the file cannot be edited.
    """
    before = text or ""
    old = entry_of(client, before, name)
    if client.form == "toml":
        after = take_from_toml(before, client.table, name)
    else:
        after = take_from_json(before, client.table, name, relaxed=client.form == "jsonc")
    _check(client, before, after, name, None)
    return FileChange(client, client.file(machine), text, after, old)


def entry_of(client: Client, text: str, name: str) -> object:
    """Return what a client's file says of our server, none if nothing.

    Raises:
        Unreadable: the file cannot be edited.
    """
    if client.form == "toml":
        return entry_in_toml(text, client.table, name)
    return entry_in_json(text, client.table, name, relaxed=client.form == "jsonc")


def _check(client: Client, before: str, after: str, name: str, entry: Mapping[str, object] | None) -> None:
    """Refuse an edit that would not do exactly what was meant; the editor of TOML does so by itself."""
    if client.form == "toml" or before == after:
        return
    relaxed = client.form == "jsonc"
    found = read_json(after, relaxed=relaxed).value
    meant = _object(read_json(before, relaxed=relaxed).value if before.strip("\ufeff \t\r\n") else None)
    servers = {key: value for key, value in _object(meant.get(client.table)).items() if key != name}
    meant[client.table] = servers if entry is None else {**servers, name: entry}
    if _without_empty(_object(found), client.table) != _without_empty(meant, client.table):
        raise UnreadableConfig(1, 1, "the file is written in a form that cannot be edited safely; do it by hand")


def _object(value: object) -> dict[str, object]:
    return dict(value) if is_object(value) else {}


def _without_empty(document: dict[str, object], table: str) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != table or value}


def _masked(line: str) -> str:
    if _NO_SECRET.search(line):
        return line
    line = _FLAG.sub(r"\g<1>****", _SECRET.sub(r'\g<1>"****"', line))
    return _BEARER.sub(r"\g<1>****", _RANDOM.sub('"****"', line))
