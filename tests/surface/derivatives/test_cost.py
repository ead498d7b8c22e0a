"""What one perpetual costs, again and not at all."""

import pytest

from support.futures import PLAIN, FuturesPlace, futures_place, warmed


@pytest.mark.slow
async def test_one_perpetual_is_eleven_requests_of_four_and_two_weight(place: FuturesPlace) -> None:
    await warmed(place)
    before = place.exchange.futures.meter.used(place.clock.now_ms()), place.exchange.meter.used(place.clock.now_ms())

    await place.told(PLAIN)

    after = place.exchange.futures.meter.used(place.clock.now_ms()), place.exchange.meter.used(place.clock.now_ms())
    futures, spot = place.sent()
    assert (len(futures), spot) == (10, ["/api/v3/ticker/bookTicker"])
    assert sorted(futures) == sorted(
        [
            "/fapi/v1/premiumIndex",
            "/fapi/v1/openInterest",
            "/fapi/v1/ticker/bookTicker",
            "/fapi/v1/fundingRate",
            "/futures/data/openInterestHist",
            "/futures/data/globalLongShortAccountRatio",
            "/futures/data/topLongShortAccountRatio",
            "/futures/data/topLongShortPositionRatio",
            "/futures/data/takerlongshortRatio",
            "/futures/data/basis",
        ]
    )
    assert (after[0] - before[0], after[1] - before[1]) == (4, 2)


@pytest.mark.slow
async def test_in_the_same_second_nothing_more_is_asked(place: FuturesPlace) -> None:
    await warmed(place)
    first = await place.told(PLAIN)
    place.sent()
    place.clock.advance(900)

    again = await place.told(PLAIN)

    assert place.sent() == ([], [])
    assert again["funding"] == first["funding"]


@pytest.mark.slow
@pytest.mark.parametrize("later_ms", [1_500, 290_000])
async def test_within_five_minutes_only_the_present_is_asked_again(place: FuturesPlace, later_ms: int) -> None:
    await warmed(place)
    await place.told(PLAIN)
    place.sent()
    place.clock.advance(later_ms)

    await place.told(PLAIN)

    futures, spot = place.sent()
    assert len(futures) + len(spot) <= 4
    assert not any(path.startswith("/futures/data") for path in futures)


@pytest.mark.night
@pytest.mark.slow
async def test_each_quarterly_is_one_premium_more(place: FuturesPlace) -> None:
    await warmed(place)

    told = await place.told("BTCUSDT")

    futures, _ = place.sent()
    assert len(told["basis"]["quarterlies"]) == 2
    assert futures.count("/fapi/v1/premiumIndex") == 3


async def test_without_the_toolset_nothing_is_ever_sent_there() -> None:
    groups = "market,account,orders,analysis,charts,guide"
    async with futures_place({"MCP_BINANCE_TOOLSETS": groups}) as place:
        names = {tool.name for tool in (await place.client.list_tools()).tools}
        await place.client.get_prompt("trading_analysis", {"symbol": "BTCUSDT"})

        futures, _ = place.sent()

    assert "get_derivatives" not in names
    assert futures == []


async def test_while_nobody_asks_nothing_is_sent_there(place: FuturesPlace) -> None:
    await place.client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
    await place.client.list_tools()
    place.clock.advance(600_000)
    await place.client.call_tool("get_ticker", {"symbol": "BTCUSDT"})

    assert place.sent()[0] == []
