"""Resources, prompts, tools and errors are the same over every transport."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App
from mcp_binance_server.surface.apps import page
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.uris import CHART_VIEW
from support.calls import arguments_of, prompt_arguments
from support.every_transport import TRANSPORTS, AnyTransport, Refused

pytestmark = [pytest.mark.timeout(60), pytest.mark.flood]


@pytest.fixture(params=TRANSPORTS)
async def transport(request: pytest.FixtureRequest, app: App) -> AsyncIterator[AnyTransport]:
    async with TRANSPORTS[request.param](app) as opened:
        yield opened


async def test_every_transport_offers_the_same(transport: AnyTransport) -> None:
    listed = await transport.listed()

    assert listed.tools == [spec.name for spec in CATALOGUE.tools]
    assert listed.resources == [spec.uri for spec in CATALOGUE.resources]
    assert listed.templates == [spec.uri_template for spec in CATALOGUE.templates]
    assert listed.prompts == [spec.name for spec in CATALOGUE.prompts]


async def test_every_page_is_the_same(transport: AnyTransport, app: App) -> None:
    for spec in CATALOGUE.resources:
        read = await transport.read(spec.uri)

        (content,) = (await app.dispatcher.read_resource(None, spec.uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert read == content.text


async def test_the_page_of_the_live_chart_is_the_same(transport: AnyTransport) -> None:
    assert await transport.read(CHART_VIEW) == page.text()


async def test_every_prompt_is_the_same(transport: AnyTransport, app: App) -> None:
    for spec in CATALOGUE.prompts:
        arguments = prompt_arguments(spec.name)

        page = await transport.prompt(spec.name, arguments)

        (message,) = (await app.dispatcher.get_prompt(None, spec.name, arguments)).messages
        assert isinstance(message.content, types.TextContent)
        assert page == message.content.text, spec.name


async def test_every_tool_answers_the_same(transport: AnyTransport, app: App) -> None:
    for spec in CATALOGUE.tools:
        arguments = arguments_of(spec.name)

        called = await transport.call(spec.name, arguments)

        expected = await app.dispatcher.call_tool(None, spec.name, arguments)
        assert _comparable(called.structured) == _comparable(expected.structured_content or {}), spec.name
        assert called.is_error == bool(expected.is_error)


@pytest.mark.parametrize(
    ("uri", "code", "error_type"),
    [
        ("binance://invalid/resource", -32404, "resource_not_found"),
        ("binance://market/notasymbol", -32003, "invalid_symbol"),
        ("ftp://market/btcusdt", -32404, "invalid_scheme"),
        ("guide://document/no/such/page.md", -32404, "context_not_found"),
    ],
)
async def test_a_wrong_address_is_refused_alike(transport: AnyTransport, uri: str, code: int, error_type: str) -> None:
    with pytest.raises(Refused) as refused:
        await transport.read(uri)

    assert refused.value.code == code
    assert refused.value.data["error_type"] == error_type
    assert refused.value.data["uri"] == uri
    assert refused.value.data["guide"].startswith("guide://")


async def test_an_unknown_tool_or_prompt_is_refused_alike(transport: AnyTransport) -> None:
    with pytest.raises(Refused) as tool:
        await transport.call("no_such_tool", {})
    with pytest.raises(Refused) as prompt:
        await transport.prompt("no_such_prompt", {})

    assert (tool.value.code, tool.value.message) == (-32602, "Unknown tool: no_such_tool")
    assert (prompt.value.code, prompt.value.message) == (-32602, "Unknown prompt: no_such_prompt")


async def test_bad_arguments_are_said_alike(transport: AnyTransport) -> None:
    called = await transport.call("get_ticker", {"symbol": 5, "more": True})
    with pytest.raises(Refused) as prompt:
        await transport.prompt("trading_analysis", {"strategy": "wild"})

    assert called.is_error
    assert {each["argument"] for each in called.structured["errors"]} == {"symbol", "more"}
    assert {each["argument"] for each in prompt.value.data["errors"]} == {"symbol", "strategy"}


async def test_a_tool_says_what_the_model_can_mend(transport: AnyTransport) -> None:
    called = await transport.call("get_ticker", {"symbol": "BTC/USD"})

    assert called.is_error
    assert called.structured["code"] == -32003
    assert "BTCUSDT" in called.structured["did_you_mean"]
    assert "Did you mean BTCUSDT" in called.text


async def test_a_rate_limit_is_told_alike(transport: AnyTransport, exchange: SimulatedExchange) -> None:
    await transport.read("binance://market/btcusdt")
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "7"}, times=None))

    with pytest.raises(Refused) as refused:
        await transport.read("binance://market/ethusdt")

    assert refused.value.code == -32001
    assert refused.value.data["retry_after_secs"] == 7


async def test_a_refused_key_is_told_alike(transport: AnyTransport, exchange: SimulatedExchange) -> None:
    exchange.account.api_key = "another key entirely, of the right length"

    with pytest.raises(Refused) as refused:
        await transport.read("binance://account/balances")
    called = await transport.call("get_account_info", {})

    assert refused.value.contract_code == -32002
    assert refused.value.data["error_type"] == "invalid_credentials"
    assert "****" in refused.value.data["masked_api_key"]
    assert called.is_error
    assert called.structured["code"] == -32002


def _comparable(structured: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs from one call to the next by its nature: when it was asked."""
    return {name: value for name, value in structured.items() if name != "round_trip_ms"}
