"""Which tool is meant by the words of a command line."""

import difflib
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.surface.spec import ToolSpec

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
Schema = Mapping[str, Any]

MOST_CHOICES = 10
HINT = """
mcp-binance-server ask TOOL NAME=VALUE …   asks one; with nothing behind TOOL it says what it needs
"""


def arguments_of(words: Sequence[str], schema: Schema) -> dict[str, object]:
    """Return the arguments; a name that comes twice makes a list, a value that does not fit stays text.

    Raises:
        SettingsError: a value without a name has no place, or its file cannot be read.
    """
    typed: dict[str, list[str]] = {}
    unnamed: list[str] = []
    for word in words:
        name, is_pair, text = word.partition("=")
        if is_pair and name.isidentifier():
            typed.setdefault(name, []).append(text)
        else:
            unnamed.append(word)
    _place(unnamed, typed, schema)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    return {name: _joined(texts, properties.get(name, {}), schema) for name, texts in typed.items()}


def kinds_of(described: Schema, root: Schema) -> set[str]:
    """Return the JSON types that a schema takes, whichever way it says so."""
    if reference := described.get("$ref"):
        return kinds_of(root.get("$defs", {}).get(str(reference).rpartition("/")[2], {}), root)
    named = described.get("type", ())
    found = {named} if isinstance(named, str) else set(named)
    for choice in (*described.get("anyOf", ()), *described.get("oneOf", ())):
        found |= kinds_of(choice, root)
    return found


def _place(unnamed: list[str], typed: dict[str, list[str]], schema: Schema) -> None:
    """Give values without a name to the arguments that must be given; where there is none, to the first of all."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    wanted = schema.get("required") or list(properties)[:1]
    free = [name for name in wanted if name not in typed]
    if len(unnamed) > len(free):
        takes = ", ".join(properties) or "no arguments"
        raise SettingsError(problems=(f"'{echo(unnamed[len(free)])}' needs a name: NAME=VALUE, with one of {takes}",))
    typed.update({name: [text] for name, text in zip(free, unnamed, strict=False)})


def _joined(texts: Sequence[str], described: Schema, root: Schema) -> object:
    kinds = kinds_of(described, root)
    values = [_value(_read(text), kinds) for text in texts]
    if len(values) == 1:
        return values[0]
    return [item for value in values for item in (cast("list[object]", value) if isinstance(value, list) else [value])]


def _value(text: str, kinds: set[str]) -> object:
    bare = text.strip()
    if bare[:1] in ("[", "{") and kinds & {"array", "object"}:
        return _json(bare, text)
    if "string" in kinds:
        return text
    if "boolean" in kinds and bare.lower() in (*TRUE, *FALSE):
        return bare.lower() in TRUE
    if kinds & {"number", "integer", "object"}:
        return _json(bare, text)
    if "array" in kinds:
        return [item.strip() for item in text.split(",") if item.strip()]
    return text


def _json(text: str, otherwise: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return otherwise  # the tool says what is wrong with it


def _read(text: str) -> str:
    if not text.startswith("@") or len(text) == 1:
        return text
    try:
        return sys.stdin.read() if text == "@-" else Path(text[1:]).expanduser().read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise SettingsError(problems=(f"{echo(text)}: {reason}",)) from None


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
