"""One production for callers on two engines, as on two processes: value, error and cancellation."""

import asyncio

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import AppError, EngineUnavailable, RateLimited
from mcp_binance_server.state.engine import MAX_VALUE_BYTES, StateEngine
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.flight import AT_HAND_MS, HOLD_MS
from support.partition import partition
from support.state_server import Connect, StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.flood]

CLOCK = SystemClock()


class Source:
    """Answers, or fails, when the gate opens; says when it was asked."""

    def __init__(self, answer: bytes | Exception = b"v") -> None:
        self.answer = answer
        self.asked, self.gate = asyncio.Event(), asyncio.Event()
        self.times = 0

    async def __call__(self) -> bytes:
        self.times += 1
        self.asked.set()
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def ask(engine: StateEngine, source: Source, *, ttl_ms: int = 0, lock_ms: int = 60_000) -> asyncio.Task[bytes]:
    return asyncio.create_task(_ask(engine, source, ttl_ms, lock_ms))


async def _ask(engine: StateEngine, source: Source, ttl_ms: int, lock_ms: int) -> bytes:
    return await engine.single_flight("k", source, ttl_ms=ttl_ms, lock_ms=lock_ms)


async def both(connect: Connect, answer: bytes | Exception) -> list[bytes | BaseException]:
    """Let one engine produce while callers of another wait; return what the caller and a waiter got."""
    first, second = await connect(), await connect()
    source, spare = Source(answer), Source()
    producer = ask(first, source)
    await source.asked.wait()
    waiters = [ask(second, spare) for _ in range(5)]
    await CLOCK.sleep_ms(200)
    source.gate.set()
    got = await asyncio.gather(producer, *waiters, return_exceptions=True)

    assert not spare.asked.is_set()
    assert len({str(each) for each in got[1:]}) == 1
    return got[:2]


@pytest.mark.night
async def test_a_value_that_is_not_kept_still_reaches_those_who_wait_elsewhere(connect: Connect) -> None:
    assert await both(connect, b"\x00value") == [b"\x00value"] * 2

    late = Source(b"anew")
    late.gate.set()
    assert await ask(await connect(), late) == b"anew"


@pytest.mark.night
async def test_an_error_of_ours_arrives_elsewhere_with_all_it_says(connect: Connect) -> None:
    error = RateLimited(retry_after_secs=7, current_weight=5400, weight_limit=6000)

    own, elsewhere = await both(connect, error)

    assert own is error
    assert isinstance(elsewhere, RateLimited)
    assert elsewhere.data() == error.data()


@pytest.mark.night
async def test_an_error_that_concerns_who_began_leaves_the_production_to_another_process(connect: Connect) -> None:
    first, second = await connect(), await connect()
    outgrown = RateLimited(retry_after_secs=9, current_weight=1, weight_limit=6_000, own_weight=60, weight_share=50)
    greedy, modest = Source(outgrown), Source(b"theirs")
    modest.gate.set()
    producer = ask(first, greedy)
    await greedy.asked.wait()
    waiter = ask(second, modest)

    greedy.gate.set()

    assert await asyncio.gather(producer, waiter, return_exceptions=True) == [outgrown, b"theirs"]


@pytest.mark.night
async def test_an_error_that_is_none_of_ours_says_nothing_elsewhere(connect: Connect) -> None:
    own, elsewhere = await both(connect, KeyError("a detail for nobody"))

    assert isinstance(own, KeyError)
    assert type(elsewhere) is AppError
    assert "detail" not in str(elsewhere)


@pytest.mark.night
async def test_a_value_that_is_too_long_is_refused_to_all(connect: Connect) -> None:
    own, elsewhere = await both(connect, bytes(MAX_VALUE_BYTES + 1))

    assert isinstance(own, ValueError)
    assert isinstance(elsewhere, ValueError)
    assert str(own) == str(elsewhere)


