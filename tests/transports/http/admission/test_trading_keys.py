"""Over HTTP, where orders reach an exchange: who brings a key reads with it, and only ours places."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.paper import RESTING
from support.spot import PRACTICE
from support.webapp import HttpClient, assembled, http_client

MARK = "31415.92653589"
GUEST = DemoAccount(99)


@asynccontextmanager
async def practice_over_http(folder: Path) -> AsyncGenerator[tuple[HttpClient, SimulatedExchange]]:
    exchange = SimulatedExchange(SystemClock(), seed=7)
    exchange.rights = KeyRights(trading=True)
    exchange.guests.append(Guest(GUEST, Portfolio((Balance("USDT", MARK, "0.0"),))))
    settings = read_settings(
        {
            "BINANCE_NETWORK": "testnet",
            "MCP_BINANCE_TRADING": "practice",
            "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
        }
    )
    async with (
        running_app(settings, network=PRACTICE, transport=Loop(exchange), dialer=Loopback(exchange)) as app,
        assembled(app) as running,
        http_client(running) as http,
    ):
        yield http, exchange


async def called(http: HttpClient, tool: str, arguments: dict[str, Any], **headers: str) -> dict[str, Any]:
    response = await http.modern("tools/call", {"name": tool, "arguments": arguments}, **headers)
    assert response.status_code == httpx2.codes.OK, response.text
    return response.json()["result"]["structuredContent"]


@pytest.mark.parametrize("is_namesake", [False, True], ids=["another key", "our key with another secret"])
async def test_a_key_that_a_caller_brings_reads_and_places_nothing(tmp_path: Path, *, is_namesake: bool) -> None:
    async with practice_over_http(tmp_path) as (http, exchange):
        key = exchange.account.api_key if is_namesake else GUEST.api_key
        brought = {"x_binance_api_key": key, "x_binance_secret_key": GUEST.secret_key}
        own = await called(http, "preview_order", RESTING)
        stolen = await called(http, "place_order", {"preview_id": own["preview_id"]}, **brought)
        status = await called(http, "get_trading_status", {}, **brought)
        read = await called(http, "get_account_info", {}, **brought)
        tried = None if is_namesake else await called(http, "preview_order", RESTING, **brought)
        accepted = [*exchange.orders.accepted]
        placed = await called(http, "place_order", {"preview_id": own["preview_id"]})

    assert (stolen["error_type"], status["error_type"]) == ("key_does_not_trade", "key_does_not_trade")
    assert accepted == []
    assert (placed["status"], placed["mode"]) == ("NEW", "practice")
    if is_namesake:
        assert read["error_type"] == "invalid_credentials"
    else:
        assert MARK in str(read["balances"])
        assert tried is not None
        assert tried["preview_id"] is None
        assert tried["refused_by"][0].startswith("key: ")
