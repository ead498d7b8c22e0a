"""The MCP server: every method of the protocol, as the SDK hands it to us."""

from functools import partial
from typing import Any

from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server

from mcp_binance_server import __version__
from mcp_binance_server.surface.caller import caller_of
from mcp_binance_server.surface.completions import complete
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import RequestContext, guarded

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
    """The protocol's methods: parameters in, the dispatcher's answer out."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._ask = dispatcher
        self._catalogue = dispatcher.catalogue

    async def list_tools(self, _ctx: RequestContext, _params: Paginated) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[spec.wire for spec in self._catalogue.tools])

    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await self._ask.call_tool(caller_of(ctx), params.name, params.arguments, ctx.session.report_progress)

    async def list_resources(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[spec.wire for spec in self._catalogue.resources])

    async def list_templates(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[spec.wire for spec in self._catalogue.templates])

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await self._ask.read_resource(caller_of(ctx), params.uri)

    async def list_prompts(self, _ctx: RequestContext, _params: Paginated) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[spec.wire for spec in self._catalogue.prompts])

    async def get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await self._ask.get_prompt(caller_of(ctx), params.name, params.arguments)

    async def complete(self, _ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=await complete(self._ask.context, params))

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


def build_server(dispatcher: Dispatcher) -> Server[Any]:
    """Return the one MCP server that every transport drives."""
    surface, catalogue = Surface(dispatcher), dispatcher.catalogue
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
