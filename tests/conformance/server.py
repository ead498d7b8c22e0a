"""A server with everything that the suite looks for, built as ours is: guarded handlers, errors by our own names."""

from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)

from conformance.contents import CONTENTS
from conformance.fixtures import Run, Tool, ToolAnswer, said
from conformance.pages import PROMPTS, RESOURCES, TEMPLATES, get_prompt, read_resource
from conformance.questions import QUESTIONS
from conformance.rounds import ROUNDS
from mcp_binance_server.errors import AppError, InvalidArguments, echo
from mcp_binance_server.surface.errors import RequestContext, guarded, tool_failure
from mcp_binance_server.surface.server import LISTS_KEEP

Paginated = types.PaginatedRequestParams | None


class Fixtures:
    """The protocol's methods, over the suite's tools, pages and prompts."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        changing = (
            Tool("test_trigger_tool_change", "Says that the tools changed.", self._telling(ToolsListChanged())),
            Tool("test_trigger_prompt_change", "Says that the prompts changed.", self._telling(PromptsListChanged())),
        )
        self.tools = {tool.name: tool for tool in (*CONTENTS, *QUESTIONS, *ROUNDS, *changing)}

    def _telling(self, event: ServerEvent) -> Run:
        async def run(ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
            await self.bus.publish(event)
            if isinstance(event, ToolsListChanged):
                await ctx.session.send_tool_list_changed()
            return said("told")

        return run

    async def list_tools(self, _ctx: RequestContext, _params: Paginated) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.wire for tool in self.tools.values()])

    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> ToolAnswer:
        tool = self.tools.get(params.name)
        if tool is None:
            raise InvalidArguments(summary=f"Unknown tool: {echo(params.name)}")
        try:
            return await tool.run(ctx, params)
        except AppError as error:
            return tool_failure(error)


async def list_resources(_ctx: RequestContext, _params: Paginated) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=RESOURCES)


async def list_templates(_ctx: RequestContext, _params: Paginated) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)


async def list_prompts(_ctx: RequestContext, _params: Paginated) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=PROMPTS)


async def complete(_ctx: RequestContext, _params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def accept(_ctx: RequestContext, _params: object) -> types.EmptyResult:
    return types.EmptyResult()


def build_server() -> Server[Any]:
    """Return the suite's server; a sealed state goes with every question of 2026-07-28."""
    fixtures = Fixtures()
    server: Server[Any] = Server(
        "conformance",
        version="1",
        cache_hints={"tools/list": LISTS_KEEP, "prompts/list": LISTS_KEEP, "resources/list": LISTS_KEEP},
        get_tool_input_schema=lambda name: tool.schema if (tool := fixtures.tools.get(name)) else None,
        on_list_tools=guarded(fixtures.list_tools),
        on_call_tool=guarded(fixtures.call_tool),
        on_list_resources=guarded(list_resources),
        on_list_resource_templates=guarded(list_templates),
        on_read_resource=guarded(read_resource),
        on_subscribe_resource=guarded(accept),
        on_unsubscribe_resource=guarded(accept),
        on_subscriptions_listen=ListenHandler(fixtures.bus),
        on_list_prompts=guarded(list_prompts),
        on_get_prompt=guarded(get_prompt),
        on_completion=guarded(complete),
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, guarded(accept))
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server
