"""The past of a contract: funding out of premiums, open interest out of the tape, and lists that agree."""

from collections.abc import Awaitable, Callable
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.futures.listing import Contract
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]
Row = dict[str, Any]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
EIGHTH = Decimal("0.00000001")


@pytest.fixture
def contract(exchange: SimulatedExchange) -> Callable[[str], Contract]:
    return lambda name: exchange.futures.contracts(exchange.now_ms())[name]


async def payments(ask: Get, symbol: str, query: str = "&limit=1000") -> list[Row]:
    return (await ask(f"fapi/v1/fundingRate?symbol={symbol}{query}")).json()


def formula(premiums: list[int], hours: int) -> Decimal:
    average = (Decimal(sum(premiums)) / len(premiums)).quantize(Decimal(1), ROUND_HALF_UP)
    damped = max(Decimal(-50_000), min(Decimal(50_000), 10_000 - average))
    return ((average + damped) * hours / 8).quantize(Decimal(1), ROUND_HALF_UP) * EIGHTH


@pytest.mark.parametrize(("symbol", "hours"), [("TRXUSDT", 8), ("1000PEPEUSDT", 4), ("WUSDT", 1), ("LTCUSDT", 8)])
async def test_each_settlement_is_the_formula_over_the_premiums_of_its_interval(
    exchange: SimulatedExchange, ask_futures: Get, contract: Callable[[str], Contract], symbol: str, hours: int
) -> None:
    rows = await payments(ask_futures, symbol)

    assert len(rows) == 1000
    assert all(two["fundingTime"] - one["fundingTime"] == hours * HOUR_MS for one, two in pairwise(rows))
    for row in rows[-100:]:
        first_hour = row["fundingTime"] // HOUR_MS - hours
        premiums = exchange.futures.market.premiums.hours(contract(symbol), first_hour, hours)
        assert Decimal(row["fundingRate"]) == formula(premiums, hours)
    assert len({row["fundingRate"] for row in rows}) > 20


@pytest.mark.parametrize("symbol", ["TRXUSDT", "1000PEPEUSDT", "WUSDT", "DOTUSDT", "AVAXUSDT"])
async def test_the_running_estimate_ends_as_what_is_settled(clock: FakeClock, ask_futures: Get, symbol: str) -> None:
    for _ in range(3):
        next_ms = (await ask_futures(f"fapi/v1/premiumIndex?symbol={symbol}")).json()["nextFundingTime"]
        clock.advance(next_ms - 1 - clock.now_ms())
        running = (await ask_futures(f"fapi/v1/premiumIndex?symbol={symbol}")).json()
        clock.advance(1)

        settled = (await payments(ask_futures, symbol))[-1]

        assert (settled["fundingTime"], settled["fundingRate"]) == (next_ms, running["lastFundingRate"])
        assert (await ask_futures(f"fapi/v1/premiumIndex?symbol={symbol}")).json()["nextFundingTime"] > next_ms


async def test_one_contract_went_from_eight_hours_to_one_in_the_middle_of_its_history(
    clock: FakeClock, ask_futures: Get
) -> None:
    times = [row["fundingTime"] for row in await payments(ask_futures, "AVAXUSDT")]

    changed_ms = clock.now_ms() // DAY_MS * DAY_MS - 10 * DAY_MS
    spacings = [(two, two - one) for one, two in pairwise(times)]
    assert {spacing for end, spacing in spacings if end <= changed_ms} == {8 * HOUR_MS}
    assert {spacing for end, spacing in spacings if end > changed_ms} == {HOUR_MS}


@pytest.mark.slow
async def test_one_contract_is_at_its_cap_and_one_paid_a_dividend(ask_futures: Get) -> None:
    capped = await payments(ask_futures, "DOTUSDT")
    special = [row for row in await payments(ask_futures, "TSLAUSDT") if row["rateType"] == "Special"]

    assert {row["fundingRate"] for row in capped} == {"0.00300000"}
    assert [row["fundingRate"] for row in special] == ["-0.00420000"]
    assert {row["rateType"] for row in capped} == {"Regular"}


async def test_payments_are_asked_for_by_time_number_and_symbol(ask_futures: Get) -> None:
    every = await payments(ask_futures, "SOLUSDT")

    assert len(await payments(ask_futures, "SOLUSDT", "")) == 200
    start, end = every[-30]["fundingTime"], every[-20]["fundingTime"]
    assert await payments(ask_futures, "SOLUSDT", f"&startTime={start}&endTime={end}") == every[-30:-19]
    assert await payments(ask_futures, "SOLUSDT", f"&startTime={start}&limit=3") == every[-30:-27]
    newest = (await ask_futures("fapi/v1/fundingRate?limit=40")).json()
    assert [row["fundingTime"] for row in newest] == sorted(row["fundingTime"] for row in newest)
    assert len({row["symbol"] for row in newest}) > 20


