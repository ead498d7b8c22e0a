"""A pair whose name is Chinese: for charts drawn here the exchange's list says what a pair is, no pattern does."""

from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.charts import answer_of
from support.requirement import requirement

PAIR = "币安人生USDT"
CHART: dict[str, Any] = {"symbol": f"BINANCE:{PAIR}", "interval": "1h", "range": "2D", "width": 400, "height": 300}


async def called(client: Client, tool: str, **arguments: object) -> types.CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result


@pytest.mark.slow
@requirement("ruling/10")
@pytest.mark.parametrize("written", [f"BINANCE:{PAIR}", "binance:币安人生usdt"])
async def test_it_is_drawn_and_its_legend_says_its_name(client: Client, written: str) -> None:
    result = await called(client, "generate_chart_image", config={**CHART, "symbol": written})

    text = next(each.text for each in result.content if isinstance(each, types.TextContent))
    assert text.startswith(f"{PAIR} 1h · BINANCE TESTNET: O ")
    assert answer_of(result)["metadata"]["bars"] == 49


@pytest.mark.slow
@pytest.mark.night
@requirement("ruling/10")
async def test_its_picture_says_which_letters_it_lacks(client: Client) -> None:
    """The typeface has no Chinese: what a question mark stands for is told, so that nobody takes it for the name."""
    chinese = await called(client, "generate_chart_image", config=CHART)
    latin = await called(client, "generate_chart_image", config={**CHART, "symbol": "BINANCE:BTCUSDT"})

    said = "no_glyph: the picture's typeface has no 币安人生; a ? stands for each."
    assert said in answer_of(chinese)["metadata"]["warnings"]
    assert not any(each.startswith("no_glyph") for each in answer_of(latin)["metadata"]["warnings"])


@requirement("ruling/10")
async def test_its_bars_are_answered_under_its_name(client: Client) -> None:
    bars = (await called(client, "get_chart_bars", config=CHART)).structured_content

    assert bars is not None
    assert bars["symbol"] == PAIR
    assert bars["legend"][0]["name"].startswith(f"{PAIR} 1h")
    assert len(bars["rows"]) == 49


async def test_others_are_compared_with_it(client: Client, exchange: SimulatedExchange) -> None:
    config = {**CHART, "symbol": "BINANCE:BTCUSDT", "compare": [f"BINANCE:{PAIR}"]}

    bars = (await called(client, "get_chart_bars", config=config)).structured_content

    assert bars is not None
    assert PAIR in [row["name"] for row in bars["legend"]]
    assert PAIR in {each.params.get("symbol") for each in exchange.requests}


async def test_the_validator_says_that_it_can_be_drawn_and_by_whom(client: Client) -> None:
    verdict = answer_of(await called(client, "validate_chart_config", config=CHART))

    assert verdict["valid"]
    assert any("chart-img.com" in each["message"] for each in verdict["errors"])


async def test_a_pair_that_the_exchange_does_not_list_is_refused_by_it(client: Client) -> None:
    result = await client.call_tool("get_chart_bars", {"config": {**CHART, "symbol": "BINANCE:币安USDT"}})

    assert result.is_error
    assert answer_of(result)["error_type"] == "invalid_symbol"


@pytest.mark.parametrize(
    "symbol", ["币安人生USDT", "COINBASE:币安人生USDT", "BINANCE:币安人生USDT.P", "BINANCE:币安 人生USDT"]
)
async def test_what_is_no_spot_pair_of_binance_keeps_the_pattern(client: Client, symbol: str) -> None:
    result = await client.call_tool("get_chart_bars", {"config": {**CHART, "symbol": symbol}})

    assert result.is_error
    assert "Invalid symbol format" in answer_of(result)["explanation"]
