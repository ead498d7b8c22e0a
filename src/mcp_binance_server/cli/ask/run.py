"""One question to the server, and its answer in the terminal."""

import argparse
import json
import sys
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import types

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.ask.tools import arguments_of, found, listed, listed_as_json, nearest, needs
from mcp_binance_server.cli.interruption import run
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.cli.verbosity import Manners
from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.settings import Settings, surroundings
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import ToolSpec

EXIT_FAILED, EXIT_USAGE = 1, 2
STANDARD_OUTPUT = "-"

DEMO_SEED = 7


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


def run_ask(options: argparse.Namespace) -> int:
    """Ask one tool, or list them; return the exit code.

    Raises:
        SettingsError: a setting, a value or the file to save to cannot be used.
    """
    settings = prepare(Manners.of(options))
    tools = CATALOGUE.only(frozenset(settings.toolsets), live=settings.orderbook_analytics).tools
    terminal = Terminal.of(sys.stdout, surroundings())
    if not options.words:
        sys.stdout.write(listed_as_json(tools) if options.json else listed(tools, terminal))
        return 0
    name, *words = options.words
    tool = found(name, tools)
    if tool is None:
        sys.stderr.write(_unknown(name, tools))
        return EXIT_USAGE
    if not words and tool.input_schema.get("required"):
        sys.stderr.write(f"{tool.description}\n\n{needs(tool, terminal)}")
        return EXIT_USAGE
    try:
        arguments = arguments_of(words, tool.input_schema)
    except SettingsError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems) + f"\n{needs(tool, terminal)}")
        return EXIT_USAGE
    result = run(_ask, options, settings, tool.name, arguments)
    code = deliver(result, Delivery(options.json, options.output))
    if code == EXIT_FAILED and _is_misused(result):
        sys.stderr.write(f"\n{needs(tool, terminal)}")
        return EXIT_USAGE
    return code


async def _ask(
    options: argparse.Namespace, settings: Settings, tool: str, arguments: dict[str, object]
) -> types.CallToolResult:
    async with _app(options, settings) as app:
        return await app.dispatcher.call_tool(None, tool, arguments)


@asynccontextmanager
async def _app(options: argparse.Namespace, settings: Settings) -> AsyncGenerator[App]:
    if not options.demo:
        async with running_app(settings) as app:
            yield app
        return
    from mcp_binance_server.cli.demo import offline_app  # noqa: PLC0415 - the true exchange needs no simulator

    async with offline_app(Manners.of(options), seed=DEMO_SEED) as app:
        yield app


def _unknown(name: str, tools: Sequence[ToolSpec[Any]]) -> str:
    near = nearest(name, tools)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"There is no tool '{echo(name)}'.{meant}\nmcp-binance-server ask lists them all.\n"


def _is_misused(result: types.CallToolResult) -> bool:
    return bool(result.structured_content) and result.structured_content.get("error_type") == "invalid_arguments"
