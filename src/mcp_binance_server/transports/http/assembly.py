"""Puts the HTTP application together around a running server."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from starlette.types import ASGIApp

from mcp_binance_server.clock import Clock
from mcp_binance_server.exchange.attempt import Principal
from mcp_binance_server.exchange.rest import SpotClient
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.sessions.registry import Registry
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.telemetry.metrics import Metrics, Moment
from mcp_binance_server.transports.http.app import ROUTES, Entrance, HttpApp
from mcp_binance_server.transports.http.counting import counting_answers, counting_requests
from mcp_binance_server.transports.http.forwarded import Forwarded
from mcp_binance_server.transports.http.guard import Guard
from mcp_binance_server.transports.http.hosts import Allowed
from mcp_binance_server.transports.http.probes import Probes
from mcp_binance_server.transports.http.switchboard import Switchboard


@dataclass(frozen=True, slots=True)
class Options:
    """What a host decides."""

    entrance: Entrance
    allowed: Allowed
    lends_own_key: bool
    """Whether callers who bring no key read the account of this process's own."""
    session_cap: int = 50
    session_idle_secs: int = 30
    per_client: int = 0
    """How many sessions one address may hold while nobody is asked who they are; 0 where all come from one."""
    trusted_proxies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assembled:
    """The application as a socket meets it, and its heart, which has to be running meanwhile."""

    asgi: ASGIApp
    heart: HttpApp


def assemble(server: Server[Any], dispatcher: Dispatcher, clock: Clock, options: Options) -> Assembled:
    """Return the application for a server; the server counts its requests from here on."""
    context = dispatcher.context
    client, own = context.live.client, context.account.client.principal
    metrics = Metrics()
    server.middleware.append(counting_requests(metrics, clock))
    registry: Registry[Principal] = Registry(
        client.engine,
        clock,
        cap=options.session_cap,
        idle_ms=options.session_idle_secs * 1000,
        per_client=options.per_client,
    )
    heart = HttpApp(
        server=server,
        switchboard=Switchboard(server, registry, own if options.lends_own_key else None),
        entrance=options.entrance,
        probes=Probes(
            clock=clock,
            metrics=metrics,
            engine=lambda: client.engine.get("ready"),
            upstream=client.clock_check,
            moment=_moments(client, registry, context.live.hub),
        ),
        scope_needed=dispatcher.scope_needed,
        takes_long=dispatcher.takes_long,
    )
    app: ASGIApp = counting_answers(Guard(heart, options.allowed), metrics, ROUTES)
    if options.trusted_proxies:
        app = Forwarded(app, options.trusted_proxies)
    return Assembled(app, heart)


def _moments(client: SpotClient, registry: Registry[Principal], hub: Hub | None) -> Callable[[], Awaitable[Moment]]:
    async def moment() -> Moment:
        return Moment(
            upstream_weight_used=await client.caller.budget.used(),
            sessions=registry.snapshot().live,
            streams=len(hub.sockets()) if hub else 0,
            streamed_symbols=len(hub.watched()) if hub else 0,
            reads_asked=client.reads.asked,
            reads_sent=client.reads.sent,
            tasks=len(asyncio.all_tasks()),
        )

    return moment
