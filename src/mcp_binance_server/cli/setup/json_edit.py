"""Insertion and removal of one entry in a JSON file. All other bytes, including comments, stay the same."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeGuard

from mcp_binance_server.cli.setup.files import UnreadableConfig

DEEPEST: Final = 200
BLANK: Final = " \t\r\n"
BYTE_ORDER_MARK: Final = "\ufeff"

USUAL_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value with its start and end offsets. An object also has its members."""

    start: int
    end: int
    value: object
    members: "tuple[JsonMember, ...] | None" = None

    def named(self, key: str) -> "list[JsonMember]":
        return [each for each in self.members or () if each.key == key]


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object: its key, its value, and the offset of the comma after it."""

    key: str
    key_at: int
    node: Node
    comma_at: int | None


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def read_json(text: str, *, relaxed: bool = False) -> Node:
    """Parse a complete JSON text.

    Raises:
        UnreadableConfig: the text is not JSON.
    """
    return _Scanner(text, relaxed=relaxed).document()


class _Scanner:
    def __init__(self, text: str, *, relaxed: bool) -> None:
        self._text = text
        self._relaxed = relaxed
        self._decoder = json.JSONDecoder(parse_constant=_no_constant)

    def document(self) -> Node:
        node = self._value(self._skip(len(BYTE_ORDER_MARK) if self._text.startswith(BYTE_ORDER_MARK) else 0), 0)
        rest = self._skip(node.end)
        if rest < len(self._text):
            self._refuse(rest, "unexpected text after the end")
        return node

    def _value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            self._refuse(at, "nested too deeply")
        sign = self._text[at : at + 1]
        if sign == "{":
            return self._object(at, depth)
        if sign == "[":
            return self._array(at, depth)
        return self._scalar(at)

    def _scalar(self, at: int) -> Node:
        try:
            value, end = self._decoder.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            self._refuse(error.pos, "a value is expected" if error.pos == at else error.msg.lower())
        except ValueError:
            self._refuse(at, "not a JSON number")
        return Node(at, end, value)

    def _object(self, start: int, depth: int) -> Node:
        members: list[JsonMember] = []
        at = self._skip(start + 1)
        while self._text[at : at + 1] != "}":
            member, at = self._member(at, depth)
            members.append(member)
            at = self._after_item(at, "}", has_comma=member.comma_at is not None)
        return Node(start, at + 1, {each.key: each.node.value for each in members}, tuple(members))

    def _member(self, at: int, depth: int) -> tuple[JsonMember, int]:
        if self._text[at : at + 1] != '"':
            self._refuse(at, "a name in double quotes is expected")
        name = self._scalar(at)
        colon = self._skip(name.end)
        if self._text[colon : colon + 1] != ":":
            self._refuse(colon, "a colon is expected")
        node = self._value(self._skip(colon + 1), depth + 1)
        end = self._skip(node.end)
        comma_at = end if self._text[end : end + 1] == "," else None
        return JsonMember(str(name.value), at, node, comma_at), end if comma_at is None else comma_at + 1

    def _array(self, start: int, depth: int) -> Node:
        items: list[object] = []
        at = self._skip(start + 1)
        while self._text[at : at + 1] != "]":
            node = self._value(at, depth + 1)
            items.append(node.value)
            at = self._skip(node.end)
            has_comma = self._text[at : at + 1] == ","
            at = self._after_item(at + 1 if has_comma else at, "]", has_comma=has_comma)
        return Node(start, at + 1, items)

    def _after_item(self, at: int, close: str, *, has_comma: bool) -> int:
        at = self._skip(at)
        is_end = self._text[at : at + 1] == close
        if is_end and has_comma and not self._relaxed:
            self._refuse(at, f"a comma is not allowed before '{close}'")
        if not is_end and not has_comma:
            self._refuse(at, f"a comma or '{close}' is expected")
        return at

    def _skip(self, at: int) -> int:
        text = self._text
        while at < len(text):
            if text[at] in BLANK:
                at += 1
            elif text.startswith(("//", "/*"), at):
                at = self._comment(at)
            else:
                break
        return at

    def _comment(self, at: int) -> int:
        if not self._relaxed:
            self._refuse(at, "this client allows no comments in its file")
        close = "\n" if self._text.startswith("//", at) else "*/"
        end = self._text.find(close, at + 2)
        if end < 0 and close == "*/":
            self._refuse(at, "this comment is not closed")
        return len(self._text) if end < 0 else end + len(close)

    def _refuse(self, at: int, problem: str) -> NoReturn:
        at = min(at, len(self._text))
        raise UnreadableConfig.at(
            self._text, at, problem if at < len(self._text) else f"the file ends too early: {problem}"
        )


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def entry_in_json(text: str, table: str, name: str, *, relaxed: bool) -> object:
    """Return the entry, or None if there is none.

    Raises:
        UnreadableConfig: the text or the table is not a JSON object.
    """
    container = _container(text, table, relaxed=relaxed)[1]
    found = _only(text, container, name) if container else None
    return found.node.value if found else None


def put_in_json(text: str, table: str, name: str, entry: Mapping[str, object], *, relaxed: bool) -> str:
    """Return the text with the entry added. If the entry is already there, the text is unchanged.

    Raises:
        UnreadableConfig: the text cannot be edited.
    """
    if not text.strip("\ufeff" + BLANK):
        return json.dumps({table: {name: entry}}, indent=USUAL_INDENT, ensure_ascii=False) + "\n"
    root, container = _container(text, table, relaxed=relaxed)
    editor = _Editor(text, root)
    if container is None:
        return editor.insert(root, table, {name: entry})
    found = _only(text, container, name)
    if found is None:
        return editor.insert(container, name, entry)
    return text if found.node.value == entry else editor.replace(found, entry)


def take_from_json(text: str, table: str, name: str, *, relaxed: bool) -> str:
    """Return the text without the entry. A table that is empty afterwards is removed too.

    Raises:
        UnreadableConfig: the text cannot be edited.
    """
    if not text.strip("\ufeff" + BLANK):
        return text
    root, container = _container(text, table, relaxed=relaxed)
    if container is None or _only(text, container, name) is None:
        return text
    without = _Editor(text, root).remove(container, name)
    root, container = _container(without, table, relaxed=relaxed)
    is_bare = container is not None and not without[container.start + 1 : container.end - 1].strip()
    return _Editor(without, root).remove(root, table) if is_bare else without


def _container(text: str, table: str, *, relaxed: bool) -> tuple[Node, Node | None]:
    if not text.strip("\ufeff" + BLANK):
        empty = Node(0, 0, {}, ())
        return empty, None
    root = read_json(text, relaxed=relaxed)
    if root.members is None:
        raise UnreadableConfig.at(text, root.start, "an object in braces is expected")
    found = _only(text, root, table)
    if found is not None and not is_object(found.node.value):
        raise UnreadableConfig.at(text, found.node.start, f"'{table}' must be an object in braces")
    return root, found.node if found else None


def _only(text: str, node: Node, key: str) -> JsonMember | None:
    found = node.named(key)
    if len(found) > 1:
        raise UnreadableConfig.at(text, found[1].key_at, f"duplicate key '{key}'")
    return found[0] if found else None


class _Editor:
    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._unit = self._indent_unit(root)

    def insert(self, target: Node, key: str, value: object) -> str:
        members = target.members or ()
        inside = self._text[target.start : target.end]
        if not members:
            return self._insert_first(target, key, value)
        last = members[-1]
        behind = last.node.end if last.comma_at is None else last.comma_at + 1
        comma = "," if last.comma_at is None else ""
        if "\n" not in inside:
            member = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            return self._text[:behind] + comma + member + self._text[behind:]
        body_end = len(self._text[: target.end - 1].rstrip(BLANK))
        outer = self._indent_at(target.start)
        indent = self._indent_at(last.key_at) if self._starts_line(last.key_at) else outer + self._unit
        tail = self._text[body_end:]
        if "\n" not in self._text[body_end : target.end]:
            tail = self._newline + outer + self._text[target.end - 1 :]
        member = self._newline + indent + self._written(key, value, indent)
        return self._text[: last.node.end] + comma + self._text[last.node.end : body_end] + member + tail

    def replace(self, member: JsonMember, value: object) -> str:
        if "\n" in self._text[member.node.start : member.node.end] or self._starts_line(member.key_at):
            written = self._lines(value, self._indent_at(member.key_at))
        else:
            written = json.dumps(value, ensure_ascii=False)
        return self._text[: member.node.start] + written + self._text[member.node.end :]

    def remove(self, target: Node, key: str) -> str:
        members = target.members or ()
        place = next(number for number, each in enumerate(members) if each.key == key)
        member, before = members[place], members[place - 1] if place else None
        text, start = self._text, member.key_at
        end = member.node.end if member.comma_at is None else member.comma_at + 1
        after = text[end:]
        if member.comma_at is None and before is not None and before.comma_at is not None:
            # For the last member, remove the comma before it.
            text, start = text[: before.comma_at] + text[before.comma_at + 1 :], start - 1
        return _joined(text[:start], after, opened_at=target.start)

    def _insert_first(self, target: Node, key: str, value: object) -> str:
        outer = self._indent_at(target.start)
        indent = outer + self._unit
        kept = self._text[target.start + 1 : target.end - 1].rstrip(BLANK)  # comments, if any
        member = self._newline + indent + self._written(key, value, indent) + self._newline + outer
        return self._text[: target.start + 1] + kept + member + self._text[target.end - 1 :]

    def _written(self, key: str, value: object, indent: str) -> str:
        return f"{json.dumps(key, ensure_ascii=False)}: {self._lines(value, indent)}"

    def _lines(self, value: object, indent: str) -> str:
        lines = json.dumps(value, indent=self._unit, ensure_ascii=False).split("\n")
        return f"{self._newline}{indent}".join(lines)

    def _indent_at(self, offset: int) -> str:
        line = self._text[self._text.rfind("\n", 0, offset) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _starts_line(self, offset: int) -> bool:
        return not self._text[self._text.rfind("\n", 0, offset) + 1 : offset].strip("\ufeff \t")

    def _indent_unit(self, root: Node) -> str:
        first = next((each for each in root.members or () if self._starts_line(each.key_at)), None)
        return (self._indent_at(first.key_at) or USUAL_INDENT) if first else USUAL_INDENT


def _joined(before: str, after: str, *, opened_at: int) -> str:
    lead, rest = before.rstrip(" \t"), after.lstrip(" \t")
    if len(lead.rstrip(BLANK)) == opened_at + 1 and rest.lstrip(BLANK).startswith("}"):
        return lead.rstrip(BLANK) + rest.lstrip(BLANK)  # the object is empty
    if lead.endswith("\n") and rest.startswith(("\n", "\r\n")):
        return lead + rest.partition("\n")[2]  # the line is empty
    if rest.startswith(("}", "\n", "\r\n")):
        return lead + rest
    return before + rest
