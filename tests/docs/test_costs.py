"""What the reference says a tool costs is what it costs: every tool is called once, cold, on the simulator."""

from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from reference_pages.costs import COSTS
from support.clock import FakeClock
from support.desk import Loop
from support.futures import FUTURES

BINANCE = ("/api/", "/sapi/")
BTC: dict[str, Any] = {"symbol": "BTCUSDT"}
CHART: dict[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "7D"}
CALLS: dict[str, dict[str, Any]] = {
    "search_symbols": {"query": "btc"},
    "get_exchange_info": BTC,
    "get_klines": BTC | {"interval": "1h"},
    "get_server_time": {},
    "scan_market": {},
    "get_indicators": BTC | {"interval": "1h", "indicators": ["rsi"]},
    "get_orderbook_health": {},
    "estimate_slippage": BTC | {"side": "BUY", "amount": "1000"},
    "get_account_info": {},
    "get_portfolio": {},
    "get_analysis": BTC | {"kind": "trading_analysis"},
    "get_open_orders": {},
    "get_order": BTC | {"client_order_id": "demo-2"},
    "preview_order": BTC | {"side": "BUY", "type": "MARKET", "quote_quantity": "50"},
    "get_exchanges": {},
    "get_symbols": {"exchange": "BINANCE"},
    "fetch_chart_documentation": {},
    "construct_chart_config": {"naturalLanguage": "BTC 4h with RSI"},
    "validate_chart_config": {"config": CHART},
    "generate_chart_image": {"config": CHART},
    "get_chart_bars": {"config": CHART},
    "search_guides": {"query": "risk"},
    "list_guides": {},
    "get_content": {"context": "risk", "pattern": "risk-policy"},
    "get_category_content": {"category": "risk"},
    "get_collection_content": {"collection": "before-trading"},
}


def test_every_tool_has_a_price() -> None:
    assert sorted(COSTS) == sorted(spec.name for spec in CATALOGUE.tools)


@pytest.mark.parametrize("name", [spec.name for spec in CATALOGUE.tools])
async def test_a_tool_costs_what_the_reference_says(
    name: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with (
        running_app(settings, clock=clock, network=FUTURES, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        await client.call_tool("get_account_info", {})  # from here on symbols and the exchange's clock are known
        await client.call_tool("get_average_price", {"symbol": "BNBUSDT"})
        exchange.requests.clear()
        result = await client.call_tool(name, CALLS.get(name, BTC))

    spent = sum(request.weight for request in exchange.requests if request.path.startswith(BINANCE))
    assert not result.is_error
    assert spent == int(COSTS[name].split()[0].rstrip(",;:"))
