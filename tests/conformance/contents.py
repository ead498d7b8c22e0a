"""Tools that answer at once: every kind of content, an error, progress, logs, schemas that must arrive unchanged."""

from mcp import types

from conformance.fixtures import AUDIO, IMAGE, Run, Schema, Tool, embedded, said, strings, text
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.surface.errors import RequestContext

# The suite looks for these keywords in the list of tools.
SCHEMA_2020_12: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", **strings("street", "city")}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
MIRRORED: Schema = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


def answering(*contents: types.ContentBlock) -> Run:
    async def run(_ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[*contents])

    return run


async def fail(_ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
    raise InvalidArguments(summary="This tool intentionally returns an error for testing")


async def report(ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed {done} of 100")
    return said("Tool with progress executed")


async def log(ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message(  # pyright: ignore[reportDeprecated] - the suite still asks for it
            "info", words, related_request_id=ctx.request_id
        )
    return said("Tool with logging executed")


CONTENTS = (
    Tool("test_simple_text", "Text.", answering(text("This is a simple text response for testing."))),
    Tool("test_image_content", "An image.", answering(IMAGE)),
    Tool("test_audio_content", "A sound.", answering(AUDIO)),
    Tool(
        "test_embedded_resource",
        "A resource inside the answer.",
        answering(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    Tool(
        "test_multiple_content_types",
        "Text, an image and a resource.",
        answering(
            text("Multiple content types test:"),
            IMAGE,
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
    ),
    Tool("test_error_handling", "Always fails.", fail),
    Tool("test_tool_with_progress", "Says how far it is.", report),
    Tool("test_tool_with_logging", "Writes three lines of log.", log),
    Tool("test_logging_tool", "Writes log to those who asked for it.", log),
    Tool("json_schema_2020_12_tool", "Has a schema of 2020-12.", answering(text("fits")), SCHEMA_2020_12),
    Tool("test_mirrored_argument", "Has an argument that a header repeats.", answering(text("same")), MIRRORED),
)
