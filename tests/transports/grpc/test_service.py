"""Everything the MCP server answers is answered by gRPC too, and the same."""

import json
from base64 import b64decode
from typing import Any

import pytest
from mcp import Client, types

from mcp_binance_server import __version__
from mcp_binance_server.app import App
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.calls import prompt_arguments
from support.provider import Provider

PAIR = {"symbol": "BTCUSDT"}
CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_symbols": {"query": "btc"},
    "get_klines": {**PAIR, "interval": "1h"},
    "get_indicators": {**PAIR, "indicators": ["rsi"]},
    "estimate_slippage": {**PAIR, "side": "BUY", "amount": "1000"},
    "get_server_time": {},
    "get_orderbook_health": {},
    "get_account_info": {},
    "get_open_orders": {},
    "get_portfolio": {},
    "get_analysis": {**PAIR, "kind": "trading_analysis"},
    "get_order": {**PAIR, "order_id": 41200880004},
    "preview_order": {**PAIR, "side": "BUY", "quantity": "0.001", "price": "100000"},
    "fetch_chart_documentation": {},
    "get_exchanges": {},
    "get_symbols": {"exchange": "BINANCE"},
    "construct_chart_config": {"naturalLanguage": "BTC with RSI over the last week"},
    "validate_chart_config": {"config": CHART},
    "generate_chart_image": {"config": CHART},
    "get_chart_bars": {"config": CHART},
    "search_guides": {"query": "spread"},
    "list_guides": {},
    "scan_market": {},
    "get_content": {"context": "start"},
    "get_category_content": {"category": "start"},
    "get_collection_content": {"collection": "start"},
}


@pytest.mark.parametrize("name", [spec.name for spec in CATALOGUE.tools])
async def test_a_tool_answers_what_it_answers_over_mcp(app: App, provider: Provider, name: str) -> None:
    arguments = ARGUMENTS.get(name, PAIR)
    async with Client(app.server, cache=None) as client:
        await client.call_tool(name, arguments)  # some say whether they had to ask
        expected = await client.call_tool(name, arguments)

    answer = await provider.invoke(name, arguments)

    texts = [block.text for block in expected.content if isinstance(block, types.TextContent)]
    images = [b64decode(block.data) for block in expected.content if isinstance(block, types.ImageContent)]
    assert expected.is_error is False, texts
    assert json.loads(answer.structured_json or "null") == expected.structured_content
    assert answer.text == "\n\n".join(texts)
    assert answer.is_error is False
    assert [each.data for each in answer.attachments if each.HasField("data")] == images


@pytest.mark.night
@pytest.mark.slow
async def test_a_picture_comes_as_bytes_and_a_stored_one_as_an_address_that_can_be_read(provider: Provider) -> None:
    drawn = await provider.invoke("generate_chart_image", {"config": CHART})
    stored = await provider.invoke("generate_chart_image", {"config": CHART, "storage": True})

    (picture,) = drawn.attachments
    assert (picture.mime_type, picture.data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    png, svg = [each.uri for each in stored.attachments if each.HasField("uri")]
    (kept,) = (await provider.read(png)).contents
    assert (kept.mime_type, kept.data) == ("image/png", picture.data)
    assert (await provider.read(svg)).contents[0].text.startswith("<svg")


@pytest.mark.parametrize("arguments", [{"symbol": "BTC/USD"}, {}, {"symbol": 5}])
async def test_a_tool_that_failed_answers_so_and_not_by_a_status(
    app: App, provider: Provider, arguments: dict[str, Any]
) -> None:
    async with Client(app.server, cache=None) as client:
        expected = await client.call_tool("get_ticker", arguments)

    answer = await provider.invoke("get_ticker", arguments)

    assert answer.is_error is True
    assert json.loads(answer.structured_json) == expected.structured_content


@pytest.mark.parametrize(
    "uri", [*(spec.uri for spec in CATALOGUE.resources), "guide://collection/start", "binance://derivatives/btcusdt"]
)
async def test_a_page_is_the_same_byte_for_byte(app: App, provider: Provider, uri: str) -> None:
    async with Client(app.server, cache=None) as client:
        expected = await client.read_resource(uri)

    answer = await provider.read(uri)

    (page,), (shown,) = answer.contents, expected.contents
    assert isinstance(shown, types.TextResourceContents)
    assert page.text.encode() == shown.text.encode()
    assert (page.uri, page.mime_type) == (shown.uri, shown.mime_type)
    assert json.loads(page.meta_json or "null") == shown.meta
    assert (answer.keep_ms, answer.shareable) == (expected.ttl_ms, expected.cache_scope == "public")


@pytest.mark.slow
@pytest.mark.parametrize("name", [spec.name for spec in CATALOGUE.prompts])
async def test_a_prompt_is_the_same(app: App, provider: Provider, name: str) -> None:
    arguments = prompt_arguments(name)
    async with Client(app.server, cache=None) as client:
        expected = await client.get_prompt(name, arguments)

    answer = await provider.prompt(name, arguments)

    (message,), (shown,) = answer.messages, expected.messages
    assert isinstance(shown.content, types.TextContent)
    assert (message.role, message.text) == (shown.role, shown.content.text)
    assert answer.description == expected.description


async def test_the_list_of_capabilities_is_the_catalogue(provider: Provider) -> None:
    listed = await provider.capabilities()

    assert (listed.server_name, listed.server_version) == ("mcp-binance-server", __version__)
    assert [tool.name for tool in listed.tools] == [spec.name for spec in CATALOGUE.tools]
    assert [json.loads(tool.input_schema_json) for tool in listed.tools] == [
        spec.input_schema for spec in CATALOGUE.tools
    ]
    assert {tool.scope for tool in listed.tools} == {"market:read", "account:read"}
    assert [each.uri for each in listed.resources] == [spec.uri for spec in CATALOGUE.resources]
    assert [each.uri_template for each in listed.templates] == [spec.uri_template for spec in CATALOGUE.templates]
    assert [(each.name, [argument.name for argument in each.arguments]) for each in listed.prompts] == [
        (spec.name, [each for each in spec.arguments.model_fields if each not in spec.tool_only])
        for spec in CATALOGUE.prompts
    ]
    assert [each.type for each in listed.events] == [
        f"provider.v1.{name}" for name in ("ticker", "book", "trade", "feed")
    ]
    assert all(each.description for each in (*listed.tools, *listed.resources, *listed.prompts, *listed.events))
