"""The simulated exchange behind a real socket of this process, so that a test can change it while it is asked."""

import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from mcp import Client
from starlette.types import ASGIApp, Receive, Scope, Send

from binance_simulator.account import KeyRights
from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings


@dataclass(frozen=True, slots=True)
class Counting:
    """An application that notes over which connection each request came, by its path and the client's port."""

    app: ASGIApp
    arrivals: list[tuple[str, int]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("client"):
            self.arrivals.append((scope["path"], scope["client"][1]))
        await self.app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class ServedExchange:
    """An exchange, where it listens, and over which connections it was asked."""

    exchange: SimulatedExchange
    host: str
    arrivals: list[tuple[str, int]]

    @property
    def rest_url(self) -> str:
        return f"http://{self.host}"

    def environment(self) -> dict[str, str]:
        """Return the settings of a server that uses all of it."""
        account = self.exchange.account
        return {
            "BINANCE_REST_URL": self.rest_url,
            "BINANCE_STREAM_URL": f"ws://{self.host}",
            "BINANCE_API_KEY": account.api_key,
            "BINANCE_SECRET_KEY": account.secret_key,
            "CHART_IMG_URL": self.rest_url,
            "CHART_IMG_DOCS_URL": f"{self.rest_url}/chart-docs",
            "CHART_IMG_API_KEY": self.exchange.charts.api_key,
        }

    def heal(self) -> None:
        """Take back everything that a test has done to it."""
        exchange = self.exchange
        exchange.faults.clear()
        exchange.hub.faults.clear()
        exchange.skew_ms = 0
        exchange.rights = KeyRights()
        exchange.meter = type(exchange.meter)(exchange.weight_limit)
        exchange.requests.clear()


@contextmanager
def served_exchange(
    seed: int = 7,
    certificate: tuple[Path, Path] | None = None,
    app_of: Callable[[SimulatedExchange], ASGIApp] = build_app,
) -> Generator[ServedExchange]:
    """Serve an exchange on a free port of this machine, with TLS if there is a certificate and its key."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    exchange = SimulatedExchange(SystemClock(), seed=seed)
    counting = Counting(app_of(exchange), [])
    chain, key = certificate or (None, None)
    config = uvicorn.Config(
        counting,
        http="h11",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        ssl_certfile=chain,
        ssl_keyfile=key,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield ServedExchange(exchange, f"127.0.0.1:{listener.getsockname()[1]}", counting.arrivals)
    finally:
        server.should_exit = True
        thread.join(1)
        server.force_exit = True  # nobody waits any more for what it would answer late
        thread.join(30)
        listener.close()


@asynccontextmanager
async def cold_client(served: ServedExchange, *, key: bool = True) -> AsyncGenerator[Client]:
    """Open a server that has fetched nothing yet, with a key of chart-img.com or without."""
    environment = {**served.environment(), "CHART_IMG_PLAN": "PRO"}
    if not key:
        del environment["CHART_IMG_API_KEY"]
    async with running_app(read_settings(environment)) as app, Client(app.server, cache=None) as client:
        await client.list_tools()
        yield client