async def test_open_interest_its_history_and_its_value_agree(clock: FakeClock, ask_futures: Get) -> None:
    for _ in range(3):
        clock.advance(-clock.now_ms() % HOUR_MS)

        now = (await ask_futures("fapi/v1/openInterest?symbol=SOLUSDT")).json()
        mark = (await ask_futures("fapi/v1/premiumIndex?symbol=SOLUSDT")).json()
        rows = (await ask_futures("futures/data/openInterestHist?symbol=SOLUSDT&period=1h")).json()
        fine = (await ask_futures("futures/data/openInterestHist?symbol=SOLUSDT&period=5m&limit=13")).json()

        assert len(rows) == 30
        assert rows[-1]["timestamp"] == fine[-1]["timestamp"] == clock.now_ms()
        assert Decimal(rows[-1]["sumOpenInterest"]) == Decimal(now["openInterest"])
        value = Decimal(now["openInterest"]) * Decimal(mark["markPrice"])
        assert 0 <= value - Decimal(rows[-1]["sumOpenInterestValue"]) < EIGHTH
        assert (rows[-2], rows[-1]) == (fine[0], fine[-1])
        clock.advance(1)


@pytest.mark.slow
@pytest.mark.parametrize("symbol", ["BTCUSDT", "1000PEPEUSDT", "TSLAUSDT"])
@pytest.mark.parametrize("scenario", ["market", "noise"])
async def test_open_interest_is_what_the_tape_opened_less_what_it_closed_and_liquidated(
    exchange: SimulatedExchange, ask_futures: Get, contract: Callable[[str], Contract], symbol: str, scenario: str
) -> None:
    exchange.set_scenario(scenario)
    interest = exchange.futures.market.interest(contract(symbol))
    rows = (await ask_futures(f"futures/data/openInterestHist?symbol={symbol}&period=1h&limit=200")).json()
    candles = (await ask_futures(f"fapi/v1/klines?symbol={symbol}&interval=1h&limit=201")).json()
    volumes = {row[0]: Decimal(row[5]) for row in candles}
    lot = Decimal(contract(symbol).lot) * EIGHTH

    level = Decimal(rows[0]["sumOpenInterest"])
    for before, row in pairwise(rows):
        flow = interest.flow(before["timestamp"], row["timestamp"])
        assert min(flow.opened, flow.closed, flow.liquidated) >= 0
        assert flow.opened + flow.closed <= flow.traded
        assert flow.traded * lot == volumes[before["timestamp"]]
        level += (flow.opened - flow.closed - flow.liquidated) * lot
        assert level == Decimal(row["sumOpenInterest"])


async def test_taker_volumes_are_those_of_the_klines_and_add_up_to_them(ask_futures: Get) -> None:
    takers = (await ask_futures("futures/data/takerlongshortRatio?symbol=ETHUSDT&period=1h&limit=100")).json()
    candles = {row[0]: row for row in (await ask_futures("fapi/v1/klines?symbol=ETHUSDT&interval=1h&limit=101")).json()}

    assert len(takers) == 100
    for row in takers:
        candle = candles[row["timestamp"]]
        assert Decimal(row["buyVol"]) == Decimal(candle[9])
        assert Decimal(row["buyVol"]) + Decimal(row["sellVol"]) == Decimal(candle[5])
        ratio = Decimal(row["buyVol"]) / Decimal(row["sellVol"])
        assert abs(Decimal(row["buySellRatio"]) - ratio) <= Decimal("0.0001")


async def test_long_candles_are_made_of_short_ones(ask_futures: Get) -> None:
    start = 1_784_505_600_000 + 3 * HOUR_MS
    (whole,) = (await ask_futures(f"fapi/v1/klines?symbol=SOLUSDT&interval=4h&startTime={start}&limit=1")).json()
    start = whole[0]
    minutes = (await ask_futures(f"fapi/v1/klines?symbol=SOLUSDT&interval=1m&startTime={start}&limit=240")).json()

    assert (minutes[0][1], minutes[-1][4]) == (whole[1], whole[4])
    assert max(Decimal(row[2]) for row in minutes) == Decimal(whole[2])
    assert min(Decimal(row[3]) for row in minutes) == Decimal(whole[3])
    assert sum(Decimal(row[5]) for row in minutes) == Decimal(whole[5])
    assert sum(row[8] for row in minutes) == whole[8]


async def test_the_day_is_what_its_minutes_add_up_to(ask_futures: Get) -> None:
    day = (await ask_futures("fapi/v1/ticker/24hr?symbol=SOLUSDT")).json()
    start = day["openTime"]
    minutes = (await ask_futures(f"fapi/v1/klines?symbol=SOLUSDT&interval=1m&startTime={start}&limit=1500")).json()

    assert len(minutes) == 1440
    assert sum(Decimal(row[5]) for row in minutes) == Decimal(day["volume"])
    assert sum(row[8] for row in minutes) == day["count"]
    assert (minutes[0][1], minutes[-1][4]) == (day["openPrice"], day["lastPrice"])
    assert max(Decimal(row[2]) for row in minutes) == Decimal(day["highPrice"])


