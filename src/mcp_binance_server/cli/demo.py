"""`mcp-binance-server demo`: an offline exchange and a server on it, in one process and without a socket."""

import sys

import anyio
import httpx2

from mcp_binance_server.app import running_app
from mcp_binance_server.cli.serve import prepare_logging
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.networks import OFFLINE
from mcp_binance_server.settings import read_settings
from mcp_binance_server.simulator.app import build_app
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.loopback import Loopback
from mcp_binance_server.transports.stdio import serve_stdio

BANNER = """Offline demo: a simulated Binance with moving prices, no key, no network, no real money.
It speaks MCP on standard input and waits for a client. To try it, in another terminal:

  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method resources/read --uri binance://market/btcusdt
  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method tools/call --tool-name get_ticker --tool-arg symbol=ethusdt

or put this into your MCP client's configuration and ask it for the price of Bitcoin:

  {"mcpServers": {"binance-demo": {"command": "mcp-binance-server", "args": ["demo"]}}}

Ctrl-C ends it.
"""  # noqa: E501 - a command must stand on one line to be copied


def run_demo(*, seed: int) -> int:
    if sys.stdin.isatty():
        sys.stderr.write(BANNER)
    anyio.run(_serve, seed)
    return 0


async def _serve(seed: int) -> None:
    clock = SystemClock()
    exchange = SimulatedExchange(clock, seed=seed)
    settings = read_settings(
        {
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
            # No key for the simulated chart service: its pictures are noise, ours show the market.
            "CHART_IMG_URL": OFFLINE.rest_url,
            "CHART_IMG_DOCS_URL": f"{OFFLINE.rest_url}/chart-docs",
        }
    )
    prepare_logging(settings)
    transport = httpx2.ASGITransport(build_app(exchange))
    dialer = Loopback(exchange)
    async with running_app(settings, clock=clock, network=OFFLINE, transport=transport, dialer=dialer) as app:
        await serve_stdio(app.server)
