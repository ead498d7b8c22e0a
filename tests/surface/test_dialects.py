"""Every input schema in the dialects of Gemini, OpenAI, VS Code and Claude Desktop, checked offline."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.types import Tool

from mcp_binance_server.surface.catalogue import CATALOGUE

Schema = dict[str, Any]
TOOLS = [spec.wire for spec in CATALOGUE.tools]
# https://ai.google.dev/api/caching#Schema, and `additionalProperties`, which `parametersJsonSchema` knows.
GEMINI = {
    "additionalProperties", "anyOf", "default", "description", "enum", "example", "format", "items", "maxItems",
    "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern",
    "properties", "propertyOrdering", "required", "title", "type",
}  # fmt: skip
# Their `config` is an object without listed members; strict modes use its text, `chart`, instead.
FREE_FORM = {"generate_chart_image", "get_chart_bars", "validate_chart_config"}


def nodes(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and every schema inside it."""
    yield schema
    for each in schema.get("properties", {}).values():
        yield from nodes(each)
    if "items" in schema:
        yield from nodes(schema["items"])


@pytest.mark.parametrize("prefix", ["mcp_binance_", "mcp__binance__", "binance__"])
def test_a_name_behind_the_prefix_of_a_client_fits_its_model(prefix: str) -> None:
    names = [f"{prefix}{tool.name}" for tool in TOOLS]

    # Gemini and OpenAI take 64 characters of these; Gemini's first one is a letter or an underscore.
    assert [name for name in names if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name)] == []
    assert max(len(tool.description or "") for tool in TOOLS) <= 1024


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_gemini_knows_every_keyword(tool: Tool) -> None:
    for node in nodes(tool.input_schema):
        assert {*node} <= GEMINI
        # https://github.com/microsoft/azure-devops-mcp/issues/139: one list of numbers, and it refuses all tools.
        assert node["type"] == "string" or "enum" not in node
        assert {*node.get("required", ())} <= {*node.get("properties", {})}


def test_openai_can_declare_every_tool_strictly_except_those_with_a_free_configuration() -> None:
    # Each object lists its members and is closed: https://platform.openai.com/docs/guides/structured-outputs
    free = {
        tool.name
        for tool in TOOLS
        for node in nodes(tool.input_schema)
        if node["type"] == "object"
        and ("properties" not in node or node.get("additionalProperties", False) is not False)
    }

    assert free == FREE_FORM
    assert sum(len(node.get("properties", {})) for tool in TOOLS for node in nodes(tool.input_schema)) <= 5_000


def test_smolagents_finds_every_optional_argument_nullable() -> None:
    """Its check of a call ignores defaults: an argument without `nullable` is required."""
    members = [(tool, name, each) for tool in TOOLS for name, each in tool.input_schema.get("properties", {}).items()]
    optional = [
        (tool.name, name, each) for tool, name, each in members if name not in tool.input_schema.get("required", ())
    ]

    assert [(tool, name) for tool, name, each in optional if not each.get("nullable")] == []


def test_vscode_finds_the_items_of_every_array() -> None:
    # https://github.com/microsoft/vscode/issues/248810: it refuses a tool with an array without `items`.
    arrays = [node for tool in TOOLS for node in nodes(tool.input_schema) if node["type"] == "array"]

    assert arrays
    assert [node for node in arrays if "type" not in node.get("items", {})] == []


def test_claude_desktop_finds_one_object_with_plain_member_names() -> None:
    for tool in TOOLS:
        assert tool.input_schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & {*tool.input_schema}
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in tool.input_schema.get("properties", {}))
