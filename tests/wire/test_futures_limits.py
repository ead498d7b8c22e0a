"""A futures host that says stop, or not here: it is left alone, and spot does not notice."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable, RateLimited, RegionRestricted
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.exchange.futures.endpoints import DATA, REQUESTS_PER_MINUTE
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.upstream import FuturesSide, Upstream, opened_upstream
from support.answering import Answering
from support.clock import FakeClock
from support.desk import Loop, OpenFutures

BTC = Symbol("BTCUSDT")
MINUTE_MS = 60_000


@pytest.fixture
async def upstream(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[Upstream]:
    async with opened_upstream(read_settings({}), clock=clock, network=OFFLINE, transport=Loop(exchange)) as opened:
        yield opened


async def until_refused(call: Callable[[int], Awaitable[object]]) -> RateLimited:
    """Call again and again, with a number that rises, until that is too much."""
    for number in count():
        try:
            await call(number)
        except RateLimited as error:
            return error
    raise AssertionError


def side_of(upstream: Upstream) -> FuturesSide:
    assert upstream.futures is not None
    return upstream.futures


async def test_a_ban_that_only_its_words_date_ends_when_they_say_and_spot_goes_on(
    upstream: Upstream, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    client = side_of(upstream).client
    exchange.futures.quirks.add(Quirk(kind="banned", ms=300_000, times=1))
    with pytest.raises(RateLimited) as caught:
        await client.premium("BTCUSDT")
    asked = len(exchange.futures.requests)

    clock.advance(299_000)
    with pytest.raises(RateLimited):
        await client.premium("BTCUSDT")
    spot = await upstream.client.ticker(BTC)
    clock.advance(2_000)
    later = await client.premium("BTCUSDT")

    assert caught.value.retry_after_secs == 300
    assert (asked, len(exchange.futures.requests)) == (1, 2)
    assert (spot.value.symbol, later.value.symbol) == ("BTCUSDT", "BTCUSDT")


@pytest.mark.parametrize(
    ("headers", "text", "secs"),
    [
        ({"retry-after": "7"}, "banned until 1999999999999", 7),
        ({}, "IP(203.0.113.7) banned until 1. Please", 120),
        ({}, "Way too many requests", 120),
        ({}, "banned until 19999999999990", 120),
        ({}, "banned until 1999999999999.", 600),
    ],
)
async def test_how_long_a_ban_lasts_is_told_by_the_header_then_by_the_words_then_assumed(
    headers: dict[str, str], text: str, secs: int, open_futures: OpenFutures
) -> None:
    host = Answering({"code": -1003, "msg": text}, status=418, headers=headers)

    async with open_futures(host) as futures:
        with pytest.raises(RateLimited) as caught:
            await futures.client.premium("BTCUSDT")

    assert caught.value.retry_after_secs == secs


async def test_a_place_that_futures_do_not_serve_is_asked_for_again_after_ten_minutes(
    upstream: Upstream, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    client = side_of(upstream).client
    exchange.futures.quirks.add(Quirk(kind="region"))
    with pytest.raises(RegionRestricted) as caught:
        await client.premium("BTCUSDT")
    clock.advance(599_999)
    with pytest.raises(RegionRestricted):
        await client.all_days()
    spot = await upstream.client.ticker(BTC)
    asked = len(exchange.futures.requests)
    clock.advance(1)
    with pytest.raises(RegionRestricted):
        await client.premium("BTCUSDT")

    assert (asked, len(exchange.futures.requests)) == (1, 2)
    assert spot.origin == "simulated"
    assert "no second host" in caught.value.message
    assert "spot" in caught.value.data()["recovery_suggestion"]


async def test_a_spot_host_that_refuses_this_place_is_asked_each_time(
    upstream: Upstream, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=451, code=0, msg="", times=2))

    for _ in range(2):
        with pytest.raises(RegionRestricted, match="does not serve this location") as caught:
            await upstream.client.ticker(BTC)
        assert "second host" in caught.value.data()["recovery_suggestion"]

    assert len(exchange.requests) == 2


async def test_a_futures_host_that_is_down_leaves_spot_alone(
    upstream: Upstream, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.futures.faults.add(Fault(kind="status", status=503, times=None))
    for _ in range(3):
        with pytest.raises(ExchangeUnavailable):
            await side_of(upstream).client.premium("BTCUSDT")
        clock.advance(10)

    assert side_of(upstream).client.caller.attempts.hosts_down == 1
    assert upstream.caller.attempts.hosts_down == 0
    assert (await upstream.client.ticker(BTC)).value.symbol == "BTCUSDT"


@pytest.mark.parametrize("reserves", [Reserves(order_percent=0), Reserves.none()], ids=["with keys", "without"])
async def test_what_is_kept_for_private_calls_does_not_lie_idle_where_there_are_none(
    reserves: Reserves, clock: FakeClock, open_futures: OpenFutures
) -> None:
    clock.advance(-clock.now_ms() % MINUTE_MS + 10_000)

    async with open_futures(Answering([]), reserves) as futures:
        await until_refused(lambda _number: futures.client.all_days())

        assert await futures.client.caller.budget.used() == 2_160 // 40 * 40


@pytest.mark.slow
@pytest.mark.parametrize("reserves", [Reserves(order_percent=0), Reserves.none()], ids=["with keys", "without"])
async def test_one_party_leaves_something_to_others_and_not_half(
    reserves: Reserves, clock: FakeClock, open_futures: OpenFutures
) -> None:
    clock.advance(-clock.now_ms() % MINUTE_MS + 10_000)

    async with open_futures(Answering([]), reserves) as futures:
        with acting_for("mallory"):
            await until_refused(lambda number: futures.client.candles(f"A{number}", "1h", 1500))
        spent = await futures.client.caller.budget.used()
        with acting_for("alice"):
            await futures.client.candles("A", "1h", 1500)

        assert 2_160 * 8 // 10 <= spent <= 2_160 * 95 // 100


async def test_the_data_counter_is_never_passed_in_any_minute_and_returns_with_the_next(
    clock: FakeClock, open_futures: OpenFutures
) -> None:
    clock.advance(-clock.now_ms() % MINUTE_MS + 10_000)
    host = Answering([])

    async with open_futures(host) as futures:
        refused = await until_refused(lambda number: futures.client.taker_hours(f"A{number}"))
        asked = len(host.asked)
        await futures.client.funding_payments("A")
        clock.advance(refused.retry_after_secs * 1_000)
        await futures.client.taker_hours("LATER")

        assert asked == REQUESTS_PER_MINUTE[DATA] == 180
        assert 49 <= refused.retry_after_secs <= 52


async def test_a_retry_is_counted_as_the_request_that_it_is(open_futures: OpenFutures) -> None:
    host = Answering({"code": -1000, "msg": "unknown"}, status=500)

    async with open_futures(host) as futures:
        with pytest.raises(ExchangeUnavailable):
            await futures.client.taker_hours("A")

        assert len(host.asked) == await futures.client.caller.budget.counters[DATA].used() == 3


async def spent_in_minutes(scan: Allowance, clock: FakeClock, minutes: int) -> dict[int, int]:
    """Spend whatever is given for a while, and return what that was in each minute."""
    spent: dict[int, int] = {}
    while len(spent) <= minutes:
        try:
            await scan.spend(2)
        except RateLimited as error:
            clock.advance(error.retry_after_secs * 1_000 - 700)
        else:
            minute = clock.now_ms() // MINUTE_MS
            spent[minute] = spent.get(minute, 0) + 2
            clock.advance(3)
    return spent


@pytest.mark.parametrize("percent", [1, 20, 50])
async def test_a_scan_uses_its_whole_share_of_a_minute_and_never_more(
    percent: int, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    chosen = read_settings({"MCP_BINANCE_SCAN_PERCENT": str(percent)})
    async with opened_upstream(chosen, clock=clock, network=OFFLINE, transport=Loop(exchange)) as upstream:
        await upstream.directory.table()
        spent = await spent_in_minutes(upstream.scans["spot"], clock, 4)
        share = 6_000 * percent // 100

        assert max(spent.values()) <= share
        assert sorted(spent.values())[-3] > share * 9 // 10
        assert upstream.scans["perpetual"].limit == 2_400 * percent // 100


async def test_nothing_is_sent_to_a_futures_host_by_starting(clock: FakeClock, exchange: SimulatedExchange) -> None:
    async with opened_upstream(read_settings({}), clock=clock, network=OFFLINE, transport=Loop(exchange)) as upstream:
        await upstream.prepare()
        await upstream.directory.table()
        clock.advance(600_000)

    assert exchange.requests != []
    assert exchange.futures.requests == []


async def test_without_the_toolset_there_is_no_futures_side(clock: FakeClock) -> None:
    chosen = read_settings({"MCP_BINANCE_TOOLSETS": "market"})
    refusing = httpx2.MockTransport(lambda _request: httpx2.Response(500))

    async with opened_upstream(chosen, clock=clock, network=OFFLINE, transport=refusing) as upstream:
        assert upstream.futures is None
        assert set(upstream.scans) == {"spot"}
