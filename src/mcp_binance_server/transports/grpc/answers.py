"""The dispatcher's answers as messages of provider.v1. Pure."""

from base64 import b64decode
from typing import Any

import msgspec
from mcp import types

from mcp_binance_server import __version__
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.greeting import NAME
from mcp_binance_server.surface.spec import PromptSpec, ToolSpec
from mcp_binance_server.transports.grpc.events import EVENTS
from mcp_binance_server.transports.proto import provider_pb2 as pb


def json_text(value: object) -> str:
    """Return JSON, or no text for what is not there."""
    return "" if value is None else msgspec.json.encode(value).decode()


def capabilities(catalogue: Catalogue) -> pb.ListCapabilitiesResponse:
    """List everything a caller can ask for, in the order of the catalogue."""
    return pb.ListCapabilitiesResponse(
        server_name=NAME,
        server_version=__version__,
        tools=[_tool(spec) for spec in catalogue.tools],
        resources=[
            pb.Resource(uri=each.uri, name=each.name, description=each.description, mime_type=each.wire.mime_type)
            for each in catalogue.resources
        ],
        templates=[
            pb.ResourceTemplate(
                uri_template=each.uri_template,
                name=each.name,
                description=each.description,
                mime_type=each.wire.mime_type,
            )
            for each in catalogue.templates
        ],
        prompts=[_prompt(spec) for spec in catalogue.prompts],
        events=[pb.EventType(type=each.type, kind=each.kind, description=each.description) for each in EVENTS],
    )


def _tool(spec: ToolSpec[Any]) -> pb.Tool:
    return pb.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema_json=json_text(spec.wire.input_schema),
        output_schema_json=json_text(spec.wire.output_schema),
        read_only=spec.read_only,
        scope=spec.scope,
    )


def _prompt(spec: PromptSpec[Any]) -> pb.Prompt:
    listed = [
        pb.PromptArgument(name=each.name, description=each.description, required=each.required)
        for each in spec.wire.arguments or ()
    ]
    return pb.Prompt(name=spec.name, description=spec.description, arguments=listed, scope=spec.scope)


def invoked(result: types.CallToolResult) -> pb.InvokeResponse:
    """Return a tool's answer: its text, the same as data, and what is neither."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return pb.InvokeResponse(
        text="\n\n".join(texts),
        structured_json=json_text(result.structured_content),
        is_error=bool(result.is_error),
        attachments=[_attachment(block) for block in result.content if not isinstance(block, types.TextContent)],
    )


def _attachment(block: types.ContentBlock) -> pb.Attachment:
    match block:
        case types.ImageContent():
            return pb.Attachment(mime_type=block.mime_type, data=b64decode(block.data))
        case types.ResourceLink():
            return pb.Attachment(mime_type=block.mime_type, uri=block.uri)
        case _:
            raise TypeError(f"no tool attaches {type(block).__name__}")


def page(result: types.ReadResourceResult) -> pb.ReadResourceResponse:
    return pb.ReadResourceResponse(
        contents=[_contents(each) for each in result.contents],
        keep_ms=result.ttl_ms,
        shareable=result.cache_scope == "public",
    )


def _contents(contents: types.TextResourceContents | types.BlobResourceContents) -> pb.ResourceContents:
    meta = json_text(contents.meta) if contents.meta else ""
    if isinstance(contents, types.BlobResourceContents):
        data = b64decode(contents.blob)
        return pb.ResourceContents(uri=contents.uri, mime_type=contents.mime_type, data=data, meta_json=meta)
    return pb.ResourceContents(uri=contents.uri, mime_type=contents.mime_type, text=contents.text, meta_json=meta)


def prompt(result: types.GetPromptResult) -> pb.GetPromptResponse:
    messages = [
        pb.PromptMessage(role=each.role, text=each.content.text)
        for each in result.messages
        if isinstance(each.content, types.TextContent)
    ]
    return pb.GetPromptResponse(description=result.description, messages=messages)
