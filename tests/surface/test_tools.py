"""Tools: what a call answers, and that a failure is flagged as one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, validate
from mcp import Client, MCPError, types
from pydantic import Field

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from support.clock import FakeClock
from support.golden import Golden
from support.requirement import requirement
from support.samples import SAMPLE_MOMENT_MS

READ_BY_A_MODEL = ("name", "title", "description", "inputSchema")


async def test_get_ticker_answers_text_and_the_same_numbers_as_data(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")

    result = await client.call_tool("get_ticker", {"symbol": "btcusdt"})

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert content.text.startswith("# BTCUSDT Market Data")
    assert result.is_error is False
    validate(result.structured_content, CATALOGUE.tools[0].wire.output_schema or {})
    golden.check("tools/get_ticker.answer.json", result.structured_content)


@requirement("ruling/08")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"symbol": "BTC/USD"}, -32003), ({}, -32602), ({"symbol": "BTCUSDT", "x": 1}, -32602), ({"symbol": 5}, -32602)],
)
async def test_a_failed_tool_says_so_in_structure_and_flag(
    client: Client, arguments: dict[str, Any], code: int
) -> None:
    result = await client.call_tool("get_ticker", arguments)

    assert result.is_error is True
    assert result.structured_content["success"] is False
    assert result.structured_content["code"] == code
    validate(result.structured_content, CATALOGUE.tools[0].wire.output_schema or {})
    assert result.structured_content["error"]
    assert result.structured_content["recovery_suggestion"]


@requirement("ruling/08")
async def test_a_rate_limit_in_a_tool_tells_how_long_to_wait(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "12"}))

    result = await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})

    assert result.is_error is True
    assert result.structured_content["retry_after_secs"] == 12


async def test_bad_arguments_are_not_echoed(client: Client) -> None:
    result = await client.call_tool("get_ticker", {"symbol": ["hunter2"], "hunter3": "hunter2"})

    assert "hunter2" not in result.model_dump_json()
    assert "errors.pydantic" not in result.model_dump_json()


@pytest.mark.parametrize("name", ["no_such_tool", "x" * 5_000])
async def test_an_unknown_tool_is_an_invalid_request(client: Client, name: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(name, {})

    assert caught.value.code == -32602
    assert len(caught.value.message) < 250


def on_the_wire(listed: list[dict[str, Any]]) -> int:
    return len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode())


async def test_every_tool_is_listed_as_reviewed(client: Client, golden: Golden) -> None:
    for tool in await listed_tools(client):
        golden.check(f"tools/{tool['name']}.json", tool)


@requirement("ruling/40")
async def test_the_list_of_tools_stays_within_both_budgets(client: Client) -> None:
    listed = await listed_tools(client)

    read_by_a_model = [{name: tool[name] for name in READ_BY_A_MODEL} for tool in listed]
    groups = {"market", "account", "orders"}
    small = {spec.name for spec in CATALOGUE.tools if spec.toolset in groups}
    assert on_the_wire(read_by_a_model) <= 28_000
    assert on_the_wire(read_by_a_model) / len(listed) <= 800
    assert on_the_wire(listed) <= 61_000
    assert on_the_wire([tool for tool in listed if tool["name"] in small]) < 25_000


def test_arguments_are_listed_in_one_piece_with_one_type_each() -> None:
    for spec in CATALOGUE.tools:
        Draft202012Validator.check_schema(spec.input_schema)
        for node in schemas_in(spec.input_schema):
            assert "$ref" not in node
            assert "$defs" not in node
            assert isinstance(node["type"], str), spec.name


def schemas_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for each in schema.get("properties", {}).values():
        yield from schemas_in(each)
    if "items" in schema:
        yield from schemas_in(schema["items"])


async def listed_tools(client: Client) -> list[dict[str, Any]]:
    listed = (await client.list_tools()).tools
    return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed]


def test_every_tool_says_whether_it_reads_or_writes_and_when_not_to_use_it() -> None:
    for spec in CATALOGUE.tools:
        annotations = spec.wire.annotations
        assert annotations is not None
        assert annotations.read_only_hint is spec.read_only
        assert "Not for" in spec.description
        assert len(spec.description) < 400


class GreetArguments(Arguments):
    name: str = Field(description="Whom to greet", max_length=20)
    tone: str | None = Field(None, description="How")


async def greet(_context: Context, arguments: GreetArguments) -> str:
    return f"Hello, {arguments.name}"


GREET = PromptSpec("greet", "Greets", GreetArguments, greet)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_prompt_is_a_record_like_a_tool(app: App, mode: str) -> None:
    server = build_server(Dispatcher(Catalogue(prompts=(GREET,)), app.context))

    async with Client(server, mode=mode, cache=None) as client:
        listed = (await client.list_prompts()).prompts
        rendered = await client.get_prompt("greet", {"name": "Ada"})
        with pytest.raises(MCPError) as wrong:
            await client.get_prompt("greet", {"name": "A" * 21})

    assert [(argument.name, argument.required) for argument in listed[0].arguments or []] == [
        ("name", True),
        ("tone", False),
    ]
    assert isinstance(rendered.messages[0].content, types.TextContent)
    assert rendered.messages[0].content.text == "Hello, Ada"
    assert wrong.value.code == -32602
    assert wrong.value.data["errors"][0]["argument"] == "name"


async def test_an_unknown_prompt_is_an_invalid_request(client: Client) -> None:
    with pytest.raises(MCPError, match="Unknown prompt: nothing"):
        await client.get_prompt("nothing", {})
