"""JSON read with the place of every member, so that an edit can leave the rest of the text as it is.

Relaxed means what VS Code and Zed allow in their files: comments, and a comma behind the last item.
"""

import json
from dataclasses import dataclass
from typing import Final, NoReturn, TypeGuard

from mcp_binance_server.cli.setup.files import UnreadableConfig

DEEPEST: Final = 200
BLANK: Final = " \t\r\n"
BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Node:
    """A value between two offsets; an object knows its members."""

    start: int
    end: int
    value: object
    members: "tuple[JsonMember, ...] | None" = None

    def named(self, key: str) -> "list[JsonMember]":
        return [each for each in self.members or () if each.key == key]


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key, where it stands, its value, and the comma behind it if there is one."""

    key: str
    key_at: int
    node: Node
    comma_at: int | None


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def read_json(text: str, *, relaxed: bool = False) -> Node:
    """Read a whole text.

    Raises:
        Unreadable: it is not JSON.
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
            self._refuse(rest, "nothing may follow here")
        return node

    def _value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            self._refuse(at, "this is nested too deeply")
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
            self._refuse(error.pos, "a value is expected here" if error.pos == at else error.msg.lower())
        except ValueError:
            self._refuse(at, "this is no number that JSON knows")
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
            self._refuse(at, "a name in double quotes is expected here")
        name = self._scalar(at)
        colon = self._skip(name.end)
        if self._text[colon : colon + 1] != ":":
            self._refuse(colon, "a colon is expected here")
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
            self._refuse(at, f"a comma must not stand before '{close}'")
        if not is_end and not has_comma:
            self._refuse(at, f"a comma or '{close}' is expected here")
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
            self._refuse(at, "this client does not allow comments in its file")
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
