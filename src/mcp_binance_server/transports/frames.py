"""Parsing of one line from a client into a message, or into the error that answers it. Pure.

The SDK silently drops a line that it cannot parse, so the client waits forever. This module answers every invalid
request with the request's ID, or with null if the ID cannot be read.
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
# IDs are near the start of a message. Without this limit an invalid message would cost more time than a valid one.
SCAN_LIMIT = 16 * 2**10
Id = str | int

# Strings, numbers and punctuation. The possessive quantifiers drop an unclosed string in one pass, without
# backtracking.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"|"|-?[0-9.eE+-]+|[{}\[\],:]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class RefusedFrame:
    """An invalid line, with the error that answers it."""

    answer: jsonrpc.JSONRPCError


def read_frame(line: bytes) -> jsonrpc.JSONRPCMessage | RefusedFrame:
    """Return the message on a line, or the error that answers an invalid line."""
    try:
        value: Any = from_json(line.removeprefix(_BOM), cache_strings="keys")
    except ValueError:  # also raised for a lone surrogate, which is no valid text and cannot be sent back
        return _refused(scan_id(line), jsonrpc.PARSE_ERROR, "The message is not valid JSON")
    try:
        # Validate the parsed value. From text, pydantic would parse once for each of the four message types.
        message = jsonrpc.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _no_message(value)
    if isinstance(message, jsonrpc.JSONRPCNotification) and "id" in value:
        # A request's ID cannot be null, 1.5, true or a list. The answer to such a request has no ID.
        return _refused(None, jsonrpc.INVALID_REQUEST, "The id of a request must be a string or an integer")
    return message


def too_long(start: bytes) -> RefusedFrame:
    """Return the error for a line over the size limit. Only the start of the line is kept."""
    return _refused(scan_id(start), jsonrpc.INVALID_REQUEST, f"A message must not be longer than {FRAME_CAP} bytes")


def _no_message(value: object) -> RefusedFrame:
    if isinstance(value, list):
        return _refused(
            None, jsonrpc.INVALID_REQUEST, "Batches are not part of this protocol: send one message per line"
        )
    found = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    return _refused(usable_id(found), jsonrpc.INVALID_REQUEST, "The message is not a JSON-RPC 2.0 request")


def usable_id(value: object) -> Id | None:
    """Return a value if it is a valid request ID, otherwise None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value):
        return value
    return None


def _refused(request_id: Id | None, code: int, message: str) -> RefusedFrame:
    error = jsonrpc.ErrorData(code=code, message=message)
    return RefusedFrame(jsonrpc.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def scan_id(line: bytes) -> Id | None:
    """Find the ID of an incomplete or invalid message: the value of "id" in the outermost object."""
    depth, key, last_string = 0, b"", b""
    for found in _TOKEN.finditer(line[:SCAN_LIMIT]):
        token = found.group()
        if token == b'"':  # an unclosed string reaches to the end
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
