"""The book and the tape over HTTP."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from itertools import groupby

import httpx2
import pytest

from binance_simulator.market.listing import Listing
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]


@pytest.mark.parametrize("symbol", ["BTCUSDT", "USDCUSDT", "BTCTRY", "TESTBUSDT", "ETHBTC"])
async def test_the_book_is_ordered_uncrossed_and_on_the_grid(get: Get, symbol: str) -> None:
    listed = Listing().symbols[symbol]
    book = (await get(f"depth?symbol={symbol}&limit=1000")).json()

    bids = [Decimal(price) for price, _ in book["bids"]]
    asks = [Decimal(price) for price, _ in book["asks"]]
    assert len(bids) == len(asks) == 1000
    assert bids == sorted(set(bids), reverse=True)
    assert asks == sorted(set(asks))
    assert bids[0] < asks[0]
    assert all(price * 10**8 % listed.tick == 0 for price in bids + asks)
    assert all(Decimal(lots) > 0 and Decimal(lots) * 10**8 % listed.lot == 0 for _, lots in book["bids"] + book["asks"])


async def test_a_cheap_symbol_runs_out_of_bids_at_its_lowest_price(get: Get) -> None:
    book = (await get("depth?symbol=PEPEUSDT&limit=5000")).json()

    assert 300 < len(book["bids"]) < 1300
    assert Decimal(book["bids"][-1][0]) >= Decimal("0.00000001")
    assert len(book["asks"]) == 5000


@pytest.mark.parametrize("limit", [1, 5, 100, 5000])
async def test_a_shorter_book_is_the_top_of_the_longer_one(get: Get, limit: int) -> None:
    short = (await get(f"depth?symbol=BTCUSDT&limit={limit}")).json()
    long = (await get("depth?symbol=BTCUSDT&limit=9000")).json()

    assert len(short["bids"]) == limit
    assert len(long["bids"]) == 5000
    assert short["lastUpdateId"] == long["lastUpdateId"]
    assert short["bids"] == long["bids"][:limit]
    assert short["asks"] == long["asks"][:limit]


async def test_the_top_of_the_book_is_the_book_ticker(get: Get, clock: FakeClock) -> None:
    for _ in range(30):
        clock.advance(777)
        book = (await get("depth?symbol=ETHUSDT&limit=1")).json()
        top = (await get("ticker/bookTicker?symbol=ETHUSDT")).json()

        assert book["bids"][0] == [top["bidPrice"], top["bidQty"]]
        assert book["asks"][0] == [top["askPrice"], top["askQty"]]


@pytest.mark.slow
async def test_a_book_that_differs_has_a_later_id_and_an_equal_id_means_an_equal_book(
    get: Get, clock: FakeClock
) -> None:
    before = (await get("depth?symbol=BTCUSDT&limit=100")).json()
    changed = 0
    for _ in range(200):
        clock.advance(37)
        after = (await get("depth?symbol=BTCUSDT&limit=100")).json()
        if after["lastUpdateId"] == before["lastUpdateId"]:
            assert after == before
        else:
            assert after["lastUpdateId"] > before["lastUpdateId"]
            changed += after["bids"] != before["bids"]
        before = after

    assert changed > 10


async def test_between_two_buckets_most_levels_stay(get: Get, clock: FakeClock) -> None:
    before = (await get("depth?symbol=BTCUSDT&limit=1000")).json()
    clock.advance(100)
    after = (await get("depth?symbol=BTCUSDT&limit=1000")).json()

    kept = {tuple(level) for level in before["bids"]} & {tuple(level) for level in after["bids"]}
    assert len(kept) > 700


async def test_the_newest_trade_is_the_last_price(get: Get, clock: FakeClock) -> None:
    trades = (await get("trades?symbol=BTCUSDT")).json()
    price = (await get("ticker/price?symbol=BTCUSDT")).json()["price"]

    assert len(trades) == 500
    assert trades[-1]["price"] == price
    assert trades[-1]["time"] <= clock.now_ms()
    assert [trade["id"] for trade in trades] == list(range(trades[0]["id"], trades[0]["id"] + 500))


async def test_trades_that_have_not_happened_are_not_shown(get: Get, clock: FakeClock) -> None:
    last = (await get("trades?symbol=BTCUSDT&limit=1")).json()[0]
    assert (await get(f"historicalTrades?symbol=BTCUSDT&fromId={last['id'] + 1}")).json() == []

    clock.advance(60_000)

    following = (await get(f"historicalTrades?symbol=BTCUSDT&fromId={last['id'] + 1}")).json()
    assert following[0]["id"] == last["id"] + 1


async def test_historical_trades_without_an_id_are_the_newest(get: Get) -> None:
    newest = (await get("trades?symbol=BTCUSDT&limit=7")).json()

    assert (await get("historicalTrades?symbol=BTCUSDT&limit=7")).json() == newest


async def test_aggregates_group_consecutive_trades_exactly(get: Get) -> None:
    aggregates = (await get("aggTrades?symbol=ETHBTC&limit=300")).json()
    trades = (await get(f"historicalTrades?symbol=ETHBTC&fromId={aggregates[0]['f']}&limit=1000")).json()

    groups = [list(group) for _, group in groupby(trades, lambda one: (one["time"], one["price"], one["isBuyerMaker"]))]
    assert len(groups) == len(aggregates)
    assert any(len(group) > 1 for group in groups)
    for aggregate, group in zip(aggregates, groups, strict=True):
        assert (aggregate["f"], aggregate["l"]) == (group[0]["id"], group[-1]["id"])
        assert Decimal(aggregate["q"]) == sum(Decimal(trade["qty"]) for trade in group)
        assert (aggregate["p"], aggregate["T"]) == (group[0]["price"], group[0]["time"])
        assert aggregate["m"] == group[0]["isBuyerMaker"]


async def test_aggregates_are_read_by_id_by_start_and_by_end(get: Get) -> None:
    newest = (await get("aggTrades?symbol=BTCUSDT&limit=1000")).json()
    third, tenth = newest[3], newest[10]

    by_id = (await get(f"aggTrades?symbol=BTCUSDT&fromId={third['a']}&limit=8")).json()
    by_start = (await get(f"aggTrades?symbol=BTCUSDT&startTime={third['T']}&limit=8")).json()
    by_end = (await get(f"aggTrades?symbol=BTCUSDT&endTime={tenth['T']}&limit=8")).json()
    by_both = (await get(f"aggTrades?symbol=BTCUSDT&startTime={third['T']}&endTime={tenth['T']}")).json()

    assert by_id == by_start == by_end == by_both == newest[3:11]


async def test_aggregates_cannot_be_asked_for_by_id_and_by_time(get: Get) -> None:
    answer = await get("aggTrades?symbol=BTCUSDT&fromId=1&startTime=5")

    assert answer.json()["code"] == -1128


async def test_depth_refuses_a_symbol_of_another_status(get: Get) -> None:
    assert (await get("depth?symbol=BTCUSDT&symbolStatus=BREAK")).json()["code"] == -1220
    assert (await get("depth?symbol=BTCUSDT&symbolStatus=TRADING")).status_code == 200


async def test_no_symbol_has_block_trades(get: Get) -> None:
    none, unnamed = (
        await get("historicalBlockTrades?symbol=BTCUSDT&fromId=1"),
        await get("historicalBlockTrades?symbol=BTCUSDT"),
    )

    assert none.json() == []
    assert unnamed.json()["code"] == -1102
