"""`mcp-binance-server demo`: an offline exchange and a server on it, in one process; over HTTP on request."""

import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx2

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.interruption import LastMoment, run, told_to_end
from mcp_binance_server.cli.serve import prepare_logging
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.settings import read_settings, refuse_unknown_variables, surroundings
from mcp_binance_server.simulator.control import build_app
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.streams.loopback import Loopback
from mcp_binance_server.transports.stdio import serve_stdio

GREETING = "A simulated Binance with moving prices: no key, no network, no real money."
HOST = "127.0.0.1"
# Balances to sell, and to protect with a stop, from the start.
LIMITS = """[paper]
balances = { USDT = "10000", BTC = "0.25", ETH = "2" }
"""
# Environment variables that a demo respects: logging and toolsets. All other settings are fixed.
HEEDED = ("MCP_BINANCE_LOG_LEVEL", "MCP_BINANCE_LOG_FORMAT", "MCP_BINANCE_TOOLSETS")
ASK = """Then ask:  What is the price of Bitcoin, and how deep is its order book?
           Draw ETHUSDT of the last four weeks with Bollinger Bands and RSI.
           What would 5 BTC, sold at once, do to the price?
           Preview buying Bitcoin for 100 USDT, and place it on paper.

Ctrl-C ends it.
"""
BANNER = f"""Offline demo. {GREETING}
It speaks MCP on standard input and waits for a client.

To see it from a browser or another client, end it and start it so:

  mcp-binance-server demo --http

To try it by hand, in another terminal (needs Node):

  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method resources/read --uri binance://market/btcusdt
  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method tools/call --tool-name get_ticker --tool-arg symbol=ethusdt

To give it to an assistant, put this into your MCP client's configuration:

  {{"mcpServers": {{"binance-demo": {{"command": "mcp-binance-server", "args": ["demo"]}}}}}}

{ASK}"""  # noqa: E501 - a command must stand on one line to be copied
HTTP_BANNER = """MCP at {address}/mcp
Offline demo. {greeting}

To look:      open {address}/ in a browser
To connect:   claude mcp add --transport http binance-demo {address}/mcp
By hand:      npx @modelcontextprotocol/inspector --cli {address}/mcp --transport http --method tools/list

{ask}"""


def run_demo(verbosity: Verbosity, *, seed: int, port: int | None = None) -> int:
    """Serve until the client disconnects, or with a port, until a signal."""
    if port is not None:
        anyio.run(_serve_http, verbosity, seed, port, LastMoment(0))
        return 0
    if sys.stdin.isatty():
        verbosity.tell(BANNER)
    run(_serve_stdio, verbosity, seed)
    return 0


async def _serve_stdio(verbosity: Verbosity, seed: int) -> None:
    async with offline_app(verbosity, seed=seed, trades=True) as app:
        await serve_stdio(app.server, told_to_end())


async def _serve_http(verbosity: Verbosity, seed: int, port: int, last_moment: LastMoment) -> None:
    from mcp_binance_server.cli.listening import ListenOn  # noqa: PLC0415 - a pipe needs no web server
    from mcp_binance_server.cli.serve_http import serve_at  # noqa: PLC0415 - likewise
    from mcp_binance_server.transports.http.admission.hosts import allow  # noqa: PLC0415 - likewise
    from mcp_binance_server.transports.http.app import Authentication  # noqa: PLC0415 - likewise
    from mcp_binance_server.transports.http.assembly import HttpOptions  # noqa: PLC0415 - likewise
    from mcp_binance_server.transports.http.auth.authenticator import Open  # noqa: PLC0415 - likewise

    options = HttpOptions(
        authentication=Authentication(Open()), allowed=allow(), lends_own_key=True, greeting=GREETING, shows_market=True
    )
    async with offline_app(verbosity, seed=seed, trades=True) as app:
        await serve_at(ListenOn(HOST, port), app, options, partial(_announce, verbosity.tell), last_moment)


def _announce(tell: Callable[[str], None], port: int) -> None:
    tell(HTTP_BANNER.format(address=f"http://{HOST}:{port}", greeting=GREETING, ask=ASK))


@asynccontextmanager
async def offline_app(verbosity: Verbosity, *, seed: int, trades: bool = False) -> AsyncGenerator[App]:
    """Run the server on an exchange in the same process, without sockets between them.

    With `trades` it trades on paper and without a key; otherwise it reads the account of the simulated exchange.
    """
    clock = SystemClock()
    exchange = SimulatedExchange(clock, seed=seed)
    around = surroundings()
    refuse_unknown_variables(around)
    heeded = {name: around[name] for name in HEEDED if name in around}
    keys = {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    # No key for the simulated chart service: its pictures are noise, the local renderer shows the market.
    charts = {"CHART_IMG_URL": OFFLINE.rest_url, "CHART_IMG_DOCS_URL": f"{OFFLINE.rest_url}/chart-docs"}
    with _paper(heeded) if trades else nullcontext(dict[str, str]()) as paper:
        settings = read_settings({**heeded, **charts, **(paper or keys)})
        prepare_logging(settings, verbosity)
        transport = httpx2.ASGITransport(build_app(exchange))
        dialer = Loopback(exchange)
        async with running_app(settings, clock=clock, network=OFFLINE, transport=transport, dialer=dialer) as app:
            yield app


@contextmanager
def _paper(heeded: Mapping[str, str]) -> Generator[dict[str, str]]:
    """Create a temporary trading folder for one demo; without the trading tools there is none."""
    shown = read_settings(heeded).toolsets
    if not {"orders", "trade"} <= {*shown}:
        yield {}
        return
    try:
        kept = TemporaryDirectory(prefix="mcp-binance-demo-", ignore_cleanup_errors=True)
    except OSError:  # a container without a writable folder: the market works without the journal
        yield {}
        return
    with kept as folder:
        limits = Path(folder) / "trading.toml"
        limits.touch(0o600)  # regardless of the umask: a file writable by other users is refused
        limits.write_text(LIMITS, encoding="utf-8")
        yield {
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_DIR": folder,
            "MCP_BINANCE_TRADING_POLICY": str(limits),
        }
