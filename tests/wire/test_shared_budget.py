"""Whose share a call is charged to: who asks pays, what all need is nobody's, and a share is told as one."""

from itertools import count

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import RateLimited
from support.clock import FakeClock
from support.desk import Desk

BTC = Symbol("BTCUSDT")
# A small limit is soon spent: nine tenths of it, and of that a tenth is kept for newcomers. A book costs 5.
LIMIT, PUBLIC = 300, 270
COST = 5
LENT = (PUBLIC - PUBLIC // 10) // COST * COST


@pytest.fixture(autouse=True)
async def _in_mid_minute(desk: Desk, exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.weight_limit = LIMIT
    await desk.directory.table()
    clock.advance(60_000 - clock.now_ms() % 60_000 + 10_000)


async def spend_all(desk: Desk, party: str) -> RateLimited:
    with acting_for(party):
        for limit in count(1):
            try:
                await desk.spot.depth(BTC, limit)
            except RateLimited as error:
                return error
    raise AssertionError


@pytest.mark.slow
async def test_who_asks_is_told_what_it_has_spent_and_what_it_can_count_on(desk: Desk) -> None:
    error = await spend_all(desk, "mallory")

    assert (error.own_weight, error.weight_share) == (LENT, PUBLIC // 2)
    assert error.concerns_one
    assert error.data()["weight_share"] == PUBLIC // 2


async def test_what_all_need_is_charged_to_nobody(desk: Desk, clock: FakeClock) -> None:
    with acting_for("mallory"):
        await desk.spot.snapshot(BTC, 1_000)
        await desk.caller.sync_time()
        clock.advance(100)

    error = await spend_all(desk, "mallory")

    assert error.own_weight is not None
    # A snapshot costs 50 and the clock at least 1: they are gone for everybody, and not what mallory has spent.
    left = PUBLIC - await desk.budget.used() + error.own_weight
    assert error.own_weight <= left - left // 10
    assert error.own_weight > left - left // 10 - COST


async def test_the_clock_that_a_caller_asks_for_is_its_own(desk: Desk) -> None:
    await spend_all(desk, "mallory")

    with acting_for("mallory"):
        for _ in range(PUBLIC - PUBLIC // 10 - LENT):
            await desk.spot.clock_check()
        with pytest.raises(RateLimited) as caught:
            await desk.spot.clock_check()

    assert caught.value.concerns_one


async def test_without_a_party_no_share_is_told(desk: Desk) -> None:
    error = await spend_all(desk, "")

    assert (error.own_weight, error.weight_share, error.concerns_one) == (None, None, False)
    assert error.message == f"Rate limit exceeded. Please wait {error.retry_after_secs} seconds before retrying."


async def test_one_who_is_refused_near_the_end_of_a_minute_waits_for_the_next(desk: Desk, clock: FakeClock) -> None:
    await spend_all(desk, "mallory")
    clock.advance(60_000 - clock.now_ms() % 60_000 - 900)

    with acting_for("mallory"):
        await desk.spot.depth(BTC, 100)

    assert clock.slept_ms == [1_900]


@pytest.mark.slow
async def test_a_share_of_a_limit_that_is_not_known_yet_waits_for_the_true_one(
    exchange: SimulatedExchange, desk: Desk
) -> None:
    # Twenty-five deep books cost more than the smallest limit has.
    fresh = Desk(desk.engine, desk.channel, desk.caller.clock, desk.caller.network)
    exchange.weight_limit = 6_000
    await desk.engine.delete("cache:exchange.test:symbols")

    async def read(limit: int) -> None:
        with acting_for("ann"):
            await fresh.spot.depth(BTC, limit)

    async with anyio.create_task_group() as group:
        for limit in range(501, 526):
            group.start_soon(read, limit)

    assert fresh.budget.limit == 6_000
