"""`mcp-binance-server --http`: one address for many clients."""

import sys
from collections.abc import Callable
from importlib import import_module

import anyio

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.entrance import Place, entrance_of, lends_own_key, refuse_strangers
from mcp_binance_server.cli.interruption import LastMoment
from mcp_binance_server.cli.manners import Manners
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.http.app import Entrance
from mcp_binance_server.transports.http.assembly import Options, assemble
from mcp_binance_server.transports.http.hosts import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, allow
from mcp_binance_server.transports.http.seat import Seat
from mcp_binance_server.transports.http.serving import Stop, serve_http

# How many sessions one address may hold where strangers can call and nobody is asked who they are.
STRANGERS_SHARE = 10


def run_http(place: Place, manners: Manners, *, unsafe: bool) -> int:
    """Serve until a signal.

    Raises:
        SettingsError: strangers could reach the place, and nobody would be asked who they are.
    """
    settings = prepare(manners)
    refuse_strangers(settings, place, unsafe=unsafe)
    anyio.run(_serve, settings, place, manners, LastMoment(0), backend_options=fastest_loop())
    return 0


def fastest_loop() -> dict[str, bool]:
    """Return the options that make anyio run on uvloop, where it is installed."""
    if sys.platform == "win32":
        return {}
    try:
        import_module("uvloop")
    except ImportError:
        return {}
    return {"use_uvloop": True}


def options_of(settings: Settings, place: Place, entrance: Entrance, seat: Seat | None = None) -> Options:
    """Return what the settings decide about an HTTP application."""
    return Options(
        entrance=entrance,
        allowed=allow((*LOOPBACK_HOSTS, *settings.allowed_hosts), (*LOOPBACK_ORIGINS, *settings.allowed_origins)),
        lends_own_key=lends_own_key(settings),
        session_cap=settings.session_cap,
        session_idle_secs=settings.session_idle_secs,
        per_client=0 if place.is_local else STRANGERS_SHARE,
        trusted_proxies=settings.trusted_proxies,
        seat=seat,
    )


async def _serve(settings: Settings, place: Place, manners: Manners, last_moment: LastMoment) -> None:
    clock = SystemClock()
    async with (
        entrance_of(settings, clock) as entrance,
        running_app(settings, clock=clock, callers_bring_keys=True, preload=True) as app,
    ):
        await serve_at(place, app, options_of(settings, place, entrance), announcing(place, manners), last_moment)


async def serve_at(
    place: Place, app: App, options: Options, ready: Callable[[int], None], last_moment: LastMoment
) -> None:
    """Serve an application over HTTP until a signal; `ready` gets the port."""
    app.dispatcher.catalogue.prepare()  # the first caller shall not wait for it
    http = assemble(app.server, app.dispatcher, app.clock, options)
    async with http.running():
        await serve_http(
            http.asgi,
            host=place.host,
            port=place.port,
            tls=place.certificate.context() if place.certificate else None,
            ready=ready,
            drain=http.heart.drain,
            stop=Stop(at_ctrl_c=last_moment.begin),
        )


def announcing(place: Place, manners: Manners, about: str = "") -> Callable[[int], None]:
    """Return what tells a person where the server is, once its port is known."""

    def ready(port: int) -> None:
        shown = f"[{place.host}]" if ":" in place.host else place.host
        notes = f"{about}health: /healthz, metrics: /metrics; Ctrl+C stops"
        scheme = "https" if place.certificate else "http"
        manners.tell(f"MCP at {scheme}://{shown}:{port}/mcp  ({notes})\n")

    return ready
