"""The suite's server behind our HTTP application, on a port of its own."""

import sys

import anyio

from binance_simulator.exchange import SimulatedExchange
from conformance.server import build_server
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import HttpOptions, assemble
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.server.serving import serve_http
from support.desk import NETWORK, Loop


async def serve() -> None:
    """Serve until a signal, everything as the product has it but the server inside."""
    clock = SystemClock()
    transport = Loop(SimulatedExchange(clock))
    async with running_app(read_settings({}), clock=clock, network=NETWORK, transport=transport) as app:
        options = HttpOptions(authentication=Authentication(Open()), allowed=allow(), shares_server_key=True)
        http = assemble(build_server(), app.dispatcher, clock, options)
        async with http.heart.running():
            await serve_http(http.asgi, host="127.0.0.1", port=0, ready=announce, drain=http.heart.drain)


def announce(port: int) -> None:
    sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
    sys.stdout.flush()


def main() -> None:
    anyio.run(serve)
