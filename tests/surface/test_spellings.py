"""Other spellings of a pair: tools that read take them and say which pair they took; the rest is exact."""

from typing import Any

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.requirement import requirement
from support.served import text_of

FURTHER: dict[str, dict[str, Any]] = {
    "get_klines": {"interval": "1h", "limit": 3},
    "get_indicators": {"indicators": ["rsi"]},
    "get_analysis": {"kind": "trading_analysis"},
    "get_order": {"order_id": 41_200_880_004},
    "estimate_slippage": {"amount": "1000"},
    "preview_order": {"side": "BUY", "quantity": "0.001", "price": "40000"},
}
SEVERAL = ("get_ticker", "get_account_trades", "get_portfolio")
# Its words are not a pair, or it has its own table of markets.
APART = ("get_symbols", "get_derivatives", "get_chart_bars", "construct_chart_config")
TAKERS = [
    spec.name for spec in CATALOGUE.tools if "symbol" in spec.input_schema["properties"] and spec.name not in APART
]


@requirement("ruling/53")
@pytest.mark.parametrize("name", TAKERS)
async def test_every_tool_that_reads_takes_a_spelling_and_names_the_pair(client: Client, name: str) -> None:
    result = await client.call_tool(name, {"symbol": "btc/usdt", **FURTHER.get(name, {})})

    assert not result.is_error, text_of(result)
    note = "Read btc/usdt as BTCUSDT."
    assert text_of(result).startswith(f"{note}\n\n")
    assert result.structured_content["notes"][0] == note


@requirement("ruling/53")
@pytest.mark.parametrize("name", SEVERAL)
async def test_a_list_of_pairs_takes_spellings_too(client: Client, name: str) -> None:
    result = await client.call_tool(name, {"symbols": ["bitcoin", "ETHUSDT", "BINANCE:BNBUSDT"]})

    assert not result.is_error, text_of(result)
    assert text_of(result).startswith("Read bitcoin as BTCUSDT, BINANCE:BNBUSDT as BNBUSDT.")


@requirement("ruling/53")
async def test_an_exact_symbol_has_no_note(client: Client) -> None:
    result = await client.call_tool("get_ticker", {"symbol": " btcusdt "})

    assert "Read" not in text_of(result)
    assert "notes" not in result.structured_content


@requirement("ruling/53")
async def test_several_pairs_that_fit_are_a_question_and_not_a_guess(
    client: Client, exchange: SimulatedExchange
) -> None:
    refused = await client.call_tool("get_ticker", {"symbol": "USDT"})

    assert refused.is_error
    assert refused.structured_content["did_you_mean"]
    assert "/api/v3/ticker/24hr" not in [each.path for each in exchange.requests]


@requirement("ruling/53")
async def test_pages_prompts_and_completions_stay_exact(client: Client) -> None:
    with pytest.raises(MCPError):
        await client.read_resource("binance://market/bitcoin")
    with pytest.raises(MCPError):
        await client.get_prompt("trading_analysis", {"symbol": "btc"})


@requirement("ruling/53")
async def test_the_words_of_a_caller_are_cleaned_in_the_note(app: App) -> None:
    result = await app.dispatcher.call_tool(None, "get_ticker", {"symbol": "  btc\t/\tusdt "})

    assert result.structured_content is not None
    (note,) = result.structured_content["notes"]
    assert note.endswith("as BTCUSDT.")
    assert "\t" not in note
