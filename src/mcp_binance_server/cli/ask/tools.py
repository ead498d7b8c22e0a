"""The tools as a terminal lists them: which there are, what one takes, and which name was meant."""

import difflib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mcp_binance_server.cli.ask.words import kinds_of
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.surface.spec import ToolSpec

MOST_CHOICES = 10
HINT = """
mcp-binance-server ask TOOL NAME=VALUE …   asks one; with nothing behind TOOL it says what it needs
"""


def listed(tools: Sequence[ToolSpec[Any]], terminal: Terminal) -> str:
    """Return every tool with what it is, by the groups of MCP_BINANCE_TOOLSETS."""
    wide = max((len(tool.name) for tool in tools), default=0)
    text = ""
    for toolset, group in groupby(tools, lambda tool: tool.toolset):
        rows = "".join(f"  {tool.name:<{wide}}  {tool.title}\n" for tool in group)
        text += f"{terminal.paint(toolset, 'bold')}\n{rows}"
    return text + HINT


def listed_as_json(tools: Sequence[ToolSpec[Any]]) -> str:
    rows = [
        {
            "name": tool.name,
            "title": tool.title,
            "toolset": tool.toolset,
            "description": tool.description,
            "arguments": tool.input_schema,
        }
        for tool in tools
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def found(name: str, tools: Sequence[ToolSpec[Any]]) -> ToolSpec[Any] | None:
    """Return the tool of a name, whatever its case and whether it was typed with dashes."""
    wanted = _folded(name)
    return next((tool for tool in tools if _folded(tool.name) == wanted), None)


def nearest(name: str, tools: Sequence[ToolSpec[Any]]) -> list[str]:
    """Return up to three tools that may have been meant, the likeliest first."""
    wanted = _folded(name)
    names = [tool.name for tool in tools]
    holding = sorted((each for each in names if wanted and wanted in each), key=len)
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    bare = {each.partition("_")[2]: each for each in names}
    close += [bare[each] for each in difflib.get_close_matches(wanted, list(bare), n=2, cutoff=0.7)]
    return list(dict.fromkeys([*holding, *close]))[:3]


def needs(tool: ToolSpec[Any], terminal: Terminal) -> str:
    """Return what a tool takes, the arguments that must be given first."""
    schema = tool.input_schema
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    required = schema.get("required", ())
    if not properties:
        return f"{terminal.paint(tool.name, 'bold')} takes no arguments.\n"
    wide = max(map(len, properties))
    rows = ""
    for name in sorted(properties, key=lambda each: each not in required):
        said = "; ".join(_told(properties[name], schema, is_required=name in required))
        lines = textwrap.wrap(said, max(30, terminal.width - wide - 6), break_on_hyphens=False) or [""]
        rows += f"  {name:<{wide}}  {lines[0]}\n" + "".join(f"  {'':<{wide}}  {line}\n" for line in lines[1:])
    return f"{terminal.paint(tool.name, 'bold')} takes:\n{rows}"


def _told(described: Mapping[str, Any], root: Mapping[str, Any], *, is_required: bool) -> Iterator[str]:
    if is_required:
        yield "required"
    if choices := described.get("enum"):
        shown = ", ".join(map(str, choices[:MOST_CHOICES]))
        yield f"one of {shown}{' …' if len(choices) > MOST_CHOICES else ''}"
    elif kinds := sorted(kinds_of(described, root) - {"null", "string"}):
        yield " or ".join({"array": "list", "object": "JSON object", "boolean": "yes or no"}.get(k, k) for k in kinds)
    if about := described.get("description"):
        yield str(about)
    if described.get("default") is not None:
        yield f"default {json.dumps(described['default'])}"


def _folded(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
