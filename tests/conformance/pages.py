"""Resources and prompts that the suite reads."""

from collections.abc import Sequence

from mcp import types
from mcp.shared.uri_template import UriTemplate

from conformance.fixtures import IMAGE, PNG, embedded, shown, text
from conformance.rounds import prompt_in_context
from mcp_binance_server.errors import InvalidArguments, ResourceNotFound
from mcp_binance_server.surface.errors import RequestContext

TEMPLATE = UriTemplate.parse("test://template/{id}/data")
RESOURCES = [
    types.Resource(uri="test://static-text", name="Static text", description="Text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="Static image", description="A pixel.", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="Watched", description="May change.", mime_type="text/plain"),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=str(TEMPLATE), name="Template", description="An id, repeated.", mime_type="application/json"
    )
]
TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "This is the content of the watched resource.",
}


async def read_resource(_ctx: RequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = params.uri
    if uri == "test://static-binary":
        pixel = types.BlobResourceContents(uri=uri, blob=PNG, mime_type="image/png")
        return types.ReadResourceResult(contents=[pixel])
    if uri in TEXTS:
        return _page(uri, "text/plain", TEXTS[uri])
    if (found := TEMPLATE.match(uri)) is not None:
        data = {"id": found["id"], "templateTest": True, "data": f"Data for ID: {found['id']}"}
        return _page(uri, "application/json", shown(data))
    raise ResourceNotFound(provided_uri=uri)


def _page(uri: str, mime_type: str, words: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)])


def _prompt(name: str, description: str, *arguments: str) -> types.Prompt:
    taken = [types.PromptArgument(name=each, description=f"The {each}.", required=True) for each in arguments]
    return types.Prompt(name=name, description=description, arguments=taken)


PROMPTS = [
    _prompt("test_simple_prompt", "One message."),
    _prompt("test_prompt_with_arguments", "Repeats its arguments.", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "Embeds a resource.", "resourceUri"),
    _prompt("test_prompt_with_image", "Shows an image."),
    _prompt("test_input_required_result_prompt", "Needs a context first."),
]


async def get_prompt(
    _ctx: RequestContext, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _messages([text("This is a simple prompt for testing.")])
        case "test_prompt_with_arguments":
            words = f"Prompt with arguments: arg1='{given.get('arg1', '')}', arg2='{given.get('arg2', '')}'"
            return _messages([text(words)])
        case "test_prompt_with_embedded_resource":
            uri = given.get("resourceUri", "test://static-text")
            resource = embedded(uri, "text/plain", "Embedded resource content for testing.")
            return _messages([resource, text("Please process the embedded resource above.")])
        case "test_prompt_with_image":
            return _messages([IMAGE, text("Please analyze the image above.")])
        case "test_input_required_result_prompt":
            return await prompt_in_context(params)
        case _:
            raise InvalidArguments(summary=f"Unknown prompt: {params.name}")


def _messages(contents: Sequence[types.ContentBlock]) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in contents])
