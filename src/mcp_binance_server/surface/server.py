"""MCP server that answers `initialize` at once, and loads its tools in the background."""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types import SERVER_INFO_META_KEY
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import trace

from mcp_binance_server import __version__
from mcp_binance_server.surface.caller import caller_of
from mcp_binance_server.surface.errors import LAST_WORD_SECS, RequestContext, guarded, unwrapped
from mcp_binance_server.surface.greeting import (
    APP_TYPE,
    APPS,
    DESCRIPTION,
    ESSENTIAL,
    NAME,
    TITLE,
    WEBSITE,
    Lists,
    icon,
    instructions,
    read_lists,
)
from mcp_binance_server.surface.uris import GUIDE

if TYPE_CHECKING:
    from mcp_binance_server.surface.dispatch import Dispatcher
    from mcp_binance_server.surface.subscriptions import Subscriptions


ResultT = TypeVar("ResultT", bound=types.Result)
Paginated = types.PaginatedRequestParams | None
Opened = Callable[[], Awaitable["Dispatcher"]]
Extensions = dict[str, dict[str, Any]]
STAMP = {"name": NAME, "version": __version__}
LISTS_KEEP = CacheHint(ttl_ms=300_000, scope="public")
# Delay before loading. Loading slows other threads to half speed, so a client can read the lists first.
LISTS_FIRST_SECS = 0.2


@dataclass(frozen=True, slots=True)
class Offered:
    """Capabilities of a server besides its lists: change notifications, pages next to answers, and questions to users.

    `round_key` encrypts the state that a client returns with the answer to a question. Without `round_key`, a random
    key is used.
    """

    updates: bool
    views: bool
    questions: bool = False
    round_key: bytes | None = field(default=None, repr=False)


class Opening:
    """Future for the dispatcher. Consumers wait until it exists, and the producer waits until a consumer needs it."""

    def __init__(self) -> None:
        self._dispatcher: Dispatcher | None = None
        self._failure: Exception | None = None
        self._soon, self._needed, self._decided, self._over = anyio.Event(), anyio.Event(), anyio.Event(), anyio.Event()

    def begin(self) -> None:
        """Signal that the dispatcher will soon be needed."""
        self._soon.set()

    async def opened(self) -> "Dispatcher":
        """Wait for the dispatcher and return it, or raise the error of its creation."""
        while self._dispatcher is None:
            self._soon.set()
            self._needed.set()
            await self._decided.wait()
            if self._failure is not None:
                raise self._failure
        return self._dispatcher

    @property
    def is_decided(self) -> bool:
        """Whether the dispatcher exists or could not be created."""
        return self._decided.is_set()

    def end(self) -> None:
        """Signal that the dispatcher is no longer needed."""
        self._over.set()
        self._soon.set()
        self._needed.set()

    async def is_needed(self) -> bool:
        """Wait until the dispatcher is needed.

        Return False after `end`. After `begin`, wait up to 0.2 s longer, so that the client can first read the lists.
        """
        await self._soon.wait()
        with anyio.move_on_after(LISTS_FIRST_SECS):
            await self._needed.wait()
        return not self._over.is_set()

    async def keep(self, dispatcher: "Dispatcher") -> None:
        """Give the dispatcher to consumers until `end`."""
        self._dispatcher = dispatcher
        self._decided.set()
        await self._over.wait()

    async def refuse(self, failure: Exception) -> None:
        """Raise the error in consumers until `end`."""
        self._dispatcher, self._failure = None, unwrapped(failure)
        self._decided.set()
        await self._over.wait()


