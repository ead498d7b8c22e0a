"""The course of `ask`: find the tool, read what was typed for it, call it as a client would, print its answer."""

import argparse
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp import types

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.ask.answer import EXIT_FAILED, EXIT_USAGE, Delivery, deliver
from mcp_binance_server.cli.ask.tools import found, listed, listed_as_json, nearest, needs
from mcp_binance_server.cli.ask.words import arguments_of
from mcp_binance_server.cli.interruption import run
from mcp_binance_server.cli.manners import Manners
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.settings import Settings, surroundings
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import ToolSpec

DEMO_SEED = 7


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
