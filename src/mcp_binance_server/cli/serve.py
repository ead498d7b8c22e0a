"""The stdio server, and the startup that all transports share."""

import sys
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio

from mcp_binance_server.cli.interruption import MOMENT_SECS, TERMINATED_SECS, longest_end, run, sigterm_handler
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.loading import gc_paused, tune_gc
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.startup_checks import (
    check,
    credentials_of,
    network_of,
    round_key_of,
    shows_live_chart,
    streams_markets,
)
from mcp_binance_server.surface.server import Opening, build_early_server
from mcp_binance_server.surface.uris import CHARTS, MARKET, ORDERS
from mcp_binance_server.telemetry.logs import configure_logging
from mcp_binance_server.transports.stdio import SideThread, serve_stdio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from mcp_binance_server.app import App
    from mcp_binance_server.exchange.endpoints import Network
    from mcp_binance_server.upstream import Upstream

    OpenApp = Callable[[SideThread], AbstractAsyncContextManager[App]]


HEAD_START_MS = 50.0
WAITING = """mcp-binance-server speaks MCP on standard input and is waiting for a client.
MCP clients start it themselves. To try it by hand: mcp-binance-server demo
"""


def prepare(verbosity: Verbosity) -> Settings:
    """Read the settings and configure logging.

    Raises:
        SettingsError: a setting is invalid or unknown.
    """
    settings = read_settings()
    prepare_logging(settings, verbosity)
    check(settings, SystemClock())
    return settings


def run_stdio(verbosity: Verbosity) -> int:
    settings = prepare(verbosity)
    if sys.stdin.isatty():
        verbosity.tell(WAITING)
    open_app = partial(_app, settings)
    longest_secs = longest_end(MOMENT_SECS, has_orders=settings.trading != "off")
    run(serve_early, settings, network_of(settings), open_app, secs=longest_secs)
    return 0


def prepare_logging(settings: Settings, verbosity: Verbosity) -> None:
    """Configure logging with redaction of these settings' secrets. Start tracing if a collector is set.

    Raises:
        SettingsError: a collector is set, but spans cannot be sent.
    """
    credentials = credentials_of(settings)
    secrets = [credentials.api_key, credentials.secret] if credentials else []
    if settings.chart_key is not None:
        secrets.append(settings.chart_key.get_secret_value())
    secrets += settings.proxies.secrets
    configure_logging(verbosity.level(settings.log_level), secrets, as_json=settings.log_format == "json")
    if settings.otlp_url is not None:
        from mcp_binance_server.telemetry.logs import start_tracing  # noqa: PLC0415 - needed only with a collector

        start_tracing(settings.otlp_url)


async def serve_early(settings: Settings, network: "Network", open_app: "OpenApp") -> None:
    """Serve stdio. Answer `initialize` immediately and build the server in the background."""
    opening = Opening()
    shown = frozenset(settings.toolsets)
    updates_orders = settings.trading != "off" and ORDERS in settings.groups
    has_updates = updates_orders or (MARKET in settings.groups and streams_markets(settings, network))
    has_views = CHARTS in shown and shows_live_chart(settings)
    server = build_early_server(
        opening,
        shown,
        live=settings.orderbook_analytics,
        has_updates=has_updates,
        has_views=has_views,
        trading=settings.trading,
        simulated=network.simulated,
        round_key=round_key_of(settings, "rounds"),
    )
    async with anyio.create_task_group() as group:
        group.start_soon(_open, open_app, opening)
        await serve_stdio(server, sigterm_handler(longest_end(TERMINATED_SECS, has_orders=settings.trading != "off")))
        opening.end()
        if not opening.is_decided:  # nothing is pending, and no client needs the rest of the loading
            group.cancel_scope.cancel()
    tune_gc()  # at its end the interpreter walks all objects that are not excluded


async def _open(open_app: "OpenApp", opening: Opening) -> None:
    """Load the server in a thread after `initialize`. The event loop keeps answering."""
    if not await opening.is_needed():
        return
    loading = SideThread("loading")
    try:
        async with open_app(loading) as app:
            await opening.keep(app.dispatcher)
    except Exception as failure:
        # Send the error first, so that the client disconnects. The thread that reads standard input cannot be
        # cancelled.
        await opening.refuse(failure)
        raise
    finally:
        loading.close()


@asynccontextmanager
async def _app(settings: Settings, loading: SideThread) -> "AsyncGenerator[App]":
    opened_upstream = await loading.run(_load_upstream)
    async with opened_upstream(settings) as upstream, anyio.create_task_group() as tasks:
        # Connect and import at the same time. Connecting starts first, because imports use half of the CPU time.
        tasks.start_soon(upstream.prepare)
        await SystemClock().sleep_ms(HEAD_START_MS)
        app_on = await loading.run(_load_app)
        async with app_on(upstream, settings) as app:
            yield app
        tasks.cancel_scope.cancel()


def _load_upstream() -> "Callable[[Settings], AbstractAsyncContextManager[Upstream]]":
    with gc_paused():
        from mcp_binance_server.upstream import opened_upstream  # noqa: PLC0415 - not needed for a greeting

    return opened_upstream


def _load_app() -> "Callable[[Upstream, Settings], AbstractAsyncContextManager[App]]":
    with gc_paused():
        from mcp_binance_server.app import app_on  # noqa: PLC0415 - as above

    return app_on