@pytest.mark.night
async def test_one_who_closes_in_mid_production_hands_it_over_at_once(connect: Connect) -> None:
    first, second = await connect(), await connect()
    source, spare = Source(), Source(b"second")
    spare.gate.set()
    producer = ask(first, source)
    await source.asked.wait()
    waiter = ask(second, spare)

    await first.close()

    assert await asyncio.wait_for(waiter, 10) == b"second"
    with pytest.raises(EngineUnavailable):
        await producer


@pytest.mark.night
async def test_when_the_lock_ends_another_engine_produces_and_the_first_still_ends(connect: Connect) -> None:
    first, second = await connect(), await connect()
    stuck, quick = Source(b"late"), Source(b"quick")
    quick.gate.set()
    producer = ask(first, stuck, lock_ms=300)
    await stuck.asked.wait()

    assert await asyncio.wait_for(ask(second, quick), 10) == b"quick"
    stuck.gate.set()
    assert await producer == b"late"


@pytest.mark.night
async def test_a_lock_that_nobody_holds_any_more_keeps_the_others_waiting_for_a_moment_only(
    server: StateServer, connect: Connect
) -> None:
    async with partition(server.port) as proxy:
        first, second = await connect(proxy.url), await connect()
        stuck, quick = Source(), Source(b"quick")
        quick.gate.set()
        producer = ask(first, stuck)
        await stuck.asked.wait()

        proxy.shut()

        # Far from what the lock was asked for, a minute.
        assert await asyncio.wait_for(ask(second, quick), 20) == b"quick"
        stuck.gate.set()
        assert await producer == b"v"
        proxy.mend()


@pytest.mark.night
async def test_a_lock_is_held_for_as_long_as_a_production_lasts(server: StateServer, connect: Connect) -> None:
    first, second = await connect(), await connect()
    source, spare = Source(), Source(b"spare")
    spare.gate.set()
    producer = ask(first, source)
    await source.asked.wait()
    began = ends = int(server.command("HGET", keys.lock("k"), "ends").split()[1])
    waiter = ask(second, spare)

    while ends < began + HOLD_MS:
        await CLOCK.sleep_ms(50)
        ends = int(server.command("HGET", keys.lock("k"), "ends").split()[1])
    source.gate.set()

    assert await asyncio.gather(producer, waiter) == [b"v", b"v"]
    assert not spare.asked.is_set()


@pytest.mark.night
async def test_what_is_kept_is_asked_for_once_a_second_and_not_once_a_call(
    connect: Connect, server: StateServer
) -> None:
    first, second = await connect(), await connect()
    source, spare = Source(b"v"), Source(b"spare")
    source.gate.set()
    assert await ask(first, source, ttl_ms=60_000) == b"v"
    before = server.commands()

    got = {await ask(second, spare, ttl_ms=60_000) for _ in range(500)}

    assert got == {b"v"}
    assert server.commands() - before < 50
    assert not spare.asked.is_set()


@pytest.mark.night
async def test_what_is_deleted_is_produced_anew_here_at_once_and_elsewhere_within_a_second(connect: Connect) -> None:
    here, elsewhere = await connect(), await connect()
    old, new = Source(b"old"), Source(b"new")
    for source in (old, new):
        source.gate.set()
    assert [await ask(each, old, ttl_ms=60_000) for each in (here, elsewhere)] == [b"old", b"old"]

    await here.delete("k")
    assert await ask(here, new, ttl_ms=60_000) == b"new"

    await CLOCK.sleep_ms(AT_HAND_MS)
    assert await ask(elsewhere, old, ttl_ms=60_000) == b"new"


@pytest.mark.night
async def test_without_the_server_those_who_may_ask_alone_ask_once_for_all_of_their_process(
    server: StateServer, connect: Connect
) -> None:
    engine, source = await connect(), Source()
    server.kill()
    source.gate.set()

    got = await asyncio.gather(
        *(engine.single_flight("a", source, ttl_ms=60_000, lock_ms=60_000, or_alone=True) for _ in range(20))
    )
    with pytest.raises(EngineUnavailable):
        await ask(engine, source)

    assert got == [b"v"] * 20
    assert source.times == 1
