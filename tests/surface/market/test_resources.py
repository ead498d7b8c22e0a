"""binance://market/… through the SDK's client, in every protocol era."""

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from support.clock import FakeClock
from support.golden import Golden
from support.requirement import requirement
from support.samples import SAMPLE_MOMENT_MS


async def page(client: Client, uri: str) -> str:
    result = await client.read_resource(uri)
    (content,) = result.contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


@requirement("resources/btcusdt-page", "resources/ethusdt-page", "resources/us3-1", "resources/us3-2", "FR-010")
@pytest.mark.parametrize("symbol", ["btcusdt", "ethusdt"])
async def test_the_sample_pages_of_the_contract_are_met_byte_for_byte(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden, symbol: str
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")

    text = await page(client, f"binance://market/{symbol}")

    golden.check(f"views/market_{symbol}.contract.md", text)


@requirement("resources/market-pattern", "FR-009", "resources/one-content")
async def test_any_symbol_can_be_read(client: Client) -> None:
    assert (await page(client, "binance://market/SolUsdt")).startswith("# SOLUSDT Market Data\n")


@requirement("resources/symbol-case-exchange")
async def test_the_exchange_is_asked_in_upper_case(client: Client, exchange: SimulatedExchange) -> None:
    await page(client, "binance://market/1inchusdt")

    assert exchange.requests[-1].params == {"symbol": "1INCHUSDT"}


@requirement(
    "FR-014", "resources/timestamp-source", "resources/format-timestamp", "resources/format-source", "ruling/15",
    "data-model/utc",
)  # fmt: skip
async def test_a_page_ends_with_the_exchanges_own_time_and_the_source(client: Client, clock: FakeClock) -> None:
    text = await page(client, "binance://market/btcusdt")

    assert text.split("\n")[-2:] == ["*Last updated: 2026-07-21T00:02:03.456Z*", "*Data source: Binance API v3*"]
    assert clock.now_ms() == 1_784_592_123_456


@requirement("resources/us3-3", "ruling/21", "data-model/resource-stateless")
async def test_reading_again_is_fresh_after_a_second_and_shared_before(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    first = await page(client, "binance://market/btcusdt")
    again = await page(client, "binance://market/btcusdt")
    clock.advance(5_000)
    later = await page(client, "binance://market/btcusdt")

    assert first == again
    assert "00:02:08.456Z" in later
    assert [request.path for request in exchange.requests].count("/api/v3/ticker/24hr") == 2


@requirement("FR-008", "resources/btcusdt-registration", "resources/ethusdt-registration")
async def test_the_list_begins_with_the_contracts_entries(client: Client) -> None:
    listed = (await client.list_resources()).resources

    assert [resource.model_dump(exclude_none=True, by_alias=True) for resource in listed[:2]] == [
        {
            "uri": f"binance://market/{base}usdt",
            "name": f"{base.upper()}USDT Market Data",
            "description": f"Real-time 24-hour ticker statistics for {name}/USDT trading pair",
            "mimeType": "text/markdown",
        }
        for base, name in (("btc", "Bitcoin"), ("eth", "Ethereum"))
    ]


@requirement("resources/market-pattern", "ruling/17")
async def test_the_template_has_a_list_of_its_own(client: Client) -> None:
    listed = (await client.list_resource_templates()).resource_templates

    assert listed[0].uri_template == "binance://market/{symbol}"


async def test_a_symbol_that_vanished_since_the_table_was_fetched_is_invalid(
    client: Client, exchange: SimulatedExchange
) -> None:
    await page(client, "binance://market/btcusdt")
    exchange.faults.add(Fault(kind="status", path="*/ticker/24hr", status=400, code=-1121, msg="Invalid symbol."))

    with pytest.raises(Exception, match="Invalid trading symbol 'ETHUSDT'"):
        await page(client, "binance://market/ethusdt")
