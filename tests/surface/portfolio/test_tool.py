"""What pages alone gave is a tool too: the account's value and risk, and the order history over all symbols."""

import re
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.clock import FakeClock
from support.golden import Golden
from support.samples import SAMPLE_MOMENT_MS
from support.served import Place, read_page, text_of

POSITIONS = "binance://account/positions"
HISTORY = "binance://orders/history"


def structure(tool: str, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    spec = CATALOGUE.tool(tool)
    assert spec is not None
    validate(answer, spec.wire.output_schema or {})
    return answer


def bare(cell: str) -> str:
    return re.sub(r"[$,~]", "", cell)


async def test_a_portfolio_is_worth_what_the_positions_page_says(client: Client, golden: Golden) -> None:
    page = await read_page(client, POSITIONS)
    result = await client.call_tool("get_portfolio", {})

    answer = structure("get_portfolio", result.structured_content)
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")}
    for row in answer["holdings"]:
        if row["asset"] != "USDT":
            assert row["value"] in bare(rows[row["asset"]])
            assert row["share"] in rows[row["asset"]]
            assert row["priced_by"] in rows[row["asset"]]
    assert f"Portfolio Value**: {answer['total_value']}" in bare(page)
    golden.check("tools/get_portfolio.answer.json", result.structured_content)
    golden.check("tools/get_portfolio.answer.md", text_of(result) + "\n")


async def test_a_portfolio_risks_what_its_prompt_says(client: Client) -> None:
    prompt = (await client.call_tool("get_analysis", {"kind": "portfolio_risk"})).structured_content["page"]
    answer = (await client.call_tool("get_portfolio", {})).structured_content

    risk, spread = answer["risk"], answer["concentration"]
    assert f"**Portfolio volatility**: {risk['volatility']} " in prompt
    assert f"**1-day VaR {risk['level']}**: ${int(float(risk['var'])):,} ({risk['var_share']})" in prompt
    assert f"**ES {risk['level']}**: ${int(float(risk['es'])):,} ({risk['es_share']})" in prompt
    assert f"n={risk['days']}," in prompt
    assert f"({risk['worst_days']} worst of {risk['days']} days" in prompt
    assert f"**Range**: VaR {risk['var_range']}, ES {risk['es_range']} (" in prompt
    assert f"**Effective assets by risk**: {spread['effective_assets_by_risk']} " in prompt
    assert f"**HHI**: {spread['hhi']} ({spread['level']}; {spread['effective_assets']} effective assets" in prompt
    assert f"**Stablecoin share**: {answer['stablecoin_share']}" in prompt


async def test_both_channels_of_a_portfolio_say_every_holding(client: Client) -> None:
    result = await client.call_tool("get_portfolio", {"limit": 2})

    answer, text = result.structured_content, text_of(result)
    assert (answer["count"], answer["limit"]) == (2, 2)
    assert answer["more"] == 'get_portfolio {"limit": 5}'
    assert f"More: {answer['more']}" in text
    for row in answer["holdings"]:
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {row['asset']} "))
        assert all(each in bare(line) for each in row.values() if each is not None)
    assert all(value in bare(text) for value in answer["risk"].values() if isinstance(value, str))
    assert all(value in text for value in answer["concentration"].values())


async def test_an_empty_account_says_so(client: Client, exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("empty_account")

    result = await client.call_tool("get_portfolio", {})

    answer = structure("get_portfolio", result.structured_content)
    assert (answer["holdings"], answer["total_value"], answer["risk"]) == ([], "0.00", None)
    assert answer["not_measured"] == "empty portfolio"
    assert "No holdings" in text_of(result)
    assert "not measured: empty portfolio" in text_of(result)


async def test_without_a_key_there_is_no_portfolio(clock: FakeClock, exchange: SimulatedExchange, era: str) -> None:
    async with Place(clock, exchange, era).served({}) as client:
        result = await client.call_tool("get_portfolio", {})

    assert result.structured_content["error_type"] == "invalid_credentials"


async def test_without_a_symbol_the_order_history_is_that_of_the_page(client: Client) -> None:
    page = await read_page(client, HISTORY)
    result = await client.call_tool("get_all_orders", {})

    answer = structure("get_all_orders", result.structured_content)
    said = text_of(result).splitlines()
    assert [line for line in page.splitlines() if not any(each.startswith(line.rstrip("|")) for each in said)] == []
    assert answer["count"] == len(answer["orders"]) > 0
    assert [str(each["order_id"]) for each in answer["orders"]] == re.findall(r"^\| (\d+) ", page, re.MULTILINE)
    assert f"**Symbols Asked**: {', '.join(answer['symbols_asked'])}" in page.replace("\\", "")


async def test_the_history_can_be_cut_and_says_so(client: Client) -> None:
    result = await client.call_tool("get_all_orders", {"limit": 2})

    answer = result.structured_content
    assert (answer["count"], answer["limit"]) == (2, 2)
    assert answer["more"] == "get_all_orders with one symbol"
    assert "**Orders Shown**: 2, newest first; there are older ones" in text_of(result)


@pytest.mark.parametrize("arguments", [{"start": "1h"}, {"endTime": "1h"}])
async def test_a_period_needs_a_symbol(client: Client, arguments: dict[str, str]) -> None:
    result = await client.call_tool("get_all_orders", arguments)

    assert "start and end need a symbol" in text_of(result)
