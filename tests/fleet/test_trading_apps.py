"""Two servers that trade on one account over one state: what one has shown the other places, once."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.paper import round_key_file
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.flood, pytest.mark.usefixtures("patient_engines")]

ORDER = {"symbol": "BTCUSDT", "side": "BUY", "price": "116500", "quantity": "0.0005"}


@asynccontextmanager
async def trading_app(server: StateServer, exchange: SimulatedExchange, folder: Path) -> AsyncGenerator[App]:
    settings = read_settings(
        {
            "BINANCE_NETWORK": "testnet",
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
            "MCP_BINANCE_TRADING": "practice",
            "MCP_BINANCE_TRADING_DIR": str(folder),
            "MCP_BINANCE_STATE_URL": server.url,
            "MCP_BINANCE_ORDER_RECV_WINDOW_MS": "100",  # an empty state waits no longer for what may be on its way
        }
        | round_key_file(folder.parent)
    )
    async with running_app(settings, clock=SystemClock(), transport=Loop(exchange), dialer=Loopback(exchange)) as app:
        assert app.context.trading is not None
        await app.context.trading.desk.ready()
        yield app


async def told(app: App, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the tool takes
    return (await app.dispatcher.call_tool(None, tool, arguments)).structured_content or {}


@pytest.mark.night
@pytest.mark.timeout(120)
async def test_what_one_server_has_shown_another_places_once_and_cancels(server: StateServer, tmp_path: Path) -> None:
    exchange = SimulatedExchange(SystemClock(), seed=7)
    exchange.rights = KeyRights(trading=True)
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(trading_app(server, exchange, tmp_path / name)) for name in ("one", "two")
        ]
        preview_id = (await told(one, "preview_order", **ORDER))["preview_id"]

        placed, again = [await told(each, "place_order", preview_id=preview_id) for each in (two, one)]
        shown = await told(one, "get_trading_status")
        stored = server.dump()
        name = placed["client_order_id"]
        cancelled = await told(one, "cancel_order", symbol="BTCUSDT", client_order_id=name)
        stopped = await told(one, "stop_trading", reason="enough")
        refused = await told(two, "preview_order", **{**ORDER, "price": "116400"})

    assert (placed["status"], again["status"], again["client_order_id"]) == ("NEW", "NEW", name)
    assert sum(each.method == "POST" for each in exchange.requests) == 1
    assert name in str(shown)
    assert cancelled["status"] == "CANCELED", cancelled
    assert "enough" in str(stopped)
    assert "preview_id" not in refused or refused["preview_id"] is None
    assert name.encode() in stored
    assert exchange.account.secret_key.encode() not in stored
    assert exchange.account.api_key.encode() not in stored
