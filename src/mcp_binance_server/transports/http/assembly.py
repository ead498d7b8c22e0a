"""Assembly of the HTTP application with its middleware and metrics."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from math import nan
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.lowlevel import Server
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.sessions.model import new_connection_id
from mcp_binance_server.sessions.registry import Registry
from mcp_binance_server.surface.caller import caller_of
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import RequestContext
from mcp_binance_server.telemetry.metrics import Gauges, Metrics
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.transports.arrival import Proxies
from mcp_binance_server.transports.http.admission.guard import Guard
from mcp_binance_server.transports.http.admission.hosts import Allowed, Forwarded
from mcp_binance_server.transports.http.admission.refusals import contained
from mcp_binance_server.transports.http.app import PROBES, ROUTES, Authentication, HttpApp, Probes
from mcp_binance_server.transports.http.front_page import LIVE, Showcase
from mcp_binance_server.transports.http.mcp.sessions import HttpSessions
from mcp_binance_server.transports.http.relay import Relay, RelayedRequests, WorkerSlot
from mcp_binance_server.transports.http.server.fairness import Turns
from mcp_binance_server.transports.http.server.loop_use import LOOP_REQUEST, LoopRequest, LoopUse

LISTEN = "subscriptions/listen"
# Method names that metrics show. A caller can send any name, so without a fixed set one client could fill the metrics
# database.
METHODS = frozenset({
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
    "resources/read", "resources/subscribe", "resources/unsubscribe", LISTEN, "prompts/list",
    "prompts/get", "completion/complete", "notifications/initialized", "notifications/cancelled",
})  # fmt: skip


async def for_caller(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
    """Middleware that charges a request to its caller: CPU time, and the caller's share of all limits."""
    caller = caller_of(ctx)
    charged: LoopRequest | None = None if ctx.request is None else ctx.request.scope.get(LOOP_REQUEST)
    with acting_for(caller.party if caller else ""):
        work = call_next(ctx)
        return await (work if charged is None else charged.charging(work))


def counting_requests(metrics: Metrics, clock: Clock) -> ServerMiddleware[Any]:
    """Return MCP middleware that counts requests by method and outcome."""

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
    """Wrap the application to count its answers by route and status."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["path"] if scope["path"] in routes else "other"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                metrics.answer(route, message["status"])
            await send(message)

        await app(scope, receive, sending)

    return counted


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """HTTP options: hosts, limits, proxies and authentication."""

    authentication: Authentication
    allowed: Allowed
    shares_server_key: bool
    """Whether callers without a key can read the account of this process's own key, if their route is secure enough."""
    session_cap: int = 50
    session_idle_secs: int = 30
    per_client: int = 0
    """Most sessions per address while callers are not authenticated.

    0 means no limit, for callers behind one address.
    """
    trusted_proxies: tuple[str, ...] = ()
    slot: WorkerSlot | None = None
    """This worker among the workers at one address; None if the process is alone."""
    greeting: str = LIVE
    """The introduction on the front page."""
    shows_market: bool = False
    """Whether the front page shows prices and a chart to everyone who opens it."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The application for a socket, and its core. Enter the core's `running` while the application serves."""

    asgi: ASGIApp
    inside: ASGIApp
    """The application for requests that another process has already admitted."""
    heart: HttpApp
    relay: Relay | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with self.heart.running():
            try:
                yield
            finally:
                if self.relay is not None:
                    with anyio.CancelScope(shield=True):
                        await self.relay.close()


