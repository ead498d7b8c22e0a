"""One line from a client: a message, or the error that answers it. Pure.

The SDK silently drops a line that it cannot read, and the client waits forever. Here every frame with a request gets an
answer: under its own ID if that can be read, else under null.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from mcp.types import jsonrpc
from pydantic import ValidationError
from pydantic_core import from_json

_BOM = b"\xef\xbb\xbf"
FRAME_CAP = 4 * 2**20
# An ID is near the start; a longer search would let a broken frame cost more than a good one.
SCAN_LIMIT = 16 * 2**10
Id = str | int

# Strings, numbers and punctuation; possessive runs drop an unclosed string in one pass, without backtracking.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"|"|-?[0-9.eE+-]+|[{}\[\],:]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class RefusedFrame:
    """A frame that is not a message, and its answer."""

    answer: jsonrpc.JSONRPCError


def read_frame(line: bytes) -> jsonrpc.JSONRPCMessage | RefusedFrame:
    """Return the message on a line, or the answer that refuses it."""
    try:
        value: Any = from_json(line.removeprefix(_BOM), cache_strings="keys")
    except ValueError:  # half a surrogate pair too: it is not text and cannot be sent back
        return _refused(scan_id(line), jsonrpc.PARSE_ERROR, "The message is not valid JSON")
    try:
        # Validate the value: from text, each of the four message types would be parsed again until one fits.
        message = jsonrpc.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _no_message(value)
    if isinstance(message, jsonrpc.JSONRPCNotification) and "id" in value:
        # A request's ID cannot be null, 1.5, true or a list. This is a bad request, and the answer has no ID.
        return _refused(None, jsonrpc.INVALID_REQUEST, "The id of a request must be a string or an integer")
    return message


def too_long(start: bytes) -> RefusedFrame:
    """Refuse a line over the cap; only its start was kept."""
    return _refused(scan_id(start), jsonrpc.INVALID_REQUEST, f"A message must not be longer than {FRAME_CAP} bytes")


def _no_message(value: object) -> RefusedFrame:
    if isinstance(value, list):
        return _refused(
            None, jsonrpc.INVALID_REQUEST, "Batches are not part of this protocol: send one message per line"
        )
    found = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    return _refused(usable_id(found), jsonrpc.INVALID_REQUEST, "The message is not a JSON-RPC 2.0 request")


def usable_id(value: object) -> Id | None:
    """Return a value that is valid as the ID of a request and of its answer; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value):
        return value
    return None


def _refused(request_id: Id | None, code: int, message: str) -> RefusedFrame:
    error = jsonrpc.ErrorData(code=code, message=message)
    return RefusedFrame(jsonrpc.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def scan_id(line: bytes) -> Id | None:
    """Find the ID of an incomplete or invalid message: the value of "id" in its outermost object."""
    depth, key, last_string = 0, b"", b""
    for found in _TOKEN.finditer(line[:SCAN_LIMIT]):
        token = found.group()
        if token == b'"':  # a string that is never closed: the rest is its text
            return None
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth != 1:
            continue
        elif token == b",":
            key = b""
        elif token == b":":
            key = last_string
        elif key == b'"id"':
            return _decoded(token)
        else:
            last_string = token
    return None


def _decoded(token: bytes) -> Id | None:
    try:
        return usable_id(json.loads(token))
    except ValueError:
        return None
