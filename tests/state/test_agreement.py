"""The two engines, side by side: the same history, to the millisecond, gets the same answers."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from mcp_binance_server.state.engine import CallKind, Lease, Reserves, StateEngine
from mcp_binance_server.state.memory import MemoryEngine
from support.state_server import ServerClock, StateServer, held_server

pytestmark = pytest.mark.anyio

KINDS: tuple[CallKind, ...] = ("order", "private", "public")
PARTIES = ("", "ann", "ann", "bob", "cat", "dan")
RESERVES = Reserves(order_percent=10, private_percent=30)
STEPS = 1_500
Act = Callable[[StateEngine, random.Random, int], Awaitable[object]]


@pytest.fixture(scope="module")
def side_by_side() -> Iterator[tuple[StateServer, Path]]:
    with held_server() as running:
        yield running


@pytest.fixture
def clock(side_by_side: tuple[StateServer, Path]) -> ServerClock:
    server, shown = side_by_side
    server.command("FLUSHALL")
    return ServerClock(shown)


@pytest.fixture
async def pair(
    side_by_side: tuple[StateServer, Path], clock: ServerClock
) -> AsyncIterator[tuple[StateEngine, StateEngine]]:
    from mcp_binance_server.state.redis.engine import RedisEngine
    from mcp_binance_server.state.redis.link import StateAddress

    shared = RedisEngine(StateAddress.parse(side_by_side[0].url), clock, reserves=RESERVES)
    own = MemoryEngine(clock, reserves=RESERVES)
    await shared.start()
    yield own, shared
    await shared.close()


async def weigh(engine: StateEngine, chance: random.Random, now_ms: int) -> object:
    ip, verb = chance.choice("ab"), chance.random()
    if verb < 0.8:
        kind, cost = chance.choice(KINDS), chance.choice((0, 1, 5, 20, 40, 90))
        limit, party = chance.choice((200, 900)), chance.choice(PARTIES)
        now_ms += chance.randint(-700, 700)
        return await engine.acquire_weight(ip, kind, cost, limit=limit, now_ms=now_ms, party=party)
    if verb < 0.9:
        minute = now_ms // 60_000 + chance.randint(-1, 1)
        return await engine.report_weight(ip, chance.randint(0, 190), minute=minute)
    if verb < 0.92:
        return await engine.stop_weight(ip, ms=chance.choice((0, 1, 900, 20_000)), reason="429")
    return await engine.read_weight(ip, now_ms=now_ms)


async def seat(engine: StateEngine, chance: random.Random, _: int) -> object:
    pool, member, ttl_ms = chance.choice("pq"), chance.choice("abcdefgh"), chance.choice((1, 7, 40, 500))
    verb = chance.random()
    if verb < 0.5:
        return await engine.admit(
            pool, member, ttl_ms=ttl_ms, cap=chance.randint(0, 4), party=chance.choice(("", "x", "x", "y", "z"))
        )
    if verb < 0.7:
        return await engine.touch(pool, member, ttl_ms=ttl_ms)
    if verb < 0.8:
        return await engine.leave(pool, member)
    return await engine.members(pool)


async def share_out(engine: StateEngine, chance: random.Random, _: int) -> object:
    pool, member, verb = chance.choice("pq"), str(chance.randint(0, 60)), chance.random()
    party = "ann" if chance.random() < 0.7 else chance.choice(PARTIES)
    if verb < 0.1:
        return await engine.leave(pool, member)
    if verb < 0.12:
        return await engine.admit(pool, member, ttl_ms=300, cap=12, party=party)
    cap, newcomers = chance.choice((0, 20, 20, 20)), chance.choice((0, 2, 4, 4))
    return await engine.take_share(pool, member, party=party, ttl_ms=300, cap=cap, newcomers=newcomers)


async def hold(engine: StateEngine, chance: random.Random, now_ms: int) -> object:
    name, owner, ttl_ms = chance.choice("mn"), chance.choice("abc"), chance.choice((1, 7, 40, 500))
    lease = Lease(name, owner, str(now_ms - chance.randint(0, 3)), ttl_ms)
    verb = chance.random()
    if verb < 0.5:
        return await engine.lease(name, owner, ttl_ms=ttl_ms)
    if verb < 0.6:
        return await engine.release(lease)
    if verb < 0.8:
        return await engine.put_fenced(chance.choice("kl"), owner.encode(), lease=lease, ttl_ms=ttl_ms + 1)
    if verb < 0.9:
        return await engine.put(chance.choice("kl"), owner.encode(), ttl_ms=ttl_ms + 1)
    return await engine.get(chance.choice("kl")) if verb < 0.97 else await engine.delete(chance.choice("kl"))


async def shelve(engine: StateEngine, chance: random.Random, _: int) -> object:
    shelf, key = chance.choice("st"), chance.choice("abcdefgh")
    if chance.random() < 0.6:
        return await engine.shelved(shelf, key)
    value, ttl_ms = chance.randbytes(chance.randint(0, 9)), chance.choice((1, 7, 40, 500))
    return await engine.shelve(shelf, key, value, ttl_ms=ttl_ms, most_bytes=chance.choice((8, 20, 20, 20)))


@pytest.mark.night
@pytest.mark.parametrize("act", [weigh, seat, share_out, hold, shelve])
async def test_every_answer_of_a_long_random_history_is_the_same(
    pair: tuple[StateEngine, StateEngine], clock: ServerClock, scale: int, act: Act
) -> None:
    pauses = (0, 0, 10, 400, 3_000, 40_000) if act is weigh else (0, 0, 0, 1, 5, 30)
    chance = random.Random(11)
    told: set[str] = set()

    for step in range(STEPS * scale):
        clock.advance(chance.choice(pauses))
        seed = chance.random()
        own, shared = [await act(engine, random.Random(seed), clock.now_ms()) for engine in pair]
        assert shared == own, f"step {step}"
        told.add(str(own))

    assert len(told) > 10
