"""The weight budget on the wire: one request for many readers, never above 90 %, silence after a 429."""

from collections import Counter
from typing import Literal

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.exchange.budget import BOOTSTRAP_LIMIT
from support.clock import FakeClock
from support.desk import Desk
from support.requirement import requirement

pytestmark = pytest.mark.flood

BTC = Symbol("BTCUSDT")


def weight_by_minute(exchange: SimulatedExchange) -> Counter[int]:
    spent: Counter[int] = Counter()
    for request in exchange.requests:
        spent[request.at_ms // 60_000] += request.weight
    return spent


@requirement("ruling/21", "resources/us3-3")
async def test_a_thousand_readers_of_one_symbol_cost_one_request(desk: Desk, exchange: SimulatedExchange) -> None:
    readings: list[str] = []

    async def read() -> None:
        readings.append(str((await desk.spot.ticker(BTC)).value.last_price))

    async with anyio.create_task_group() as group:
        for _ in range(1_000):
            group.start_soon(read)

    assert len(readings) == 1_000
    assert len(set(readings)) == 1
    assert [request.path for request in exchange.requests] == ["/api/v3/ticker/24hr"]


@requirement("ruling/21", "resources/us3-3")
async def test_a_second_later_the_data_is_fetched_anew(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    first = await desk.spot.ticker(BTC)
    clock.advance(999)
    again = await desk.spot.ticker(BTC)
    clock.advance(1)
    later = await desk.spot.ticker(BTC)

    assert first == again
    assert later.value.close_time_ms == first.value.close_time_ms + 1_000
    assert len(exchange.requests) == 2


async def test_an_error_is_shared_by_those_who_waited_and_then_forgotten(
    desk: Desk, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=400, code=-1100, msg="once"))
    outcomes: list[str] = []

    async def read() -> None:
        try:
            outcomes.append((await desk.spot.ticker(BTC)).value.symbol)
        except Exception as error:  # noqa: BLE001 - the kind of failure is what is counted
            outcomes.append(type(error).__name__)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(read)
    await read()

    assert outcomes == ["ExchangeRejected"] * 50 + ["BTCUSDT"]


@requirement("ruling/07")
async def test_the_limit_is_the_one_that_the_exchange_publishes(desk: Desk, exchange: SimulatedExchange) -> None:
    exchange.weight_limit = 2_345
    assert desk.budget.limit == BOOTSTRAP_LIMIT

    await desk.directory.table()

    assert desk.budget.limit == 2_345


async def test_a_burst_that_comes_before_the_limit_is_known_waits_for_it(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    account = desk.account(exchange.account.api_key, exchange.account.secret_key)
    clock.advance(60_000 - clock.now_ms() % 60_000 + 10_000)

    async with anyio.create_task_group() as group:
        for _ in range(80):
            group.start_soon(account.account)

    paths = Counter(request.path.rpartition("/")[2] for request in exchange.requests)
    assert paths["account"] == 80
    assert paths["exchangeInfo"] == 1
    assert {request.status for request in exchange.requests} == {200}


@pytest.mark.parametrize("fails", ["", "cut_before"], ids=["the limit is small", "the limit stays unknown"])
async def test_a_burst_keeps_to_the_smallest_limit_until_a_larger_one_is_told(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock, fails: Literal["", "cut_before"]
) -> None:
    exchange.weight_limit = BOOTSTRAP_LIMIT
    if fails:
        exchange.faults.add(Fault(kind=fails, path="*/exchangeInfo", times=None))
    clock.advance(60_000 - clock.now_ms() % 60_000 + 10_000)
    refused: list[RateLimited] = []

    async def read(limit: int) -> None:
        try:
            await desk.spot.depth(BTC, limit)
        except RateLimited as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for limit in range(950, 980):
            group.start_soon(read, limit)

    answered = [request for request in exchange.requests if request.path.endswith("depth")]
    assert {request.status for request in answered} == {200}
    assert (len(answered), len(refused)) == (21, 9)
    assert {error.weight_limit for error in refused} == {BOOTSTRAP_LIMIT}


@pytest.mark.parametrize(
    ("limit", "skew_ms"), [(100, -600), (250, 0), (100, 600), pytest.param(1_200, 25_000, marks=pytest.mark.night)]
)
async def test_bursts_over_all_symbols_stay_below_nine_tenths_of_every_minute(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock, limit: int, skew_ms: int
) -> None:
    exchange.weight_limit = limit
    exchange.skew_ms = skew_ms
    table = await desk.directory.table()
    refused = 0

    async def read(symbol: Symbol) -> None:
        nonlocal refused
        try:
            await desk.spot.ticker(symbol)
        except RateLimited:
            refused += 1

    for _ in range(150):
        async with anyio.create_task_group() as group:
            for symbol in table.ordered:
                group.start_soon(read, symbol)
        clock.advance(1_003)

    assert refused > 0
    assert {request.status for request in exchange.requests} == {200}
    spent = weight_by_minute(exchange)
    assert max(spent.values()) <= 0.9 * limit
    assert max(spent.values()) > 0.75 * limit


@requirement("ruling/07", "resources/rate-limited", "resources/rate-limited-read")
async def test_a_spent_budget_answers_with_the_true_numbers_and_sends_nothing(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.weight_limit = 30
    await desk.directory.table()
    clock.advance(60_000 - clock.now_ms() % 60_000 + 20_000)
    for symbol in ("BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT"):
        await desk.spot.ticker(Symbol(symbol))
    await desk.spot.aggregate_trades(BTC, 10)
    await desk.spot.depth(BTC, 100)
    await desk.spot.depth(Symbol("ETHUSDT"), 100)
    await desk.spot.depth(Symbol("BNBUSDT"), 100)
    sent = len(exchange.requests)

    with pytest.raises(RateLimited) as caught:
        await desk.spot.quote(BTC)

    assert len(exchange.requests) == sent
    assert caught.value.data() == {
        "retry_after_secs": 41,
        "current_weight": 27,
        "weight_limit": 30,
        "recovery_suggestion": "Reduce request frequency or wait for rate limit window to reset",
        "error_type": "rate_limited",
        "retryable": True,
        "guide": "guide://document/errors/rate-limits.md",
    }
    assert caught.value.message == "Rate limit exceeded. Please wait 41 seconds before retrying."


async def test_the_next_minute_is_waited_for_if_it_is_near(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await desk.directory.table()
    desk.budget.learn_limit(25)
    clock.advance(60_000 - clock.now_ms() % 60_000 + 58_500)
    for limit in (10, 20, 30, 40):
        await desk.spot.depth(BTC, limit)
    clock.advance(700)

    await desk.spot.depth(BTC, 50)

    assert clock.slept_ms == [1_800]
    assert exchange.requests[-1].at_ms // 60_000 == exchange.requests[-2].at_ms // 60_000 + 1


@requirement("ruling/07", "ruling/09")
@pytest.mark.parametrize(("status", "retry_after"), [(429, 37), (418, 120)])
async def test_after_a_stop_nothing_leaves_until_it_is_over(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock, status: int, retry_after: int
) -> None:
    stop = Fault(kind="status", status=status, code=-1003, headers={"Retry-After": str(retry_after)})
    exchange.faults.add(stop)
    account = desk.account(exchange.account.api_key, exchange.account.secret_key)

    with pytest.raises(RateLimited) as first:
        await desk.spot.ticker(BTC)
    for second in range(retry_after):
        clock.advance(999 if second == 0 else 1_000)
        with pytest.raises(RateLimited) as caught:
            await desk.spot.ticker(Symbol("ETHUSDT"))
        with pytest.raises(RateLimited):
            await account.account()
        assert abs(caught.value.retry_after_secs - (retry_after - second - 1)) <= 1

    assert first.value.retry_after_secs == retry_after
    assert len(exchange.requests) == 1
    clock.advance(2)
    await desk.spot.ticker(BTC)
    assert [request.status for request in exchange.requests] == [status, 200]


@pytest.mark.parametrize(("status", "least", "most"), [(429, 1, 61), (418, 120, 120)])
async def test_a_stop_without_a_time_lasts_to_the_next_minute_and_a_ban_two_minutes(
    desk: Desk, exchange: SimulatedExchange, status: int, least: int, most: int
) -> None:
    exchange.faults.add(Fault(kind="status", status=status, code=-1003, headers={"Retry-After": "soon"}))

    with pytest.raises(RateLimited) as caught:
        await desk.spot.ticker(BTC)

    assert least <= caught.value.retry_after_secs <= most


@requirement("ruling/07")
async def test_a_stop_of_years_is_kept_for_ten_minutes_and_told(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", status=418, code=-1003, headers={"Retry-After": "259200"}))

    with pytest.raises(RateLimited) as first:
        await desk.spot.ticker(BTC)
    clock.advance(599_000)
    with pytest.raises(RateLimited) as last:
        await desk.spot.ticker(BTC)
    clock.advance(1_000)

    assert (await desk.spot.ticker(BTC)).value.symbol == BTC
    assert len(exchange.requests) == 2
    assert (first.value.retry_after_secs, first.value.exchange_wait_secs) == (600, 259_200)
    assert (last.value.retry_after_secs, last.value.exchange_wait_secs) == (1, 259_200 - 599)
    assert first.value.message.endswith("Binance asked for a wait of 259200 seconds and may refuse again.")
    assert "exchange_wait_secs" not in RateLimited(retry_after_secs=1, current_weight=1, weight_limit=1).data()


@pytest.mark.parametrize(
    "digits", ["9" * 11, "9" * 5_000, "-1", "\N{SUPERSCRIPT TWO}", "1e9"], ids=lambda text: text[:12]
)
async def test_no_number_in_a_header_is_an_internal_error_or_stops_us_for_ever(
    digits: str, desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    headers = {"Retry-After": digits, "X-MBX-USED-WEIGHT-1M": digits, "Date": "Fri, 31 Dec 9999 23:59:59 GMT"}
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers=headers))

    with pytest.raises(RateLimited) as caught:
        await desk.spot.ticker(BTC)
    clock.advance(600_000)
    await desk.spot.ticker(BTC)
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "5"}))
    with pytest.raises(RateLimited) as later:
        await desk.spot.quote(BTC)

    assert caught.value.retry_after_secs <= 600
    assert later.value.current_weight == exchange.meter.used(exchange.now_ms())


async def test_weight_that_others_spent_on_our_address_counts(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await desk.directory.table()
    clock.advance(60_000 - clock.now_ms() % 60_000 + 10_000)
    exchange.meter.charge(5_300, exchange.now_ms())
    await desk.spot.ticker(BTC)
    await desk.spot.depth(BTC, 1_000)

    with pytest.raises(RateLimited) as caught:
        await desk.spot.depth(Symbol("ETHUSDT"), 1_000)

    assert caught.value.current_weight == exchange.meter.used(exchange.now_ms()) >= 5_352