class Surface:
    """Handlers of the MCP methods. Each handler passes its parameters to the dispatcher."""

    def __init__(self, opened: Opened, lists: Callable[[], Lists], extensions: Extensions) -> None:
        self._opened, self._lists, self._extensions = opened, lists, extensions

    async def list_tools(self, _ctx: RequestContext, _params: Paginated) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._lists().tools)

    async def call_tool(
        self, ctx: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        ask = await self._opened()
        asker = ask.asker_of(ctx, params)
        report = ctx.session.report_progress
        return _stamped(ctx, await ask.call_tool(caller_of(ctx), params.name, params.arguments, report, asker))

    async def list_resources(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=self._lists().resources)

    async def list_templates(self, _ctx: RequestContext, _params: Paginated) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=self._lists().templates)

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        ask = await self._opened()
        return _stamped(ctx, await ask.read_resource(caller_of(ctx), params.uri))

    async def list_prompts(self, _ctx: RequestContext, _params: Paginated) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=self._lists().prompts)

    async def get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        ask = await self._opened()
        return await ask.get_prompt(caller_of(ctx), params.name, params.arguments)

    async def complete(self, _ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        ask = await self._opened()
        return types.CompleteResult(completion=await ask.complete(params))

    async def subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        return await _subscriptions(await self._opened()).subscribe(ctx, params)

    async def unsubscribe(self, ctx: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        return await _subscriptions(await self._opened()).unsubscribe(ctx, params)

    async def listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await _subscriptions(await self._opened()).listen(ctx, params)

    async def finish(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Complete and shorten the results of the SDK: extensions, templates, and the server's name and version."""
        result = await call_next(ctx)
        if not isinstance(result, dict):
            return result
        if ctx.method == "server/discover":
            return _lists_stay(result)
        # Older revisions do not define extensions, but hosts read them.
        if ctx.method == "initialize" and self._extensions:
            return {**result, "capabilities": {**result["capabilities"], "extensions": self._extensions}}
        # The guide contract requires templates in this list. MCP lists them separately.
        if ctx.method == "resources/list":
            templates = self._lists().templates
            listed = [each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in templates]
            result = {**result, "resourceTemplates": listed}
        return _short_stamp(result)


def build_server(dispatcher: "Dispatcher", round_key: bytes | None = None) -> Server[Any]:
    """Return the MCP server for an existing dispatcher.

    Servers with the same `round_key` accept the answers to each other's questions.
    """

    async def opened() -> "Dispatcher":
        return dispatcher

    catalogue = dispatcher.catalogue
    has_updates = bool(dispatcher.observable_pages)
    live = any(spec.live for spec in catalogue.tools)
    guard = partial(guarded, has_guides=catalogue.has_guides, longest_secs=dispatcher.longest_secs + LAST_WORD_SECS)
    offered = Offered(has_updates, catalogue.has_views, catalogue.asks, round_key)
    trading = dispatcher.context.trading
    told = instructions(
        catalogue.toolsets,
        live=live,
        trading="off" if trading is None else trading.mode,
        simulated=dispatcher.context.market.client.caller.network.simulated,
    )
    server = _server(opened, lambda: catalogue.lists, told, guard, offered)
    server.get_tool_input_schema = catalogue.input_schema  # only the HTTP transport needs the setting
    return server


def build_early_server(
    opening: Opening,
    toolsets: AbstractSet[str],
    *,
    live: bool,
    has_updates: bool,
    has_views: bool,
    trading: str = "off",
    simulated: bool = False,
    round_key: bytes | None = None,
) -> Server[Any]:
    """Return an MCP server that answers `initialize` at once, and waits for its dispatcher later."""
    guard = partial(guarded, has_guides=GUIDE in toolsets)
    asks = trading != "off" and bool(toolsets & {"trade", ESSENTIAL})
    read = cache(partial(read_lists, toolsets, live=live, chart_app=has_views, trading=asks))

    def lists() -> Lists:
        opening.begin()
        return read()

    offered = Offered(has_updates, has_views, asks, round_key)
    told = instructions(toolsets, live=live, trading=trading, simulated=simulated)
    server = _server(opening.opened, lists, told, guard, offered)

    async def begin(_ctx: RequestContext, _params: types.NotificationParams) -> None:
        opening.begin()

    server.add_notification_handler("notifications/initialized", types.NotificationParams, begin)
    return server


def _server(
    opened: Opened, lists: Callable[[], Lists], told: str, guard: "partial[Any]", offered: Offered
) -> Server[Any]:
    extensions: Extensions = {APPS: {"mimeTypes": [APP_TYPE]}} if offered.views else {}
    surface = Surface(opened, lists, extensions)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        description=DESCRIPTION,
        website_url=WEBSITE,
        icons=[icon()],
        instructions=told,
        cache_hints={
            "tools/list": LISTS_KEEP,
            "prompts/list": LISTS_KEEP,
            "resources/list": LISTS_KEEP,
            "resources/templates/list": LISTS_KEEP,
        },
        on_list_tools=guard(surface.list_tools),
        on_call_tool=guard(surface.call_tool),
        on_list_resources=guard(surface.list_resources),
        on_list_resource_templates=guard(surface.list_templates),
        on_read_resource=guard(surface.read_resource),
        on_list_prompts=guard(surface.list_prompts),
        on_get_prompt=guard(surface.get_prompt),
        on_completion=guard(surface.complete),
    )
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        server.middleware.clear()  # no tracing is configured, so skip the SDK's spans
    server.middleware.append(surface.finish)
    if offered.questions:
        from mcp_binance_server.surface.confirm import ROUND_SECS, asked_by  # noqa: PLC0415 - for questions only

        key = offered.round_key or token_bytes(32)
        security = RequestStateSecurity(keys=[key], ttl=ROUND_SECS, bind_principal=asked_by)
        server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    if offered.updates:  # the SDK announces every registered method
        add = server.add_request_handler
        add("resources/subscribe", types.SubscribeRequestParams, guard(surface.subscribe))
        add("resources/unsubscribe", types.UnsubscribeRequestParams, guard(surface.unsubscribe))
        add("subscriptions/listen", types.SubscriptionsListenRequestParams, guard(surface.listen, longest_secs=inf))
    server.extensions.update(extensions)
    return server


def _stamped(ctx: RequestContext, result: ResultT) -> ResultT:
    """Add a short server stamp (name and version).

    Revision 2026-07-28 stamps every result, and the SDK would repeat the icon in each.
    """
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return result
    return result.model_copy(update={"meta": {**(result.meta or {}), SERVER_INFO_META_KEY: STAMP}})


def _short_stamp(result: dict[str, Any]) -> HandlerResult:
    """Shorten the SDK's own stamp on results without a stamp from a handler."""
    match result.get("_meta"):
        case {"io.modelcontextprotocol/serverInfo": {"icons": _}, **rest}:
            return {**result, "_meta": {**rest, SERVER_INFO_META_KEY: STAMP}}
        case _:
            return result


def _lists_stay(result: dict[str, Any]) -> HandlerResult:
    """Declare that lists never change. The SDK declares the opposite for a server with subscriptions."""
    told: dict[str, Any] = {
        name: {**each, "listChanged": False} if "listChanged" in each else each
        for name, each in result["capabilities"].items()
    }
    return {**result, "capabilities": told}


def _subscriptions(dispatcher: "Dispatcher") -> "Subscriptions":
    from mcp_binance_server.surface.subscriptions import Subscriptions  # noqa: PLC0415 - loaded with the dispatcher

    return Subscriptions(dispatcher)
