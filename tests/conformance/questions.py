"""Tools that ask the client while they run, as the revisions with a handshake do it."""

from mcp import types
from mcp.shared.message import ServerMessageMetadata

from conformance.fixtures import Schema, Tool, said, shown, strings, text
from mcp_binance_server.surface.errors import RequestContext

DEFAULTS: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"), (3, "Third"))]
CHOICES: Schema = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


async def ask(ctx: RequestContext, message: str, schema: Schema) -> types.CallToolResult:
    # Without the id the question would go to the session's own stream, which the client may not have open.
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return said(f"User response: action={answer.action}, content={shown(answer.content)}")


async def ask_who(ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    message = str((params.arguments or {}).get("message", "Who are you?"))
    return await ask(ctx, message, strings("username", "email"))


async def ask_with_defaults(ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
    return await ask(ctx, "Please check your details", DEFAULTS)


async def ask_to_choose(ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
    return await ask(ctx, "Please choose", CHOICES)


async def sample(ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    words = str((params.arguments or {}).get("prompt", ""))
    request = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=text(words))], max_tokens=100
        )
    )
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(request, types.CreateMessageResult, metadata=metadata)
    return said(f"LLM response: {answer.content.text if isinstance(answer.content, types.TextContent) else ''}")


QUESTIONS = (
    Tool("test_elicitation", "Asks for a name and an address.", ask_who, strings("message")),
    Tool("test_elicitation_sep1034_defaults", "Asks with defaults.", ask_with_defaults),
    Tool("test_elicitation_sep1330_enums", "Asks to choose, in every form of choice.", ask_to_choose),
    Tool("test_sampling", "Asks the client's model.", sample, strings("prompt")),
)
