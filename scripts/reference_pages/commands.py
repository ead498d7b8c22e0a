"""Reference page of the command line, generated from its argument parser."""

import argparse
from collections.abc import Iterator
from typing import cast

from mcp_binance_server.cli.arguments import parser
from reference_pages.markdown import code, page, table

BEGINNING = """`mcp-binance-server`, or `binance-provider`, or `python -m mcp_binance_server`. Without a command it
serves MCP on standard input and output, as MCP clients start it. Keys are never arguments.

| Exit code | Meaning |
|---|---|
| `0` | done, or the client disconnected |
| `1` | `ask`, `setup` or a trading command failed, `doctor` found a problem, `guide check` or `token list` a mistake |
| `2` | wrong usage, or a setting that cannot be used |
| `130` | Ctrl+C; a server over HTTP or gRPC ends with `0` |
| `141` | the reader of the output has closed it, like `head` |"""


def commands_page() -> str:
    return page("Command line", BEGINNING, *_sections(parser(), ""))


def _sections(command: argparse.ArgumentParser, told: str) -> Iterator[str]:
    actions = [each for each in command._actions if "--help" not in each.option_strings]  # noqa: SLF001 - argparse shows them nowhere else
    below = next((each for each in actions if each.nargs == argparse.PARSER), None)
    if below is None or not told:
        yield f"## {command.prog}"
        yield told and f"{told[0].upper()}{told[1:]}."
        yield _table([each for each in actions if each is not below])
    if below is not None:
        helped = cast("list[argparse.Action]", below._choices_actions)  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - as above
        children = cast("dict[str, argparse.ArgumentParser]", below.choices)
        for each, child in zip(helped, children.values(), strict=True):
            yield from _sections(child, each.help or "")


def _table(actions: list[argparse.Action]) -> str:
    return table(("Argument", "Meaning"), ((_spelt(each), each.help or "") for each in actions)) if actions else ""


def _spelt(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings:
        return code(f"[{value}]" if action.nargs == "?" else value)
    return code(f"{', '.join(action.option_strings)} {value}".strip())
