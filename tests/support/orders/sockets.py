"""A server that trades over real sockets, and a line between it and its exchange on which every byte is counted."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.attacked import error_of
from support.byte_line import ByteLine, byte_line
from support.exchange_socket import ServedExchange
from support.orders.wire import NETWORKS, TRADES, WireMode, live_key

CLOCK = SystemClock()
LOOK_MS, LOOKS = 50, 200


@dataclass(frozen=True, slots=True)
class SocketTrader:
    """A client of such a server."""

    client: Client
    app: App
    exchange: SimulatedExchange
    line: ByteLine

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the tool takes
        """Call a tool and return what it says in fields."""
        try:
            result = await self.client.call_tool(tool, arguments)
        except MCPError as error:
            return error_of(error)
        return dict(result.structured_content or {})

    async def price(self, percent: str) -> str:
        """Return a price of BTC, so many per cent of what it costs now."""
        told = await self.call("get_ticker", symbol="BTCUSDT")
        return f"{Decimal(told['last_price']) * Decimal(percent) / 100:.2f}"

    async def previewed(self, **order: str) -> str:
        """Return the id of a preview, once the server is ready and its market in step."""
        found: dict[str, Any] = {}
        for _ in range(LOOKS):
            found = await self.call("preview_order", symbol="BTCUSDT", **order)
            if found.get("preview_id"):
                return found["preview_id"]
            await CLOCK.sleep_ms(LOOK_MS)
        raise AssertionError(found)

    async def placed(self, **order: str) -> dict[str, Any]:
        return await self.call("place_order", preview_id=await self.previewed(**order))


@asynccontextmanager
async def socket_trader(
    served: ServedExchange, folder: Path, policy: str = "", *, mode: WireMode = "practice"
) -> AsyncGenerator[SocketTrader]:
    """Serve one who trades at this exchange."""
    exchange, rules = served.exchange, folder / "trading.toml"
    exchange.rights = TRADES
    rules.write_text(policy + (live_key(exchange) if mode == "live" else ""), encoding="utf-8")
    rules.chmod(0o600)
    with byte_line(int(served.host.rpartition(":")[2])) as line:
        environment = served.environment() | {
            "BINANCE_NETWORK": NETWORKS[mode].name,
            "BINANCE_REST_URL": f"http://{line.host}",
            "BINANCE_STREAM_URL": f"ws://{line.host}",
            "BINANCE_WS_API_URL": f"ws://{line.host}/ws-api/v3",
            "MCP_BINANCE_TRADING": mode,
            "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
            "MCP_BINANCE_TRADING_POLICY": str(rules),
        }
        async with (
            running_app(read_settings(environment)) as app,
            Client(app.server, cache=None) as client,
        ):
            yield SocketTrader(client, app, exchange, line)
