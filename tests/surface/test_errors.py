"""Errors as a client meets them: code, sentence and every field, in both eras."""

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.errors import InvalidCredentials
from mcp_binance_server.surface.errors import to_mcp
from support.clock import FakeClock
from support.requirement import requirement
from support.samples import INVALID_SYMBOL_DATA, NOT_FOUND_DATA


async def refused(client: Client, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value


@requirement("FR-015", "resources/not-found", "ruling/04", "ruling/05", "ruling/06", "data-model/category-values")
async def test_an_unknown_category_is_refused_with_examples(client: Client) -> None:
    error = await refused(client, "binance://invalid/resource")

    assert (error.code, error.message) == (-32404, "Resource not found: binance://invalid/resource")
    assert error.data == NOT_FOUND_DATA


@requirement("resources/invalid-symbol", "ruling/04", "ruling/05", "ruling/06")
async def test_an_unknown_symbol_is_refused_with_examples(client: Client) -> None:
    error = await refused(client, "binance://market/invalidsymbol")

    expected = "Invalid trading symbol 'INVALIDSYMBOL'. Expected format: BTCUSDT, ETHUSDT"
    assert (error.code, error.message) == (-32003, expected)
    assert error.data == INVALID_SYMBOL_DATA


@requirement("resources/incorrect-uri")
@pytest.mark.parametrize("uri", ["binance://", "binance:///btcusdt", "http://market/btcusdt", "btcusdt"])
async def test_an_address_of_the_wrong_shape_is_not_found(client: Client, uri: str) -> None:
    error = await refused(client, uri)

    assert error.code == -32404
    assert error.data["valid_examples"][0] == "binance://market/btcusdt"


@requirement("ruling/10")
@pytest.mark.parametrize("text", ["BTC%2FUSDT", "btc-usdt", "BTC/USDT", "bitcoin"])
async def test_a_near_miss_tells_what_to_ask_for(client: Client, text: str) -> None:
    await client.read_resource("binance://market/ethusdt")

    error = await refused(client, f"binance://market/{text}")

    assert error.code == -32003
    assert "BTCUSDT" in error.data["did_you_mean"]


@requirement("resources/rate-limited", "ruling/07", "ruling/09")
async def test_a_stop_by_the_exchange_is_a_rate_limit_with_its_time(
    client: Client, exchange: SimulatedExchange
) -> None:
    await client.read_resource("binance://market/ethusdt")
    exchange.faults.add(
        Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "60", "X-MBX-USED-WEIGHT-1M": "6021"})
    )

    error = await refused(client, "binance://market/btcusdt")

    assert (error.code, error.message) == (
        -32001,
        "Rate limit exceeded. Please wait 60 seconds before retrying.",
    )
    assert error.data == {
        "retry_after_secs": 60,
        "current_weight": 6021,
        "weight_limit": 6000,
        "recovery_suggestion": "Reduce request frequency or wait for rate limit window to reset",
        "error_type": "rate_limited",
        "retryable": True,
        "guide": "guide://document/errors/rate-limits.md",
        "uri": "binance://market/btcusdt",
    }


@requirement("ruling/07")
async def test_a_refusal_tells_the_weight_the_exchange_told_and_null_where_it_told_none(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    clock.advance(60_000 - clock.now_ms() % 60_000 + 5_000)
    untold = {"Retry-After": "90", "X-MBX-USED-WEIGHT-1M": ""}
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers=untold))

    silent = await refused(client, "binance://market/btcusdt")
    clock.advance(91_000)
    await client.read_resource("binance://market/ethusdt")
    spent = exchange.meter.used(exchange.now_ms())
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers=untold))
    known = await refused(client, "binance://market/btcusdt")
    clock.advance(1_000)
    stopped = await refused(client, "binance://market/solusdt")
    clock.advance(60_000)
    later = await client.call_tool("get_ticker", {"symbol": "SOLUSDT"})

    assert "current_weight" in silent.data
    assert silent.data["current_weight"] is None
    assert known.data["current_weight"] == stopped.data["current_weight"] == spent
    assert later.structured_content is not None
    assert (later.structured_content["code"], later.structured_content["current_weight"]) == (-32001, None)


@requirement("resources/exchange-unavailable")
async def test_an_exchange_that_does_not_answer_is_said_to_be_worth_another_try(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", times=None))

    error = await refused(client, "binance://market/btcusdt")

    assert error.code == -32603
    assert error.message == (
        "Binance API is temporarily unavailable (the answer could not be read). Please try again in a few seconds."
    )
    assert (error.data["error_type"], error.data["retryable"]) == ("exchange_unavailable", True)


@requirement("ruling/05")
async def test_what_is_echoed_is_short_and_printable(client: Client) -> None:
    hostile = "\u202e\x00\x1b[31m" + "x" * 5_000

    error = await refused(client, f"binance://{hostile}/y")

    assert len(error.data["provided_uri"]) <= 200
    assert error.data["provided_uri"].isprintable()
    assert len(error.message) <= 250


@requirement("ruling/04")
@pytest.mark.parametrize(
    ("version", "code", "contract_code"),
    [("2024-11-05", -32002, None), ("2025-11-25", -32002, None), ("2026-07-28", 32002, -32002)],
)
def test_the_one_forbidden_code_is_mirrored_in_the_newest_era(
    version: str, code: int, contract_code: int | None
) -> None:
    error = to_mcp(
        InvalidCredentials(masked_api_key="AbCd****WxYz", help_url="https://testnet.binance.vision/"), version
    )

    assert error.code == code
    assert error.data.get("contract_code") == contract_code
    assert error.data["masked_api_key"] == "AbCd****WxYz"
    assert error.data["recovery_suggestion"] == (
        "Verify credentials at https://testnet.binance.vision/ and ensure correct environment variables"
    )


@requirement("prompts/code-internal")
async def test_a_defect_of_ours_shows_an_id_and_no_text(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("mcp_binance_server.surface.resources.market_page", broken)

    error = await refused(client, "binance://market/btcusdt")

    assert (error.code, error.message) == (-32603, "Internal error")
    assert "secret detail" not in str(error.data)
    assert error.data["error_id"] in caplog.text
