"""Funding: by the contract's own interval, settled rates added up, dividends left out."""

import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import Loop
from support.futures import FUTURES, PLAIN, FuturesPlace, raw_futures

HOUR_MS = 3_600_000
DAY_MS = 86_400_000


def percent(rate: str) -> Decimal:
    return 100 * Decimal(rate)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbol", "hours", "source"),
    [
        (PLAIN, 8, "exchange"),
        ("DOGEUSDT", 4, "exchange"),
        ("1INCHUSDT", 1, "exchange"),
        ("AVAXUSDT", 1, "exchange"),
        ("LTCUSDT", 8, "settlements"),
    ],
)
async def test_funding_is_of_the_contracts_own_interval(
    place: FuturesPlace, symbol: str, hours: int, source: str
) -> None:
    told = await place.told(symbol)

    (premium,) = [await raw_futures(place.exchange, f"/fapi/v1/premiumIndex?symbol={symbol}")]
    funding, contract = told["funding"], told["contract"]
    assert (contract["interval_hours"], contract["interval_source"]) == (hours, source)
    assert Decimal(str(funding["estimate"])) == percent(premium["lastFundingRate"])
    a_year = percent(premium["lastFundingRate"]) * (24 // hours) * 365
    assert abs(Decimal(str(funding["apr"])) - a_year) <= Decimal("0.005")
    page = await place.page(symbol)
    assert f"estimate for the settlement at {funding['next_at']}: " in page
    assert f"% per {hours} h, apr " in page


@pytest.mark.slow
@pytest.mark.parametrize("symbol", [PLAIN, "AVAXUSDT", "TSLAUSDT", "DOGEUSDT"])
async def test_what_was_paid_is_the_sum_of_the_regular_payments(place: FuturesPlace, symbol: str) -> None:
    told = await place.told(symbol)

    rows: list[dict[str, Any]] = await raw_futures(place.exchange, f"/fapi/v1/fundingRate?symbol={symbol}&limit=1000")
    regular = [row for row in rows if row["rateType"] == "Regular"]
    now_ms = place.clock.now_ms()
    for days in (7, 30):
        within = [Decimal(row["fundingRate"]) for row in regular if row["fundingTime"] > now_ms - days * DAY_MS]
        assert Decimal(str(told["funding"][f"paid_{days}d"])) == 100 * sum(within)
    year = 100 * sum(
        (Decimal(row["fundingRate"]) for row in regular if row["fundingTime"] > now_ms - 30 * DAY_MS), Decimal(0)
    )
    assert abs(Decimal(str(told["funding"]["paid_30d_apr"])) - year * 365 / 30) <= Decimal("0.005")


async def test_the_contract_that_changed_its_interval_has_both_in_its_past(place: FuturesPlace) -> None:
    rows: list[dict[str, Any]] = await raw_futures(place.exchange, "/fapi/v1/fundingRate?symbol=AVAXUSDT&limit=1000")

    spacings = {round((after["fundingTime"] - row["fundingTime"]) / HOUR_MS) for row, after in pairwise(rows)}
    month = [row for row in rows if row["fundingTime"] > place.clock.now_ms() - 30 * DAY_MS]

    assert spacings == {1, 8}
    assert len(month) != 90  # three a day would be wrong here


@pytest.mark.slow
async def test_a_dividend_changes_nothing(place: FuturesPlace) -> None:
    rows: list[dict[str, Any]] = await raw_futures(place.exchange, "/fapi/v1/fundingRate?symbol=TSLAUSDT&limit=1000")
    special = [row for row in rows if row["rateType"] == "Special"]
    assert special
    assert all(row["fundingTime"] > place.clock.now_ms() - 7 * DAY_MS for row in special)

    told = await place.told("TSLAUSDT")

    month = [row for row in rows if row["fundingTime"] > place.clock.now_ms() - 30 * DAY_MS]
    with_dividend = 100 * sum(Decimal(row["fundingRate"]) for row in month)
    assert Decimal(str(told["funding"]["paid_30d"])) != with_dividend
    assert told["contract"]["underlying"] == "tradfi"


@pytest.mark.slow
async def test_a_rate_at_its_cap_is_said_to_be(place: FuturesPlace) -> None:
    told = await place.told("DOTUSDT")

    assert told["funding"]["at_limit"] == "cap"
    assert told["funding"]["estimate"] == told["funding"]["cap"]
    assert "at limit: cap" in await place.page("DOTUSDT")


@pytest.mark.slow
async def test_the_rank_of_funding_compares_rates_per_hour(place: FuturesPlace) -> None:
    told = await place.told("AVAXUSDT")

    rows: list[dict[str, Any]] = await raw_futures(place.exchange, "/fapi/v1/fundingRate?symbol=AVAXUSDT&limit=1000")
    hourly = [
        float(after["fundingRate"]) / round((after["fundingTime"] - row["fundingTime"]) / HOUR_MS)
        for row, after in pairwise(rows)
    ]
    last = hourly.pop()
    below = sum(each < last - 1e-15 for each in hourly)
    equal = sum(abs(each - last) <= 1e-15 for each in hourly)
    assert told["funding"]["settled"] == pytest.approx(100 * float(rows[-1]["fundingRate"]))
    assert told["funding"]["n"] == len(hourly)
    assert told["funding"]["percentile"] == pytest.approx(100 * (below + equal / 2) / len(hourly), abs=0.051)


class SameRate(Loop):
    """The exchange in this process, where the estimate of every contract is 0.01 %."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not request.url.path.endswith("/premiumIndex"):
            return response
        row = json.loads(await response.aread()) | {"lastFundingRate": "0.00010000"}
        return httpx2.Response(200, stream=httpx2.ByteStream(json.dumps(row).encode()), request=request)


@pytest.mark.slow
async def test_one_rate_is_another_year_at_each_interval() -> None:
    """Three payments a day for all is a mistake that others made in public (binance-skills-hub #90, #123)."""
    clock = FakeClock()
    async with (
        running_app(
            read_settings({}), clock=clock, network=FUTURES, transport=SameRate(SimulatedExchange(clock))
        ) as app,
        Client(app.server, cache=None) as client,
    ):
        told = [
            (await client.call_tool("get_derivatives", {"symbol": symbol})).structured_content
            for symbol in (PLAIN, "DOGEUSDT", "1INCHUSDT")
        ]

    assert [each["funding"]["estimate"] for each in told] == [0.01, 0.01, 0.01]
    assert [each["contract"]["interval_hours"] for each in told] == [8, 4, 1]
    assert [each["funding"]["apr"] for each in told] == [10.95, 21.9, 87.6]
