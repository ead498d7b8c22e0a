"""`mcp-binance-server ask`: call one tool and print its answer in the terminal."""

import argparse
import difflib
import json
import sys
import textwrap
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from mcp import types

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.interruption import run
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.cli.spreadsheet import STANDARD_OUTPUT, AnswerTable, refuse_existing, save
from mcp_binance_server.cli.terminal import Terminal, Verbosity
from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.settings import Settings, surroundings
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import NEXT_PAGE, ToolSpec

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
Schema = Mapping[str, Any]

MOST_CHOICES = 10
HINT = """
mcp-binance-server ask TOOL NAME=VALUE …   calls a tool; without values it lists the arguments of the tool
"""

EXIT_FAILED, EXIT_USAGE = 1, 2
# Most pages for one CSV file. A page of trades has up to a thousand rows.
MOST_PAGES = 200


def arguments_of(words: Sequence[str], schema: Schema) -> dict[str, object]:
    """Return the tool's arguments.

    A name that is given more than once makes a list. A value that does not fit the argument's type stays text.

    Raises:
        SettingsError: an unnamed value has no argument left, or a file cannot be read.
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
    """Return the JSON types that a schema accepts. References and alternatives (`$ref`, `anyOf`) are followed."""
    if reference := described.get("$ref"):
        return kinds_of(root.get("$defs", {}).get(str(reference).rpartition("/")[2], {}), root)
    named = described.get("type", ())
    found = {named} if isinstance(named, str) else set(named)
    for choice in (*described.get("anyOf", ()), *described.get("oneOf", ())):
        found |= kinds_of(choice, root)
    return found


def _place(unnamed: list[str], typed: dict[str, list[str]], schema: Schema) -> None:
    """Assign values without a name to the required arguments, or to the first argument if none is required."""
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
        return otherwise  # the tool reports the invalid value


def _read(text: str) -> str:
    if not text.startswith("@") or len(text) == 1:
        return text
    try:
        # Read as bytes: piped input is UTF-8, but standard input is cp1252 on Windows.
        content = sys.stdin.buffer.read() if text == "@-" else Path(text[1:]).expanduser().read_bytes()
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise SettingsError(problems=(f"{echo(text)}: {reason}",)) from None


def listed(tools: Sequence[ToolSpec[Any]], terminal: Terminal) -> str:
    """Return all tools with their titles, grouped by toolset (MCP_BINANCE_TOOLSETS)."""
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
    """Return the tool with this name. Case is ignored, and a dash equals an underscore."""
    wanted = _folded(name)
    return next((tool for tool in tools if _folded(tool.name) == wanted), None)


def nearest(name: str, tools: Sequence[ToolSpec[Any]]) -> list[str]:
    """Return up to three similar tool names, most similar first."""
    wanted = _folded(name)
    names = [tool.name for tool in tools]
    holding = sorted((each for each in names if wanted and wanted in each), key=len)
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    bare = {each.partition("_")[2]: each for each in names}
    close += [bare[each] for each in difflib.get_close_matches(wanted, list(bare), n=2, cutoff=0.7)]
    return list(dict.fromkeys([*holding, *close]))[:3]


def needs(tool: ToolSpec[Any], terminal: Terminal) -> str:
    """Return a tool's arguments, the required ones first."""
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


@dataclass(frozen=True, slots=True)
class Delivery:
    """Output format of the answer."""

    as_json: bool = False
    output: str | None = None


