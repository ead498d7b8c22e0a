"""Toolsets: what is not picked is neither listed nor callable, over any transport."""

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.stepped import STREAMED

GROUPS = ("market", "account", "orders", "analysis", "charts", "guide", "derivatives")


@pytest.mark.parametrize("group", GROUPS)
async def test_only_the_picked_group_exists(
    group: str, era: str, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    settings = read_settings({"MCP_BINANCE_TOOLSETS": group})
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        resources = {resource.uri for resource in (await client.list_resources()).resources}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}

        assert tools == {spec.name for spec in CATALOGUE.tools if spec.toolset == group}
        assert resources == {spec.uri for spec in CATALOGUE.resources if spec.toolset == group}
        assert prompts == {spec.name for spec in CATALOGUE.prompts if spec.toolset == group}
        for spec in CATALOGUE.tools:
            if spec.toolset != group:
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool(spec.name, {})
        for resource in CATALOGUE.resources:
            if resource.toolset != group:
                with pytest.raises(MCPError, match="Resource not found"):
                    await client.read_resource(resource.uri)

    assert all(request.method == "GET" for request in exchange.requests)


async def test_without_order_book_analytics_the_live_analyses_do_not_exist_and_no_stream_opens(
    era: str, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    settings = read_settings({"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"})
    async with (
        running_app(settings, clock=clock, network=STREAMED, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("get_order_flow", {"symbol": "BTCUSDT"})
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("order_flow_trading", {"symbol": "BTCUSDT"})

    assert tools == {spec.name for spec in CATALOGUE.tools if not spec.live}
    assert (
        prompts
        == {spec.name for spec in CATALOGUE.prompts if not spec.live}
        == {"trading_analysis", "portfolio_risk", "market_overview"}
    )
    assert app.context.live.hub is None


def test_every_tool_belongs_to_a_known_group() -> None:
    assert {spec.toolset for spec in CATALOGUE.tools} <= {*GROUPS}
