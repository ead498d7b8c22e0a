"""What a client learns before its first call."""

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server import __version__
from mcp_binance_server.app import App
from support.raw import ask_in_memory
from support.requirement import requirement

TEMPLATE = types.ResourceTemplateReference(type="ref/resource", uri="binance://market/{symbol}")


@requirement("FR-016", "resources/capabilities", "prompts/capabilities", "ruling/02")
async def test_the_capabilities_are_those_of_the_contract_and_completions(client: Client) -> None:
    capabilities = client.server_capabilities

    dumped = capabilities.model_dump(by_alias=True, exclude_none=True)
    assert dumped == {
        "prompts": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "tools": {"listChanged": False},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
    }


@requirement("resources/server-info", "ruling/03")
async def test_the_server_gives_its_name_and_version(client: Client) -> None:
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("mcp-binance-server", __version__)


async def test_building_a_server_and_greeting_it_costs_no_request(client: Client, exchange: SimulatedExchange) -> None:
    await client.list_tools()
    await client.list_resources()

    assert exchange.requests == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("btcu", ["btcusdt", "btcusdc"]), ("BTCE", ["btceur"]), ("币", ["币安人生usdt"]), ("zzz", [])],
)
@requirement("resources/symbol-case-uri")
async def test_symbols_complete_as_addresses_write_them(client: Client, typed: str, offered: list[str]) -> None:
    result = await client.complete(TEMPLATE, {"name": "symbol", "value": typed})

    assert result.completion.values == offered
    assert result.completion.total == len(offered)


async def test_completion_stops_at_a_hundred_and_unknown_arguments_get_nothing(client: Client) -> None:
    every = await client.complete(TEMPLATE, {"name": "symbol", "value": ""})
    other = await client.complete(TEMPLATE, {"name": "mood", "value": "g"})

    assert 40 < len(every.completion.values) <= 100
    assert other.completion.values == []


async def test_completion_is_silent_when_the_exchange_is(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=503, times=None))

    assert (await client.complete(TEMPLATE, {"name": "symbol", "value": "b"})).completion.values == []


async def test_in_an_argument_symbols_are_upper_case(client: Client) -> None:
    prompt = types.PromptReference(type="ref/prompt", name="trading_analysis")

    result = await client.complete(prompt, {"name": "symbol", "value": "btcu"})

    assert result.completion.values == ["BTCUSDT", "BTCUSDC"]


@pytest.mark.parametrize(
    ("argument", "typed", "offered"),
    [
        ("strategy", "", ["aggressive", "balanced", "conservative"]),
        ("strategy", "b", ["balanced"]),
        ("risk_tolerance", "m", ["medium"]),
        ("interval", "1", ["1s", "1m", "15m", "1h", "12h", "1d", "1w", "1M"]),
    ],
)
async def test_closed_choices_complete(client: Client, argument: str, typed: str, offered: list[str]) -> None:
    prompt = types.PromptReference(type="ref/prompt", name="trading_analysis")

    result = await client.complete(prompt, {"name": argument, "value": typed})

    assert result.completion.values == offered


@requirement("ruling/17")
async def test_the_resource_list_also_carries_the_templates(app: App) -> None:
    result = await ask_in_memory(app.server, "resources/list", {})

    separate = await ask_in_memory(app.server, "resources/templates/list", {})
    assert result["resourceTemplates"] == separate["resourceTemplates"]
    assert result["resourceTemplates"][0]["uriTemplate"] == "binance://market/{symbol}"