def deliver(result: types.CallToolResult, delivery: Delivery) -> int:
    """Print or save an answer; return the exit code.

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
        _note(f"The answer has a picture ({picture.mime_type}): add --output FILE to save it.")
    else:
        _save(output, b64decode(picture.data))
        said = _structure(result, text, picture, output) if delivery.as_json else f"{text}\n"
        # Only the picture goes to standard output.
        _note(said.rstrip("\n")) if output == STANDARD_OUTPUT else _print(said)
    if output and output != STANDARD_OUTPUT:
        _note(f"Saved: {Path(output).expanduser().absolute()}")
    return 0


def deliver_rows(results: Sequence[types.CallToolResult], table: AnswerTable, file: str, *, replaces: bool) -> int:
    """Save the rows of all pages; return the exit code.

    Raises:
        SettingsError: the file cannot be written.
    """
    last = results[-1]
    answers: list[dict[str, Any]] = [each.structured_content for each in results if not each.is_error]
    if answers and not table.has_rows(answers):
        raise _no_rows("this answer")
    if answers:
        save(file, table.text(answers), replaces=replaces)
        where = "standard output" if file == STANDARD_OUTPUT else str(Path(file).expanduser().absolute())
        _note(f"Saved: {where}, {table.count(answers)} rows")
        if more := answers[-1].get("more"):
            _note(f"More rows: {more}")
    return deliver(last, Delivery()) if last.is_error else 0


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
    """Call one tool, or list the tools; return the exit code.

    Raises:
        SettingsError: a setting, a value or the output file cannot be used.
    """
    settings = prepare(Verbosity.of(options))
    if not options.demo:
        return _run(options, settings)
    from mcp_binance_server.cli.demo import demo_settings  # noqa: PLC0415 - needed only with --demo

    with demo_settings(trades=True) as offline:
        return _run(options, offline)


def _run(options: argparse.Namespace, settings: Settings) -> int:
    # Leave out tools that only serve MCP Apps pages, because a terminal cannot show these pages.
    tools = CATALOGUE.only(
        frozenset(settings.toolsets),
        live=settings.orderbook_analytics,
        chart_app=False,
        trading=settings.trading != "off",
    ).tools
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
    table = _table(tool, options) if options.csv else None
    if table is not None and (most := tool.input_schema["properties"].get("limit", {}).get("maximum")):
        arguments.setdefault("limit", most)
    results = run(_ask, options, settings, tool.name, arguments)
    if table is None:
        code = deliver(results[0], Delivery(options.json, options.output))
    else:
        code = deliver_rows(results, table, options.csv, replaces=options.replace)
    if code == EXIT_FAILED and _is_misused(results[0]):
        sys.stderr.write(f"\n{needs(tool, terminal)}")
        return EXIT_USAGE
    return code


def _table(tool: ToolSpec[Any], options: argparse.Namespace) -> AnswerTable:
    table = AnswerTable.of(tool.wire.output_schema)
    if table is None:
        raise _no_rows(f"the answer of {tool.name}")
    refuse_existing(options.csv, replaces=options.replace)
    return table


def _no_rows(what: str) -> SettingsError:
    return SettingsError(problems=(f"--csv: {what} has no rows; --json prints the whole answer",))


async def _ask(
    options: argparse.Namespace, settings: Settings, tool: str, arguments: dict[str, object]
) -> list[types.CallToolResult]:
    async with _app(options, settings) as app:
        results = [await app.dispatcher.call_tool(None, tool, arguments)]
        while options.csv and len(results) < MOST_PAGES and (following := (results[-1].meta or {}).get(NEXT_PAGE)):
            results.append(await app.dispatcher.call_tool(None, tool, following))
        return results


@asynccontextmanager
async def _app(options: argparse.Namespace, settings: Settings) -> AsyncGenerator[App]:
    if not options.demo:
        async with running_app(settings) as app:
            yield app
        return
    from mcp_binance_server.cli.offline import DEMO_SEED, offline_app  # noqa: PLC0415 - needed only with --demo

    async with offline_app(settings, seed=DEMO_SEED) as app:
        yield app


def _unknown(name: str, tools: Sequence[ToolSpec[Any]]) -> str:
    near = nearest(name, tools)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"Unknown tool '{echo(name)}'.{meant}\nList all: mcp-binance-server ask\n"


def _is_misused(result: types.CallToolResult) -> bool:
    return bool(result.structured_content) and result.structured_content.get("error_type") == "invalid_arguments"
