"""A provider.v1 service as a process of its own, on an exchange that answers account calls late."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from grpc.aio import insecure_channel

from support.process import Process
from support.provider import Provider

SERVER = """
import sys
import anyio, httpx2
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.settings import read_settings
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.cli.serve import prepare_logging
from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.transports.grpc.serving import serve_grpc

async def main():
    exchange = SimulatedExchange(SystemClock())
    exchange.faults.add(Fault(kind="delay", path="*/account", delay_ms={delay_ms}, times=None))
    account = exchange.account
    settings = read_settings({{
        "BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key, "MCP_BINANCE_LOG_LEVEL": "DEBUG",
    }})
    prepare_logging(settings, Verbosity())
    network = httpx2.ASGITransport(build_app(exchange))
    async with running_app(
        settings, network=OFFLINE, transport=network, dialer=Loopback(exchange), attempt_secs=60
    ) as app:
        await serve_grpc(app.dispatcher, port=0, ready=lambda address: print(address, flush=True), grace_secs={grace})
    print(exchange.hub.open_connections, flush=True)

anyio.run(main)
"""


@asynccontextmanager
async def started(delay_ms: int = 0, grace: float = 10.0) -> AsyncGenerator[tuple[Process, Provider]]:
    """Start a service and connect to it."""
    with Process(code=SERVER.format(delay_ms=delay_ms, grace=grace), warm=True) as process:
        address = process.line().decode()
        async with insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
            yield process, Provider(channel)
        if process.is_running:
            process.terminate()
