"""The live chart: what a host with MCP Apps learns of it, the page it gets, and that all of it can be turned off."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, MCPError

from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.uris import CHART_VIEW
from support.clock import FakeClock
from support.desk import NETWORK, Loop

EXTENSION = "io.modelcontextprotocol/ui"
PAGE_TYPE = "text/html;profile=mcp-app"


@asynccontextmanager
async def connected(
    clock: FakeClock, exchange: SimulatedExchange, era: str, chosen: dict[str, str]
) -> AsyncGenerator[Client]:
    async with (
        running_app(read_settings(chosen), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        yield client


async def meta_of(client: Client) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.meta for tool in (await client.list_tools()).tools if tool.meta}


async def test_a_host_is_told_that_charts_have_a_page(client: Client) -> None:
    capabilities = client.server_capabilities

    assert capabilities.extensions == {EXTENSION: {"mimeTypes": [PAGE_TYPE]}}


async def test_the_tool_that_draws_names_the_page_in_both_spellings(client: Client) -> None:
    listed = await meta_of(client)

    assert listed["generate_chart_image"] == {"ui": {"resourceUri": CHART_VIEW}, "ui/resourceUri": CHART_VIEW}


async def test_the_page_may_be_kept_by_everybody_and_calls_nobody(client: Client, era: str) -> None:
    read = await client.read_resource(CHART_VIEW)
    [content] = read.contents

    assert content.model_dump(by_alias=True, exclude={"text"}) == {
        "uri": CHART_VIEW,
        "mimeType": PAGE_TYPE,
        "_meta": {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}},
    }
    if era == "auto":  # older revisions have no word for it
        assert (read.ttl_ms, read.cache_scope) == (24 * 60 * 60 * 1000, "public")


async def test_the_page_is_not_in_the_list_of_resources(client: Client) -> None:
    listed = await client.list_resources()

    assert all(not each.uri.startswith("ui://") for each in listed.resources)


@pytest.mark.parametrize("address", ["ui://mcp-binance-server/chart-0.html", "ui://elsewhere/chart-1.html", "ui://"])
async def test_an_address_that_was_never_listed_has_no_page(client: Client, address: str) -> None:
    with pytest.raises(MCPError, match="Resource not found"):
        await client.read_resource(address)


@pytest.mark.parametrize("chosen", [{"MCP_BINANCE_CHART_APP": "off"}, {"MCP_BINANCE_TOOLSETS": "market,guide"}])
async def test_turned_off_it_leaves_no_trace(
    clock: FakeClock, exchange: SimulatedExchange, era: str, chosen: dict[str, str]
) -> None:
    async with connected(clock, exchange, era, chosen) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]

        assert not client.server_capabilities.extensions
        assert await meta_of(client) == {}
        for spec in CATALOGUE.tools:
            if spec.for_view_only:
                assert spec.name not in listed
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool(spec.name, {})
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource(CHART_VIEW)
