"""Counts what is asked, for whom, and what becomes of it."""

from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.surface.caller import caller_of
from mcp_binance_server.surface.errors import RequestContext
from mcp_binance_server.telemetry.metrics import Metrics
from mcp_binance_server.transports.http.loop_use import LOOP_REQUEST, LoopRequest

LISTEN = "subscriptions/listen"
# A caller can name any method: only these become a label, or one client could fill the host's database.
METHODS = frozenset({
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
    "resources/read", "resources/subscribe", "resources/unsubscribe", LISTEN, "prompts/list",
    "prompts/get", "completion/complete", "notifications/initialized", "notifications/cancelled",
})  # fmt: skip


async def for_caller(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
    """Have what a request uses count for who makes it."""
    caller = caller_of(ctx)
    charged: LoopRequest | None = None if ctx.request is None else ctx.request.scope.get(LOOP_REQUEST)
    with acting_for(caller.party if caller else ""):
        work = call_next(ctx)
        return await (work if charged is None else charged.charging(work))


def counting_requests(metrics: Metrics, clock: Clock) -> ServerMiddleware[Any]:
    """Return the middleware that counts requests by method and outcome."""

    async def count(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        method = ctx.method if ctx.method in METHODS else "other"
        started_ms, outcome = clock.monotonic_ms(), "cancelled"
        try:
            result = await call_next(ctx)
        except MCPError as error:
            outcome = str(error.code)
            raise
        else:
            outcome = "tool_error" if isinstance(result, dict) and result.get("isError") else "ok"
            return result
        finally:
            seconds = (clock.monotonic_ms() - started_ms) / 1000
            metrics.request(method, outcome, None if method == LISTEN else seconds)

    return count


def counting_answers(app: ASGIApp, metrics: Metrics, routes: frozenset[str]) -> ASGIApp:
    """Return the application with its HTTP answers counted by route and status."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["path"] if scope["path"] in routes else "other"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                metrics.answer(route, message["status"])
            await send(message)

        await app(scope, receive, sending)

    return counted