def assemble(server: Server[Any], dispatcher: Dispatcher, clock: Clock, options: HttpOptions) -> Assembled:
    """Return the HTTP application of a server. From now on the server counts its requests."""
    context = dispatcher.context
    client = context.live.client
    metrics = Metrics()
    server.middleware += (counting_requests(metrics, clock), for_caller)
    registry: Registry[Principal] = Registry(
        client.engine,
        clock,
        cap=options.session_cap,
        idle_ms=options.session_idle_secs * 1000,
        per_client=options.per_client,
        new_id=options.slot.new_id if options.slot else new_connection_id,
    )
    heart = HttpApp(
        server=server,
        http_sessions=HttpSessions(
            server, registry, dispatcher.owner if options.shares_server_key else None, client.caller.accepted
        ),
        authentication=options.authentication,
        probes=Probes(
            clock=clock,
            metrics=metrics,
            engine=lambda: client.engine.get("ready"),
            upstream=client.reach,
            moment=_moments(context, registry),
        ),
        scope_needed=dispatcher.scope_needed,
        takes_long=dispatcher.takes_long,
        end_listening=context.updates.wind_down,
        pace=context.pace,
        greeting=options.greeting,
        showcase=Showcase(dispatcher, clock) if options.shows_market else None,
    )
    relay = Relay(heart, options.slot) if options.slot else None
    use = LoopUse(processor_share=options.slot.processor_share if options.slot else 1.0)
    if context.fleet_use is not None:
        context.fleet_use.share("loop", use.elsewhere, use.used_here)
    turns = Turns(contained(relay or heart), clock, frozenset(PROBES), use=use)
    guarded = counting_answers(Guard(turns, options.allowed), metrics, ROUTES)
    asgi = Forwarded(guarded, Proxies(options.trusted_proxies))
    inside = RelayedRequests(turns.at(contained(heart)), heart.probes.figures)
    return Assembled(asgi, inside, heart, relay)


def _moments(context: Context, registry: Registry[Principal]) -> Callable[[], Awaitable[Gauges]]:
    client, hub, screener = context.live.client, context.live.hub, context.screener
    boards, futures = screener.boards, screener.boards.futures
    watch = context.derivatives.liquidations.watch
    ledgers: dict[str, Budget | Allowance] = {"spot": client.caller.budget, **(futures.ledgers if futures else {})}
    for market, scan in screener.store.allowances.items():
        ledgers["scan" if market == "spot" else "futures_scan"] = scan
    hosts = [client.caller.attempts, *((futures.client.caller.attempts,) if futures else ())]

    async def used(ledger: Budget | Allowance) -> float:
        try:
            return await ledger.used()
        except EngineUnavailable:  # omit this value, because the other metrics matter most during an outage
            return nan

    async def moment() -> Gauges:
        tally, untold = None, 0 if context.trading is None else nan
        figures = None if context.trading is None else context.trading.figures
        with suppress(JournalUnavailable):
            tally = await context.trading.tally() if context.trading is not None else None
        return Gauges(
            upstream_weight_used={name: await used(each) for name, each in ledgers.items()},
            upstream_weight_local_total={
                name: each.spent_locally for name, each in ledgers.items() if isinstance(each, Budget)
            },
            upstream_hosts_down=sum(each.hosts_down for each in hosts),
            sessions=registry.snapshot().live,
            streams=(len(hub.sockets()) if hub else 0) + (watch is not None and watch.socket is not None),
            streamed_symbols=len(hub.watched()) if hub else 0,
            reads_asked=client.reads.asked,
            reads_sent=client.reads.sent,
            stream_events_refused=hub.refused if hub else 0,
            feed_restarts=hub.troubles.totals.restarts if hub else 0,
            liquidations_seen=watch.seen if watch else 0,
            board_age_seconds={**boards.ages_secs()},
            board_reads={**boards.reads},
            board_fetches={**boards.fetches},
            scan_series={**screener.store.series},
            scan_waiting=screener.waiting,
            rows_dropped=client.reads.dropped + (futures.client.reads.dropped if futures else 0),
            orders={**tally.by_state} if tally else {},
            orders_total={**figures.outcomes} if figures else {},
            orders_denied_total={**figures.denials} if figures else {},
            confirmations_total={**figures.answers} if figures else {},
            orders_unresolved=tally.unresolved if tally else untold,
            trading_stopped=tally.is_stopped if tally else untold,
            tasks=len(asyncio.all_tasks()),
        )

    return moment