@pytest.mark.parametrize(
    "kind", ["globalLongShortAccountRatio", "topLongShortAccountRatio", "topLongShortPositionRatio"]
)
async def test_shares_make_a_whole_and_the_ratio(ask_futures: Get, kind: str) -> None:
    rows = (await ask_futures(f"futures/data/{kind}?symbol=BTCUSDT&period=1h&limit=480")).json()

    assert len(rows) == 480
    for row in rows:
        long, short = Decimal(row["longAccount"]), Decimal(row["shortAccount"])
        assert long + short == 1
        assert abs(Decimal(row["longShortRatio"]) - long / short) <= Decimal("0.0001")
    assert len({row["longAccount"] for row in rows}) > 100


async def test_accounts_lean_to_what_takers_did(exchange: SimulatedExchange, ask_futures: Get) -> None:
    bought: list[Decimal] = []
    leans: list[Decimal] = []
    for symbol in ("BTCUSDT", "ETHUSDT", "SOLUSDT"):
        query = f"symbol={symbol}&period=1h&limit=400"
        takers = (await ask_futures(f"futures/data/takerlongshortRatio?{query}")).json()
        ratios = (await ask_futures(f"futures/data/globalLongShortAccountRatio?{query}")).json()
        shares = [Decimal(row["buyVol"]) / (Decimal(row["buyVol"]) + Decimal(row["sellVol"])) for row in takers]
        longs = [Decimal(row["longAccount"]) for row in ratios]
        bought += [two - one for one, two in pairwise(shares)]
        leans += [two - one for one, two in pairwise(longs)]

    assert exchange.futures.data_requests.total == 6
    together = sum(one * two for one, two in zip(bought, leans, strict=True))
    assert together > 0


async def test_basis_is_mark_against_index_at_one_moment(clock: FakeClock, ask_futures: Get) -> None:
    clock.advance(-clock.now_ms() % HOUR_MS)
    query = "pair=BTCUSDT&contractType={}&period=1h&limit=2"
    mark = (await ask_futures("fapi/v1/premiumIndex?symbol=BTCUSDT")).json()

    perpetual = (await ask_futures(f"futures/data/basis?{query.format('PERPETUAL')}")).json()[-1]
    quarter = (await ask_futures(f"futures/data/basis?{query.format('NEXT_QUARTER')}")).json()[-1]

    assert (perpetual["futuresPrice"], perpetual["indexPrice"]) == (mark["markPrice"], mark["indexPrice"])
    assert Decimal(perpetual["basis"]) == Decimal(mark["markPrice"]) - Decimal(mark["indexPrice"])
    assert Decimal(quarter["basisRate"]) > Decimal("0.005")
    assert quarter["indexPrice"] == perpetual["indexPrice"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("fapi/v1/openInterest", -1102),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=1s", -1120),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=7h", -1120),
        ("fapi/v1/klines?symbol=NOPE&interval=1h", -1121),
        ("fapi/v1/fundingRate?symbol=NOPE", -1121),
        ("futures/data/openInterestHist?symbol=BTCUSDT", -1102),
        ("futures/data/openInterestHist?symbol=BTCUSDT&period=1m", -1130),
        ("futures/data/openInterestHist?symbol=BTCUSDT&period=1h&limit=501", -1130),
        ("futures/data/openInterestHist?symbol=BTCUSDT&period=1h&startTime=1", -1130),
        ("futures/data/basis?pair=BTCUSDT&contractType=NONE&period=1h", -1130),
        ("futures/data/basis?pair=SOLUSDT&contractType=NEXT_QUARTER&period=1h", -1121),
    ],
)
async def test_what_cannot_be_answered_is_refused(ask_futures: Get, path: str, code: int) -> None:
    answer = await ask_futures(path)

    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        ("fapi/v1/openInterest?symbol=BTCUSDT", 1),
        ("fapi/v1/fundingRate?symbol=BTCUSDT", 0),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=99", 1),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=250", 2),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=1h", 5),
        ("fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=1001", 10),
        ("futures/data/basis?pair=BTCUSDT&contractType=PERPETUAL&period=1h", 0),
    ],
)
async def test_histories_cost_their_weight(ask_futures: Get, path: str, weight: int) -> None:
    answer = await ask_futures(path)

    assert (answer.status_code, answer.headers["x-mbx-used-weight-1m"]) == (200, str(weight))


async def test_the_data_counter_is_one_pot_for_every_list(
    exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get
) -> None:
    exchange.futures.data_requests.limit = 2
    query = "symbol=BTCUSDT&period=1h&limit=1"
    lists = [f"futures/data/{name}?{query}" for name in ("openInterestHist", "takerlongshortRatio")]

    statuses = [(await ask_futures(path)).status_code for path in (*lists, lists[0])]
    other = (await ask_futures("fapi/v1/fundingRate?symbol=BTCUSDT")).status_code
    clock.advance(300_000)

    assert (statuses, other) == ([200, 200, 429], 200)
    assert (await ask_futures(lists[0])).status_code == 200
