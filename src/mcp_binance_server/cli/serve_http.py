"""The HTTP server, `mcp-binance-server --http`."""

import sys
from asyncio import get_running_loop
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from socket import socket

import anyio
from starlette.types import ASGIApp

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.interruption import MOMENT_SECS, ExitWatchdog, longest_end
from mcp_binance_server.cli.listening import ListenOn, authentication_of, refuse_strangers, shares_server_key
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.http.admission.guard import Guard
from mcp_binance_server.transports.http.admission.hosts import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, Allowed, allow
from mcp_binance_server.transports.http.admission.refusals import contained
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import HttpOptions, assemble
from mcp_binance_server.transports.http.probe_port import PortProbes, beating, serve_probe_port
from mcp_binance_server.transports.http.relay import WorkerSlot
from mcp_binance_server.transports.http.server.serving import ListeningApp, Shutdown, listen, serve_http

# Sessions per address if other machines can connect without authentication.
STRANGERS_SHARE = 10


def run_http(place: ListenOn, verbosity: Verbosity, *, unsafe: bool) -> int:
    """Serve until a signal.

    Raises:
        SettingsError: the address is reachable without authentication.
    """
    settings = prepare(verbosity)
    refuse_strangers(settings, place, unsafe=unsafe)
    secs = longest_end(MOMENT_SECS, has_orders=settings.trading != "off")
    anyio.run(_serve, settings, place, verbosity, ExitWatchdog(0, secs), backend_options=fastest_loop())
    return 0


def fastest_loop() -> dict[str, bool]:
    """Return the options that run anyio on uvloop, if it is installed."""
    if sys.platform == "win32":
        return {}
    try:
        import_module("uvloop")
    except ImportError:
        return {}
    return {"use_uvloop": True}


def allowed_by(settings: Settings) -> Allowed:
    """Return the allowed hosts and origins: those of this machine and of the settings."""
    return allow((*LOOPBACK_HOSTS, *settings.allowed_hosts), (*LOOPBACK_ORIGINS, *settings.allowed_origins))


def options_of(
    settings: Settings, place: ListenOn, authentication: Authentication, slot: WorkerSlot | None = None
) -> HttpOptions:
    """Return the HTTP options from the settings."""
    return HttpOptions(
        authentication=authentication,
        allowed=allowed_by(settings),
        shares_server_key=shares_server_key(settings),
        session_cap=settings.session_cap,
        session_idle_secs=settings.session_idle_secs,
        per_client=0 if place.is_local else STRANGERS_SHARE,
        trusted_proxies=settings.trusted_proxies,
        slot=slot,
    )


async def _serve(settings: Settings, place: ListenOn, verbosity: Verbosity, last_moment: ExitWatchdog) -> None:
    clock = SystemClock()
    probes = None if place.probe_port is None else listen(place.host, place.probe_port)
    async with (
        authentication_of(settings, clock) as authentication,
        running_app(settings, clock=clock, callers_bring_keys=True, preload=True) as app,
    ):
        announce = announcing(place, verbosity, about_probes(probes))
        await serve_at(place, app, options_of(settings, place, authentication), announce, last_moment, probes=probes)


async def serve_at(
    place: ListenOn,
    app: App,
    options: HttpOptions,
    ready: Callable[[int], None],
    last_moment: ExitWatchdog,
    *,
    probes: socket | None = None,
) -> None:
    """Serve an application over HTTP until a signal.

    `ready` is called with the port. `probes` is a second address for health probes.
    """
    app.dispatcher.catalogue.prepare()  # imported before the first request
    http = assemble(app.server, app.dispatcher, app.clock, options)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(http.running())
        if probes is not None:
            pulse = await stack.enter_async_context(beating(app.clock))
            answers = PortProbes(http.heart, pulse, get_running_loop(), asks_for_token=not place.is_local)
            stack.enter_context(serve_probe_port(probe_app(place, probes, answers, options.allowed)))
        await serve_http(
            http.asgi,
            host=place.host,
            port=place.port,
            tls=place.certificate.context() if place.certificate else None,
            ready=ready,
            drain=http.heart.drain,
            stop=Shutdown(at_ctrl_c=last_moment.begin),
        )


def about_probes(probes: socket | None) -> str:
    return "" if probes is None else f"probes: port {probes.getsockname()[1]}; "


def probe_app(place: ListenOn, listener: socket, answers: ASGIApp, allowed: Allowed) -> ListeningApp:
    """Return the application for probes, with the same checks and TLS as the main address."""
    tls = place.certificate.context() if place.certificate else None
    return ListeningApp(listener, Guard(contained(answers), allowed), tls=tls)


def announcing(place: ListenOn, verbosity: Verbosity, about: str = "") -> Callable[[int], None]:
    """Return a callback that prints the server's address when its port is known."""

    def ready(port: int) -> None:
        shown = f"[{place.host}]" if ":" in place.host else place.host
        notes = f"{about}health: /healthz, metrics: /metrics; Ctrl+C stops"
        scheme = "https" if place.certificate else "http"
        verbosity.tell(f"MCP at {scheme}://{shown}:{port}/mcp  ({notes})\n")

    return ready
