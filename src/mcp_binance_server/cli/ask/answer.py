"""A tool's answer on its way to a person or a script: text, structure, pictures."""

import json
import sys
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import types

from mcp_binance_server.errors import SettingsError

EXIT_FAILED, EXIT_USAGE = 1, 2
STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the answer was asked for."""

    as_json: bool = False
    output: str | None = None


def deliver(result: types.CallToolResult, delivery: Delivery) -> int:
    """Print an answer, or save it; return the exit code.

    Raises:
        SettingsError: the file cannot be written.
    """
    text = "\n\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
    picture = next((block for block in result.content if isinstance(block, types.ImageContent)), None)
    if result.is_error:
        _print(_structure(result, text, None, None) if delivery.as_json else "")
        _note("" if delivery.as_json else text)
        return EXIT_FAILED
    output = delivery.output
    if picture is None:
        said = _structure(result, text, None, None) if delivery.as_json else f"{text}\n"
        _save(output, said.encode()) if output else _print(said)
    elif output is None:
        _print(_structure(result, text, picture, None) if delivery.as_json else f"{text}\n")
        _note(f"There is a picture ({picture.mime_type}): ask again with --output FILE to save it.")
    else:
        _save(output, b64decode(picture.data))
        said = _structure(result, text, picture, output) if delivery.as_json else f"{text}\n"
        # What is on standard output then is the picture, and nothing else.
        _note(said.rstrip("\n")) if output == STANDARD_OUTPUT else _print(said)
    if output and output != STANDARD_OUTPUT:
        _note(f"Saved: {Path(output).expanduser().absolute()}")
    return 0


def _structure(result: types.CallToolResult, text: str, picture: types.ImageContent | None, output: str | None) -> str:
    structured: dict[str, Any] = result.structured_content or {"success": not result.is_error, "text": text}
    if picture is not None and result.structured_content is None:
        structured |= {"mime_type": picture.mime_type, "saved": output}
    return json.dumps(structured, indent=2, ensure_ascii=False) + "\n"


def _save(output: str, content: bytes) -> None:
    if output == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        Path(output).expanduser().write_bytes(content)
    except OSError as error:
        raise SettingsError(problems=(f"--output {output}: {error.strerror}",)) from None


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _note(text: str) -> None:
    if text:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
