"""The chart tools take a configuration as the object `config`, or as JSON text in `chart`."""

import json
from typing import Any

import pytest
from mcp import Client

from mcp_binance_server.surface.catalogue import CATALOGUE
from support.served import text_of

TOOLS = ("validate_chart_config", "generate_chart_image", "get_chart_bars")
CHART: dict[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "7D"}


@pytest.mark.parametrize("tool", TOOLS)
async def test_json_text_in_chart_is_answered_like_the_object_in_config(tool: str, client: Client) -> None:
    first = await client.call_tool(tool, {"config": CHART})

    second = await client.call_tool(tool, {"chart": json.dumps(CHART)})

    assert not second.is_error
    assert second.structured_content == first.structured_content


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("arguments", [{}, {"config": CHART, "chart": json.dumps(CHART)}])
async def test_an_error_names_both_arguments_unless_exactly_one_is_given(
    tool: str, arguments: dict[str, Any], client: Client
) -> None:
    answer = await client.call_tool(tool, arguments)

    assert answer.is_error
    assert "config (an object) or chart (the same as JSON text)" in text_of(answer)


@pytest.mark.parametrize("text", ["[]", "nonsense", '"BTCUSDT"', "{" * 3_000])
async def test_a_text_that_is_not_a_json_object_is_refused(text: str, client: Client) -> None:
    answer = await client.call_tool("validate_chart_config", {"chart": text})

    assert answer.is_error
    assert "chart is not a JSON object" in text_of(answer)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_schema_lists_config_first_and_requires_neither(tool: str) -> None:
    schema = next(spec for spec in CATALOGUE.tools if spec.name == tool).input_schema

    assert [*schema["properties"]][:2] == ["config", "chart"]
    assert schema["properties"]["chart"]["type"] == "string"
    assert "required" not in schema
