"""Insertion and removal of one table in a TOML text, also in a list of tables.

Every other line stays. The new table is appended, so no TOML writer is needed. Inline tables and dotted keys cannot be
edited line by line. They are detected by parsing the result, and the edit is refused.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import cast

from mcp_binance_server.cli.setup.files import UnreadableConfig
from mcp_binance_server.cli.setup.json_edit import is_object

_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = ('"""', "'''", '"', "'")


def entries_in_toml(text: str, table: str) -> dict[str, object]:
    """Return the entries by name, of a table or of a list of tables with names.

    Raises:
        UnreadableConfig: the text is not TOML.
    """
    found = _read(text).get(table)
    if isinstance(found, list):
        named = [each for each in cast("list[object]", found) if is_object(each)]
        return {str(each.get("name")): _unnamed(each) for each in named}
    return found if is_object(found) else {}


def entry_in_toml(text: str, table: str, name: str) -> object:
    """Return the entry, or None if there is none.

    Raises:
        UnreadableConfig: the text is not TOML.
    """
    return entries_in_toml(text, table).get(name)


def put_in_toml(text: str, table: str, name: str, entry: Mapping[str, object], *, in_list: bool = False) -> str:
    """Return the text with the entry.

    A text that has the entry already is returned unchanged. With `in_list` the entry is one of a list of tables, and
    has its name as a field.

    Raises:
        UnreadableConfig: the text cannot be edited.
    """
    if entry_in_toml(text, table, name) == entry:
        return text
    before = take_from_toml(text, table, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    head = [f"[[{_key(table)}]]", f"name = {_text(name)}"] if in_list else [f"[{_key(table)}.{_key(name)}]"]
    lines = [*head, *(f"{_key(key)} = {_value(value)}" for key, value in entry.items())]
    gap = "" if not before.strip() else newline * (2 - min(1, before.endswith("\n")))
    after = before + gap + newline.join(lines) + newline
    return _checked(after, _expected(text, table, name, entry, in_list=in_list), text)


def take_from_toml(text: str, table: str, name: str) -> str:
    """Return the text without the entry.

    Raises:
        UnreadableConfig: the text cannot be edited.
    """
    if entry_in_toml(text, table, name) is None:
        return text
    found = _read(text)[table]
    names = [each.get("name") for each in cast("list[dict[str, object]]", found)] if isinstance(found, list) else None
    lines = _LINE.findall(text)
    starts = [*_headers(text), len(lines)]
    gone: set[int] = set()
    item = -1
    for start, end in itertools.pairwise(starts):
        path = _path(lines[start])
        item += path == (table,)
        is_ours = path[:2] == (table, name) if names is None else path[:1] == (table,) and names[item] == name
        if is_ours:
            gone.update(_span(lines, start, end))
    after = "".join(line for number, line in enumerate(lines) if number not in gone)
    return _checked(after, _expected(text, table, name, None, in_list=names is not None), text)


def _unnamed(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entry.items() if key != "name"}


def _span(lines: list[str], start: int, end: int) -> range:
    # Keep comments in front of the next header, because they can belong to it.
    last = max(number for number in range(start, end) if lines[number].partition("#")[0].strip())
    while start > 0 and not lines[start - 1].strip():
        start -= 1
    return range(start, last + 1)


def _expected(
    text: str, table: str, name: str, entry: Mapping[str, object] | None, *, in_list: bool
) -> dict[str, object]:
    document = _read(text)
    found = document.get(table, [] if in_list else {})
    if in_list and isinstance(found, list):
        kept = [each for each in cast("list[object]", found) if not is_object(each) or each.get("name") != name]
        return {**document, table: kept if entry is None else [*kept, {"name": name, **entry}]}
    if not is_object(found):
        raise UnreadableConfig(1, 1, f"'{table}' must be a table")
    others = {key: value for key, value in found.items() if key != name}
    tables = others if entry is None else {**others, name: dict(entry)}
    return {**document, table: tables}


def _checked(after: str, expected: dict[str, object], before: str) -> str:
    try:
        found = _read(after)
    except UnreadableConfig:
        found = {}
    if _without_empty(found) != _without_empty(expected):
        line = next((number for number, each in enumerate(before.splitlines(), 1) if "mcp_servers" in each), 1)
        raise UnreadableConfig(line, 1, "these servers cannot be edited safely; edit the file by hand")
    return after


def _without_empty(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value not in ({}, [])}


def _read(text: str) -> dict[str, object]:
    try:
        return dict(tomllib.loads(text.removeprefix("\ufeff")))
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.match(str(error))
        line, column = (int(place[2]), int(place[3])) if place else (text.count("\n") + 1, 1)
        raise UnreadableConfig(line, column, (place[1] if place else str(error)).lower()) from None


def _headers(text: str) -> Iterator[int]:
    """Yield the line numbers of table headers, ignoring brackets in strings and arrays."""
    at, line, depth, at_start = 0, 0, 0, True
    while at < len(text):
        sign = text[at]
        quote = next((each for each in _STRINGS if text.startswith(each, at)), None)
        if quote:
            end = _string_end(text, at, quote)
            line += text.count("\n", at, end)
            at, at_start = end, False
            continue
        if sign == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        if sign == "\n":
            line, at_start = line + 1, True
        elif sign == "[" and at_start and depth == 0:
            yield line
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        elif sign not in " \t\r":
            depth += (sign in "[{") - (sign in "]}")
            at_start = False
        at += 1


def _string_end(text: str, at: int, quote: str) -> int:
    at += len(quote)
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote.startswith('"') else 1
    end = at + len(quote)
    # Up to two more quotes can precede the closing three.
    while len(quote) == 3 and text.startswith(quote[0], end):
        end += 1
    return min(end, len(text))


def _path(header: str) -> tuple[str, ...]:
    found: object = _read(header.strip())
    path: list[str] = []
    while is_object(found) and found:
        key, found = next(iter(found.items()))
        path.append(key)
    return tuple(path)


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _text(text)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType] - the result is parsed as a check
    if is_object(value):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    return str(value)


def _text(text: str) -> str:
    escaped = "".join(
        f"\\{each}" if each in '\\"' else each if each.isprintable() else f"\\U{ord(each):08X}" for each in text
    )
    return f'"{escaped}"'
