"""What a fixture of the suite is: a tool with a name that the suite calls, and the smallest contents of every kind."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp import types

from mcp_binance_server.surface.errors import RequestContext

ToolAnswer = types.CallToolResult | types.InputRequiredResult
Run = Callable[[RequestContext, types.CallToolRequestParams], Awaitable[ToolAnswer]]
Schema = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def nothing() -> Schema:
    return {"type": "object", "properties": {}}


def strings(*names: str) -> Schema:
    """Return the schema of an object that has these strings and must have them all."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the suite."""

    name: str
    description: str
    run: Run
    schema: Schema = field(default_factory=nothing)

    @property
    def wire(self) -> types.Tool:
        return types.Tool(name=self.name, description=self.description, input_schema=self.schema)


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


def said(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


def shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
