"""The live chart: what a host with MCP Apps learns of it, the page it gets, and that all of it can be turned off."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.apps import page
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.uris import CHART_VIEW
from support.calls import arguments_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.process import Process
from support.requirement import requirement
from support.webapp import served_http

PAGE_TYPE = "text/html;profile=mcp-app"
EXTENSIONS = {"io.modelcontextprotocol/ui": {"mimeTypes": [PAGE_TYPE]}}
BARS = "get_chart_bars"
IMAGE = "generate_chart_image"
READ_BY_A_MODEL = ("name", "title", "description", "inputSchema")
EVERY_GROUP = CATALOGUE.toolsets


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


def listed(*, chart_app: bool) -> list[dict[str, Any]]:
    shown = CATALOGUE.only(EVERY_GROUP, chart_app=chart_app)
    return [spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True) for spec in shown.tools]


def size(tools: list[dict[str, Any]]) -> int:
    return len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())


def is_for_a_page(tool: dict[str, Any]) -> bool:
    return tool.get("_meta", {}).get("ui", {}).get("visibility") == ["app"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_host_is_told_of_it_in_both_eras(app: App, mode: str) -> None:
    async with Client(app.server, mode=mode, cache=None) as client:
        assert client.server_capabilities.extensions == EXTENSIONS


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_host_is_told_of_it_over_http(app: App, mode: str) -> None:
    async with served_http(app) as url, Client(f"{url}/mcp", mode=mode, cache=None) as client:
        read = await client.read_resource(CHART_VIEW)

        assert client.server_capabilities.extensions == EXTENSIONS
        assert isinstance(read.contents[0], types.TextResourceContents)
        assert read.contents[0].text == page.text()


@pytest.mark.night
@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(("chosen", "told"), [("on", EXTENSIONS), ("off", None)])
def test_a_host_on_a_pipe_is_told_of_it_before_anything_is_loaded(
    chosen: str, told: dict[str, Any] | None, *, modern: bool
) -> None:
    nobody = {"BINANCE_REST_URL": "http://127.0.0.1:9", "MCP_BINANCE_CHART_APP": chosen}
    with Process(environment=nobody) as process:
        greeting = process.ask(1, "server/discover", {}, modern=True) if modern else process.shake_hands()

    assert greeting["result"]["capabilities"].get("extensions") == told


async def test_the_tool_that_draws_names_the_page_in_both_spellings_and_the_pages_own_is_no_models(
    client: Client,
) -> None:
    assert await meta_of(client) == {
        IMAGE: {"ui": {"resourceUri": CHART_VIEW}, "ui/resourceUri": CHART_VIEW},
        BARS: {"ui": {"visibility": ["app"]}},
    }


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
    resources = (await client.list_resources()).resources

    assert all(not each.uri.startswith("ui://") for each in resources)


async def test_scheme_in_any_case_leads_to_the_page(client: Client) -> None:
    read = await client.read_resource(CHART_VIEW.replace("ui", "UI", 1))

    assert read.contents[0].mime_type == PAGE_TYPE


@pytest.mark.parametrize(
    "address",
    [
        "ui://mcp-binance-server/chart-0.html",
        "ui://mcp-binance-server/chart-2.html",
        "ui://mcp-binance-server/../chart-1.html",
        "ui://elsewhere/chart-1.html",
        "ui://",
    ],
)
async def test_an_address_that_was_never_listed_has_no_page(client: Client, address: str) -> None:
    with pytest.raises(MCPError, match="Resource not found"):
        await client.read_resource(address)


@pytest.mark.parametrize("chosen", [{"MCP_BINANCE_CHART_APP": "off"}, {"MCP_BINANCE_TOOLSETS": "market,guide"}])
async def test_turned_off_it_leaves_no_trace(
    clock: FakeClock, exchange: SimulatedExchange, era: str, chosen: dict[str, str]
) -> None:
    async with connected(clock, exchange, era, chosen) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}

        assert not client.server_capabilities.extensions
        assert await meta_of(client) == {}
        assert BARS not in names
        assert (IMAGE in names) is ("MCP_BINANCE_CHART_APP" in chosen)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool(BARS, arguments_of(BARS))
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource(CHART_VIEW)


async def test_that_hosts_hide_a_tool_is_no_access_control(app: App) -> None:
    stranger = Caller(Visitor("bob", frozenset({"account:read"})), Vault[Principal](None))
    reader = Caller(Visitor("ada", frozenset({"market:read"})), Vault[Principal](None))

    with pytest.raises(InsufficientScope):
        await app.dispatcher.call_tool(stranger, BARS, arguments_of(BARS))
    with pytest.raises(InsufficientScope):
        await app.dispatcher.read_resource(stranger, CHART_VIEW)
    answer = await app.dispatcher.call_tool(reader, BARS, arguments_of(BARS))

    assert not answer.is_error
    assert app.dispatcher.scope_needed("tools/call", BARS) == "market:read"
    assert app.dispatcher.scope_needed("resources/read", CHART_VIEW) == "market:read"


@requirement("ruling/40")
def test_a_model_reads_nothing_more_for_it_and_the_list_grows_by_what_a_page_needs() -> None:
    with_it, without = listed(chart_app=True), listed(chart_app=False)
    seen = [{name: tool[name] for name in READ_BY_A_MODEL} for tool in with_it if not is_for_a_page(tool)]
    usual = [{name: tool[name] for name in READ_BY_A_MODEL} for tool in without]
    apart = [tool for tool in with_it if is_for_a_page(tool)]

    assert seen == usual
    assert [tool["name"] for tool in apart] == [BARS]
    assert "outputSchema" not in apart[0]
    assert size(apart) <= 580
    assert size(with_it) - size(without) - size(apart) <= 200
