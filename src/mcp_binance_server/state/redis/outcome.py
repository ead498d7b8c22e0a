"""What became of a production, as bytes that another process understands."""

from dataclasses import fields
from typing import Any

import msgspec

from mcp_binance_server.errors import AppError

VALUE = b"v"
ERROR = b"e"


def of_value(value: bytes) -> bytes:
    return VALUE + value


def of_error(error: Exception) -> bytes:
    """Write an error down: ours with its fields, a ValueError with its text, any other without a word."""
    name, content = "", dict[str, Any]()
    if isinstance(error, AppError):
        name, content = type(error).__name__, {item.name: getattr(error, item.name) for item in fields(error)}
    elif isinstance(error, ValueError):
        name, content = "ValueError", {"text": str(error)}
    return ERROR + msgspec.json.encode([name, content])


def opened(outcome: bytes) -> bytes:
    """Return the value, or raise the error.

    Raises:
        AppError: the producer's error; the plain "Internal error" where it was none of ours.
        ValueError: the value was refused.
    """
    if outcome[:1] == VALUE:
        return outcome[1:]
    name, content = msgspec.json.decode(outcome[1:], type=tuple[str, dict[str, Any]])
    if name == "ValueError":
        raise ValueError(content.get("text", ""))
    raise _ours(name, content)


def _ours(name: str, content: dict[str, Any]) -> AppError:
    kind = next((each for each in _below(AppError) if each.__name__ == name), AppError)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        # Another version of this program, with other fields.
        return AppError()


def _below(kind: type[AppError]) -> list[type[AppError]]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]
