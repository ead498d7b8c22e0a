"""The futures host in answers about every contract: consistent with spot, with each other, and counted."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]
Row = dict[str, Any]

EVERY = ("fapi/v1/ticker/24hr", "fapi/v1/premiumIndex", "fapi/v1/ticker/bookTicker")
DELIVERED = ("BTCUSDT_260925", "BTCUSDT_261225", "ETHUSDT_260925", "ETHUSDT_261225")


async def by_symbol(ask: Get, path: str) -> dict[str, Row]:
    return {row["symbol"]: row for row in (await ask(path)).json()}


async def test_the_host_decides_which_market_answers(get: Get, ask_futures: Get) -> None:
    spot, futures = await get("exchangeInfo"), await ask_futures("fapi/v1/exchangeInfo")

    names = {record["symbol"] for record in futures.json()["symbols"]}
    assert {"BTCUSDT", "SOLUSDT"} <= names & {record["symbol"] for record in spot.json()["symbols"]}
    assert (await get("premiumIndex")).status_code == 404
    assert (await ask_futures("api/v3/ticker/24hr")).status_code == 404


async def test_every_kind_of_contract_is_listed(ask_futures: Get) -> None:
    records = {record["symbol"]: record for record in (await ask_futures("fapi/v1/exchangeInfo")).json()["symbols"]}

    assert {record["contractType"] for record in records.values()} == {
        "PERPETUAL", "TRADIFI_PERPETUAL", "CURRENT_QUARTER", "NEXT_QUARTER",
    }  # fmt: skip
    assert {name for name, record in records.items() if record["status"] == "SETTLING"} == {"MATICUSDT", "LUNAUSDT"}
    assert {name for name in records if "_" in name} == set(DELIVERED)
    assert (records["1000PEPEUSDT"]["pair"], records["1000PEPEUSDT"]["baseAsset"]) == ("1000PEPEUSDT", "1000PEPE")
    assert records["BTCUSDT_260925"]["pair"] == "BTCUSDT"


async def test_mark_is_index_and_premium_and_the_index_is_the_mid_of_spot(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, ask_futures: Get
) -> None:
    clock.advance(-clock.now_ms() % 1000)

    premiums = await by_symbol(ask_futures, "fapi/v1/premiumIndex")

    spot = {row["symbol"]: row for row in (await get("ticker/bookTicker")).json()}
    for name, contract in exchange.futures.contracts(clock.now_ms()).items():
        row = premiums[name]
        premium = exchange.futures.market.premiums.at(contract, clock.now_ms()) if contract.trading else 0
        exact = Decimal(row["indexPrice"]) * (1 + Decimal(premium).scaleb(-8))
        assert abs(Decimal(row["markPrice"]) - exact) <= Decimal("0.000000005"), name
        if contract.trading and contract.spot.name in spot:
            quote = spot[contract.spot.name]
            mid = (Decimal(quote["bidPrice"]) + Decimal(quote["askPrice"])) / 2 * contract.multiplier
            assert 0 <= mid - Decimal(row["indexPrice"]) < Decimal("0.00000001"), name


@pytest.mark.slow
async def test_the_last_price_and_the_mark_lie_within_the_quote(clock: FakeClock, ask_futures: Get) -> None:
    clock.advance(-clock.now_ms() % 1000)

    for _ in range(5):
        clock.advance(7_777_000)
        days, premiums, quotes = [await by_symbol(ask_futures, path) for path in EVERY]
        assert days.keys() == premiums.keys() == quotes.keys()
        for name, quote in quotes.items():
            if name not in {"MATICUSDT", "LUNAUSDT"}:
                bid, ask = Decimal(quote["bidPrice"]), Decimal(quote["askPrice"])
                assert 0 < bid < ask
                assert bid <= Decimal(premiums[name]["markPrice"]) <= ask
                assert bid <= Decimal(days[name]["lastPrice"]) <= ask
                assert Decimal(days[name]["lowPrice"]) <= Decimal(days[name]["lastPrice"])


@pytest.mark.slow
async def test_premiums_stay_within_their_bounds_and_return(exchange: SimulatedExchange, clock: FakeClock) -> None:
    market = exchange.futures.market
    for contract in exchange.futures.contracts(clock.now_ms()).values():
        if contract.plan is not None:
            home, bound = contract.plan.lean, market.premiums.bound(contract)
            seen = market.premiums.hours(contract, clock.now_ms() // 3_600_000 - 2_000, 2_000)
            assert all(abs(premium - home) <= bound for premium in seen)
            assert min(seen) < home < max(seen)


async def test_what_is_delivered_has_no_funding_and_meets_its_index_in_the_end(
    exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get
) -> None:
    row = (await ask_futures("fapi/v1/premiumIndex?symbol=BTCUSDT_260925")).json()
    contract = exchange.futures.contracts(clock.now_ms())["BTCUSDT_260925"]

    premiums = exchange.futures.market.premiums
    left = [premiums.at(contract, contract.delivery_ms - days * 86_400_000) for days in (60, 30, 10, 0)]

    assert (row["lastFundingRate"], row["nextFundingTime"]) == ("", 0)
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0 < left[0]
    clock.advance(contract.delivery_ms - clock.now_ms())
    assert (await ask_futures("fapi/v1/premiumIndex?symbol=BTCUSDT_260925")).json()["code"] == -1121
    assert (await ask_futures("fapi/v1/premiumIndex?symbol=BTCUSDT_270326")).status_code == 200


async def test_only_adjusted_contracts_are_told_their_rules(ask_futures: Get) -> None:
    rules = await by_symbol(ask_futures, "fapi/v1/fundingInfo")

    assert [rules[name]["fundingIntervalHours"] for name in ("BTCUSDT", "DOGEUSDT", "WUSDT")] == [8, 4, 1]
    assert not {"LTCUSDT", "BTCUSDC", "BTCUSDT_260925"} & rules.keys()
    assert (await ask_futures("fapi/v1/premiumIndex?symbol=DOTUSDT")).json()["lastFundingRate"] == "0.00300000"
    assert rules["DOTUSDT"]["adjustedFundingRateCap"] == "0.00300000"


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        ("fapi/v1/time", 1),
        ("fapi/v1/exchangeInfo", 1),
        ("fapi/v1/ticker/24hr", 40),
        ("fapi/v1/ticker/24hr?symbol=BTCUSDT", 1),
        ("fapi/v1/premiumIndex", 10),
        ("fapi/v1/premiumIndex?symbol=BTCUSDT", 1),
        ("fapi/v1/fundingInfo", 0),
    ],
)
async def test_each_call_costs_its_weight(
    exchange: SimulatedExchange, ask_futures: Get, path: str, weight: int
) -> None:
    answer = await ask_futures(path)

    assert answer.headers["x-mbx-used-weight-1m"] == str(weight)
    assert [request.weight for request in exchange.futures.requests] == [weight]
    assert exchange.meter.used(exchange.now_ms()) == 0


@pytest.mark.parametrize(("query", "weight"), [("", 5), ("?symbol=BTCUSDT", 2)])
async def test_the_header_of_the_book_ticker_is_wrong(
    exchange: SimulatedExchange, ask_futures: Get, query: str, weight: int
) -> None:
    await ask_futures("fapi/v1/ticker/24hr")

    answer = await ask_futures(f"fapi/v1/ticker/bookTicker{query}")

    assert answer.headers["x-mbx-used-weight-1m"] == "1"
    assert exchange.futures.meter.used(exchange.now_ms()) == 40 + weight


async def test_the_minute_is_used_up_without_a_word_on_when_to_return(
    exchange: SimulatedExchange, get: Get, ask_futures: Get
) -> None:
    exchange.futures.meter.limit = 30

    refused = await ask_futures("fapi/v1/ticker/24hr")
    banned = await ask_futures("fapi/v1/time")

    assert (refused.status_code, refused.json()["code"]) == (429, -1003)
    assert banned.status_code == 418
    assert "retry-after" not in refused.headers | banned.headers
    assert "banned until 17845" in banned.json()["msg"]
    assert (await get("time")).status_code == 200


async def test_the_funding_counter_is_its_own(exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get) -> None:
    exchange.futures.funding_requests.limit = 2

    statuses = [(await ask_futures("fapi/v1/fundingInfo")).status_code for _ in range(3)]
    others = (await ask_futures("fapi/v1/premiumIndex")).status_code
    clock.advance(300_000)

    assert (statuses, others) == ([200, 200, 429], 200)
    assert (await ask_futures("fapi/v1/fundingInfo")).status_code == 200
    assert exchange.futures.funding_requests.total == 4


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("fapi/v1/premiumIndex?symbol=PEPEUSDT", -1121),
        ("fapi/v1/premiumIndex?symbol=btcusdt", -1100),
        ("fapi/v1/exchangeInfo?symbol=BTCUSDT", -1101),
        ("fapi/v1/ticker/24hr?symbolStatus=TRADING", -1104),
    ],
)
async def test_parameters_are_checked(ask_futures: Get, path: str, code: int) -> None:
    answer = await ask_futures(path)

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_the_book_of_a_contract_begins_at_its_best_prices(exchange: SimulatedExchange, ask_futures: Get) -> None:
    quote = (await ask_futures("fapi/v1/ticker/bookTicker?symbol=BTCUSDT")).json()
    for limit, weight in ((5, 2), (100, 5), (500, 10), (1000, 20)):
        book = (await ask_futures(f"fapi/v1/depth?symbol=BTCUSDT&limit={limit}")).json()

        assert exchange.futures.requests[-1].weight == weight
        assert [len(book["bids"]), len(book["asks"])] == [limit, limit]
        assert book["bids"][0] == [quote["bidPrice"], quote["bidQty"]]
        assert book["asks"][0] == [quote["askPrice"], quote["askQty"]]
        assert Decimal(book["asks"][1][0]) > Decimal(book["asks"][0][0])
    usual = (await ask_futures("fapi/v1/depth?symbol=BTCUSDT")).json()
    odd = await ask_futures("fapi/v1/depth?symbol=BTCUSDT&limit=7")

    assert len(usual["bids"]) == 500
    assert odd.json()["code"] == -1130


async def test_a_price_is_that_of_the_last_trade(ask_futures: Get) -> None:
    days = await by_symbol(ask_futures, "fapi/v1/ticker/24hr")
    prices = await by_symbol(ask_futures, "fapi/v1/ticker/price")
    one = (await ask_futures("fapi/v1/ticker/price?symbol=ETHUSDT")).json()

    assert {name: row["price"] for name, row in prices.items()} == {
        name: row["lastPrice"] for name, row in days.items()
    }
    assert one == prices["ETHUSDT"]
