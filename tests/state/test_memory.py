"""What is particular to the engine of one process: its memory stays small and does not outlive it."""

import pytest

from mcp_binance_server.state.engine import CallKind, Fenced, Reserves
from mcp_binance_server.state.expiry import Expiring
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_rebuilt_heap_still_ends_entries_in_time() -> None:
    entries: Expiring[str, int] = Expiring()
    for number in range(500):
        entries.put("often", number, deadline=1000.0 + number, now=0)
        entries.put(f"once {number % 3}", number, deadline=500.0, now=0)

    entries.purge(500)
    assert len(entries) == 1
    assert entries.soonest(500) == 999.0

    entries.purge(1499)
    assert len(entries) == 0
    assert entries.soonest(1499) is None


async def test_messages_lost_by_slow_subscribers_are_counted(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)

    async with engine.subscribe("c"):
        for _ in range(1003):
            await engine.publish("c", b"m")

    assert engine.dropped_messages == 3


async def test_one_of_two_subscribers_leaving_does_not_end_the_other(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)

    async with engine.subscribe("c") as staying:
        async with engine.subscribe("c"):
            pass
        await engine.publish("c", b"m")

        assert await anext(staying) == b"m"


async def test_a_subscription_to_a_closed_engine_ends_at_once(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)
    await engine.close()

    async with engine.subscribe("c") as messages:
        assert [message async for message in messages] == []


async def test_after_a_restart_the_epoch_differs_old_leases_are_lost_and_tokens_rise(clock: FakeClock) -> None:
    before = MemoryEngine(clock)
    old = await before.lease("books", "a", ttl_ms=1500)
    clock.advance(1)
    after = MemoryEngine(clock)
    assert old is not None

    assert after.epoch != before.epoch
    assert await after.put_fenced("book", b"1", lease=old, ttl_ms=100) is Fenced.LOST
    new = await after.lease("books", "b", ttl_ms=1500)
    assert new is not None
    assert int(new.token) > int(old.token)
    assert await after.put_fenced("book", b"1", lease=old, ttl_ms=100) is Fenced.STALE


async def test_tokens_rise_although_the_wall_clock_is_set_back(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)
    first = await engine.lease("books", "a", ttl_ms=100)
    clock.set_wall(0)
    clock.advance(100)

    second = await engine.lease("books", "b", ttl_ms=100)

    assert first is not None
    assert second is not None
    assert int(second.token) > int(first.token)


@pytest.mark.parametrize(
    ("reserves", "room"),
    [
        (Reserves(), {"public": 270, "private": 720, "order": 900}),
        (Reserves(order_percent=0), {"public": 450, "private": 900, "order": 900}),
        (Reserves.none(), {"public": 900, "private": 900, "order": 900}),
    ],
)
async def test_the_reserves_decide_how_much_each_kind_may_use(
    clock: FakeClock, reserves: Reserves, room: dict[CallKind, int]
) -> None:
    for kind, most in room.items():
        engine = MemoryEngine(clock, reserves=reserves)
        now_ms = 30_000

        assert not await engine.acquire_weight("ip", kind, most + 1, limit=1000, now_ms=now_ms)
        assert await engine.acquire_weight("ip", kind, most, limit=1000, now_ms=now_ms)


@pytest.mark.parametrize(("order", "private"), [(-1, 50), (20, -1), (60, 41)])
async def test_impossible_reserves_are_refused(order: int, private: int) -> None:
    with pytest.raises(ValueError, match="reserves"):
        Reserves(order_percent=order, private_percent=private)
