"""Parts that fail, limits, bans, regions, and names of no perpetual."""

import pytest

from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from support.channels import Structure, Text
from support.futures import PLAIN, FuturesPlace, warmed
from support.requirement import requirement
from support.served import Place, text_of


@pytest.mark.slow
async def test_a_part_that_fails_is_named_and_the_rest_is_told(place: FuturesPlace) -> None:
    await warmed(place)
    place.exchange.futures.faults.add(Fault(kind="status", status=500, path="*/openInterestHist", times=None))
    place.exchange.futures.faults.add(Fault(kind="truncated", path="*/basis", times=None))

    result = await place.client.call_tool("get_derivatives", {"symbol": PLAIN})

    told, text = result.structured_content, text_of(result)
    assert [each.partition(":")[0] for each in told["missing"]] == ["history of open interest", "history of the basis"]
    assert all(f"Missing: {each}" in text for each in told["missing"])
    assert told["open_interest"]["change_contracts"] == {"1h": None, "24h": None, "7d": None}
    assert told["basis"]["percentile"] is None
    assert told["funding"]["percentile"] is not None
    assert (Text(text).missing(told), Structure(told).missing(text)) == ([], [])


@pytest.mark.slow
async def test_a_rate_limit_is_the_error_and_stops_futures_alone(place: FuturesPlace) -> None:
    await warmed(place)
    place.exchange.futures.faults.add(Fault(kind="status", status=429, code=-1003, path="*/premiumIndex"))

    refused = await place.refused(PLAIN)
    place.sent()
    again = await place.refused("XRPUSDT")
    spot = await place.client.call_tool("get_ticker", {"symbol": PLAIN})

    assert (refused["code"], again["code"]) == (-32001, -32001)
    assert place.sent()[0] == []
    assert not spot.is_error


@pytest.mark.slow
async def test_a_ban_tells_how_long_it_lasts(place: FuturesPlace) -> None:
    await warmed(place)
    place.exchange.futures.quirks.add(Quirk(kind="banned", ms=180_000))

    refused = await place.refused(PLAIN)

    assert refused["code"] == -32001
    assert max(refused["retry_after_secs"], refused.get("exchange_wait_secs", 0)) >= 170


async def test_where_futures_are_not_served_the_message_says_so_and_spot_works(place: FuturesPlace) -> None:
    place.exchange.futures.quirks.add(Quirk(kind="region"))

    refused = await place.refused(PLAIN)
    place.sent()
    place.clock.advance(300_000)
    again = await place.refused(PLAIN)
    spot = await place.client.call_tool("get_ticker", {"symbol": PLAIN})

    assert refused["error_type"] == again["error_type"] == "region_restricted"
    assert "no second host" in refused["error"]
    assert "spot" in refused["error"]
    assert place.sent()[0] == []  # not asked again for ten minutes
    assert not spot.is_error
    assert "get_derivatives" in {tool.name for tool in (await place.client.list_tools()).tools}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["string_times", "empty_list"])
async def test_odd_lists_cost_their_part_alone(place: FuturesPlace, kind: str) -> None:
    usual = await place.told(PLAIN)
    place.exchange.futures.quirks.add(
        Quirk(kind="string_times" if kind == "string_times" else "empty_list", path="/futures/data/*")
    )
    place.clock.advance(301_000)

    told = await place.told(PLAIN)

    if kind == "string_times":
        assert told["positioning"]["accounts_all"] == usual["positioning"]["accounts_all"]
    else:
        assert told["positioning"]["accounts_all"]["long_share"] is None
        assert told["positioning"]["accounts_all"]["percentile"] is None
        assert told["open_interest"]["contracts"]
    assert told["missing"] == []
    text = await place.page(PLAIN)
    assert (Text(text).missing(told), Structure(told).missing(text)) == ([], [])


@pytest.mark.slow
async def test_half_of_everything_is_an_error(place: FuturesPlace) -> None:
    await warmed(place)
    place.exchange.futures.faults.add(Fault(kind="truncated", times=None))

    refused = await place.refused(PLAIN)

    assert refused["error_type"] == "exchange_unavailable"


@pytest.mark.slow
async def test_spot_that_fails_costs_the_comparison_with_spot_alone(place: FuturesPlace) -> None:
    await warmed(place)
    place.exchange.faults.add(Fault(kind="status", status=500, times=None))

    told = await place.told(PLAIN)

    assert [each.partition(":")[0] for each in told["missing"]] == ["spot quote"]
    assert told["basis"]["perp_vs_spot_bps"] is None
    assert told["basis"]["mark_vs_index_bps"] is not None


@pytest.mark.parametrize(
    ("written", "meant", "spot_pair", "status"),
    [
        ("PEPEUSDT", "1000PEPEUSDT", "PEPEUSDT", None),
        ("MATICUSDT", None, None, "SETTLING"),
        ("BTCUSDT_260925", "BTCUSDT", None, None),
        ("NOSUCHUSDT", None, None, None),
    ],
)
async def test_no_perpetual_of_that_name(
    place: FuturesPlace, written: str, meant: str | None, spot_pair: str | None, status: str | None
) -> None:
    await place.client.call_tool("get_ticker", {"symbol": "BTCUSDT"})

    result = await place.client.call_tool("get_derivatives", {"symbol": written})

    refused, text = result.structured_content, text_of(result)
    assert (refused["code"], refused["market"]) == (-32003, "perpetual")
    assert refused.get("status") == status
    assert meant is None or meant in refused["did_you_mean"]
    if spot_pair is not None:
        assert refused["spot_pair"] == spot_pair
    assert (Text(text).missing(refused), Structure(refused).missing(text)) == ([], [])


async def test_without_an_address_the_refusal_names_the_setting(place: FuturesPlace) -> None:
    async with Place(place.clock, place.exchange, "auto").served() as client:
        result = await client.call_tool("get_derivatives", {"symbol": "BTCUSDT"})

    assert result.is_error
    assert "BINANCE_FUTURES_REST_URL" in result.structured_content["error"]


@requirement("ruling/53")
@pytest.mark.parametrize("text", ["btc", "BTC/USDT", "BTC-PERP", "BINANCE:BTCUSDT.P"])
async def test_another_spelling_is_looked_up_among_the_perpetuals(place: FuturesPlace, text: str) -> None:
    result = await place.client.call_tool("get_derivatives", {"symbol": text})

    assert result.structured_content["symbol"] == "BTCUSDT"
    assert text_of(result).startswith(f"Read {text} as BTCUSDT.")
