"""The MCP server: every method of the protocol, answered from the catalogue."""

from base64 import b64encode
from dataclasses import replace
from functools import partial
from typing import Any

from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from pydantic import ValidationError

from mcp_binance_server import __version__
from mcp_binance_server.errors import AppError, InvalidArguments, ResourceNotFound, echo
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.completions import complete
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.errors import RequestContext, bad_arguments, guarded, tool_failure
from mcp_binance_server.surface.spec import Page, Picture
from mcp_binance_server.surface.uris import parse

NAME = "mcp-binance-server"
INSTRUCTIONS = (
    "Live Binance spot data, read only: nothing here places an order. Read binance://market/{symbol} for a page on one "
    "trading pair, or call get_ticker for the same numbers as data; search_symbols finds a pair by name. Account and "
    "order pages need the user's API key. For a judgement use the prompts trading_analysis and portfolio_risk; for the "
    "order book and who trades, get_orderbook_metrics and get_order_flow first. For a chart pass the user's words to "
    "construct_chart_config and its config to generate_chart_image. Symbols have no separator: BTCUSDT, not BTC/USDT. "
    "Every answer says when its data was true. Playbooks on markets, risk, orders and errors: guide://help or "
    "list_guides; an error's `guide` names the page to read."
)
Paginated = types.PaginatedRequestParams | None
LISTS_KEEP = CacheHint(ttl_ms=300_000, scope="public")


class Surface:
    """Answers each MCP method by looking up one record and running it."""

    def __init__(self, catalogue: Catalogue, context: Context) -> None:
        self._catalogue = catalogue
        self._context = context
        self._has_guides = catalogue.has_guides

    async def list_tools(self, _ctx: RequestContext, _params: Paginated) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[spec.wire for spec in self._catalogue.tools])

    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        spec = self._catalogue.tool(params.name)
        if spec is None:
            raise InvalidArguments(summary=f"Unknown tool: {echo(params.name)}")
        try:
            arguments = spec.arguments.model_validate(params.arguments or {})
        except ValidationError as error:
            return tool_failure(bad_arguments(spec.name, error), has_guides=self._has_guides)
        try:
            context = replace(self._context, progress=ctx.session.report_progress) if spec.slow else self._context
            answer = await spec.run(context, arguments)
        except AppError as error:
            return tool_failure(error, has_guides=self._has_guides)
        text = types.TextContent(type="text", text=answer.text)
        structured = answer.structured.model_dump(mode="json")
        return types.CallToolResult(content=[text, *answer.attached], structured_content=structured)

    async def list_resources(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[spec.wire for spec in self._catalogue.resources])

    async def list_templates(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[spec.wire for spec in self._catalogue.templates])

    async def read_resource(
        self, _ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        address = parse(params.uri)
        reader = self._catalogue.readers.get(address.category)
        if reader is None:
            raise ResourceNotFound(provided_uri=params.uri)
        page = await reader(self._context, address.identifier)
        contents = _contents(params.uri, page)
        scope = "public" if page.shareable else "private"
        return types.ReadResourceResult(contents=[contents], ttl_ms=page.keep_ms, cache_scope=scope)

    async def list_prompts(self, _ctx: RequestContext, _params: Paginated) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[spec.wire for spec in self._catalogue.prompts])

    async def get_prompt(self, _ctx: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        spec = self._catalogue.prompt(params.name)
        if spec is None:
            raise InvalidArguments(summary=f"Unknown prompt: {echo(params.name)}")
        try:
            arguments = spec.arguments.model_validate(params.arguments or {})
        except ValidationError as error:
            raise bad_arguments(spec.name, error) from None
        content = types.TextContent(type="text", text=await spec.render(self._context, arguments))
        message = types.PromptMessage(role="user", content=content)
        return types.GetPromptResult(description=spec.description, messages=[message])

    async def complete(self, _ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=await complete(self._context, params))

    async def templates_in_resource_list(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Add the templates to the resource list, as the guide contract asks; MCP lists them separately too."""
        result = await call_next(ctx)
        if ctx.method == "resources/list" and isinstance(result, dict):
            listed = [
                spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True)
                for spec in self._catalogue.templates
            ]
            return {**result, "resourceTemplates": listed}
        return result


def _contents(uri: str, page: Page | Picture) -> types.TextResourceContents | types.BlobResourceContents:
    if isinstance(page, Picture):
        blob = b64encode(page.data).decode("ascii")
        return types.BlobResourceContents(uri=uri, blob=blob, mime_type=page.mime_type)
    return types.TextResourceContents(uri=uri, text=page.text, mime_type=page.mime_type, _meta=page.meta)


def build_server(catalogue: Catalogue, context: Context) -> Server[Any]:
    """Return the one MCP server that every transport drives."""
    surface = Surface(catalogue, context)
    guard = partial(guarded, has_guides=catalogue.has_guides)

    def input_schema(name: str) -> dict[str, Any] | None:
        # Made when it is asked for: the schemas of all tools would cost a twentieth of the start.
        spec = catalogue.tool(name)
        return None if spec is None else spec.input_schema

    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title="Binance",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": LISTS_KEEP,
            "prompts/list": LISTS_KEEP,
            "resources/list": LISTS_KEEP,
            "resources/templates/list": LISTS_KEEP,
        },
        get_tool_input_schema=input_schema,
        on_list_tools=guard(surface.list_tools),
        on_call_tool=guard(surface.call_tool),
        on_list_resources=guard(surface.list_resources),
        on_list_resource_templates=guard(surface.list_templates),
        on_read_resource=guard(surface.read_resource),
        on_list_prompts=guard(surface.list_prompts),
        on_get_prompt=guard(surface.get_prompt),
        on_completion=guard(surface.complete),
    )
    server.middleware.append(surface.templates_in_resource_list)
    return server
