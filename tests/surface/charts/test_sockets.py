"""Chart tools over real sockets: over how many connections they ask."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from support.exchange_socket import ServedExchange, cold_client, served_exchange
from support.requirement import requirement

pytestmark = pytest.mark.flood

PAIR = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 400, "height": 300}


@pytest.fixture
def service() -> Iterator[ServedExchange]:
    with served_exchange() as running:
        yield running


async def answered(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    assert (await client.call_tool(tool, arguments)).is_error is False


@requirement("charts/connections")
async def test_one_call_after_another_goes_over_one_connection(service: ServedExchange) -> None:
    async with cold_client(service) as client:
        await answered(client, "fetch_chart_documentation", {})
        await answered(client, "get_exchanges", {})
        for exchange in ("NASDAQ", "NYSE", "KRAKEN", "COINBASE"):
            await answered(client, "get_symbols", {"exchange": exchange})
        for height in (300, 302):
            await answered(client, "generate_chart_image", {"config": {**PAIR, "height": height}})
            await answered(client, "generate_chart_image", {"config": {**PAIR, "height": height}, "storage": True})

    ports = [port for path, port in service.arrivals if path.startswith(("/v2", "/v3", "/chart-docs"))]
    assert len(ports) == 10
    assert len(set(ports)) == 1
