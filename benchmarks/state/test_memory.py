"""What the engine of one process holds on to: its memory stays small."""

import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator

import pytest

from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


async def growth_bytes(work: Callable[[int], Awaitable[object]]) -> int:
    """Return what three thousand rounds leave behind, once a thousand have set the level."""
    for number in range(1_000):
        await work(number)
    before = _held_bytes()
    for number in range(1_000, 4_000):
        await work(number)
    return _held_bytes() - before


def _held_bytes() -> int:
    gc.collect()  # what an exception and its frames held in a circle is not held by the engine
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(("ttl_ms", "grows"), [(10, False), (3_600_000, True)])
async def test_memory_follows_the_values_that_are_alive(clock: FakeClock, ttl_ms: int, *, grows: bool) -> None:
    engine = MemoryEngine(clock)

    async def put(number: int) -> None:
        await engine.put(f"k{number}", bytes(100), ttl_ms=ttl_ms)
        clock.advance(1)

    assert (await growth_bytes(put) > 100_000) == grows


@pytest.mark.usefixtures("traced")
async def test_writing_and_deleting_one_long_lived_key_leaves_nothing_behind(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)

    async def rewrite(_: int) -> None:
        await engine.put("k", b"v", ttl_ms=3_600_000)
        await engine.delete("k")
        await engine.put("k", b"v", ttl_ms=3_600_000)

    assert await growth_bytes(rewrite) < 100_000


@pytest.mark.usefixtures("traced")
async def test_past_minutes_places_and_channels_leave_nothing_behind(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)

    async def live(number: int) -> None:
        await engine.acquire_weight("ip", "public", 1, limit=6000, now_ms=clock.now_ms())
        await engine.admit("p", f"m{number}", ttl_ms=35_000, cap=5)
        async with engine.subscribe(f"c{number}"):
            await engine.publish(f"c{number}", b"m")
        clock.advance(30_000)

    assert await growth_bytes(live) < 100_000


@pytest.mark.usefixtures("traced")
async def test_landed_and_failed_productions_leave_nothing_behind(clock: FakeClock) -> None:
    engine = MemoryEngine(clock)

    async def produce() -> bytes:
        raise TimeoutError

    async def fly(number: int) -> None:
        with pytest.raises(TimeoutError):
            await engine.single_flight(f"k{number}", produce, ttl_ms=10, lock_ms=10)

    assert await growth_bytes(fly) < 1_000_000
