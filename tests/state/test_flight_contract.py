"""What every engine promises about productions that many callers wait for."""

import asyncio
import traceback
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.errors import EngineUnavailable, RateLimited
from mcp_binance_server.state.engine import MAX_VALUE_BYTES, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio


class UpstreamDown(Exception):
    pass


@dataclass
class Source:
    """Something slow: it answers when the gate opens, and counts how often it was asked."""

    value: bytes = b"v"
    error: BaseException | None = None
    calls: int = 0
    gate: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self) -> bytes:
        self.calls += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.value


def ask(engine: StateEngine, source: Source, *, ttl_ms: int = 1000, lock_ms: int = 60_000) -> asyncio.Task[bytes]:
    return asyncio.create_task(_ask(engine, source, ttl_ms, lock_ms))


async def _ask(engine: StateEngine, source: Source, ttl_ms: int, lock_ms: int) -> bytes:
    return await engine.single_flight("k", source, ttl_ms=ttl_ms, lock_ms=lock_ms)


async def settle() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def until_called(source: Source) -> None:
    with anyio.fail_after(5):
        while source.calls == 0:
            await anyio.lowlevel.checkpoint()


async def test_a_thousand_callers_share_one_production(engine: StateEngine) -> None:
    source = Source()
    callers = [ask(engine, source) for _ in range(1000)]
    await settle()

    source.gate.set()

    assert await asyncio.gather(*callers) == [b"v"] * 1000
    assert source.calls == 1


async def test_different_keys_are_produced_apart(engine: StateEngine) -> None:
    source = Source()
    source.gate.set()

    await engine.single_flight("k", source, ttl_ms=1000, lock_ms=1000)
    await engine.single_flight("l", source, ttl_ms=1000, lock_ms=1000)

    assert source.calls == 2


async def test_a_kept_value_is_returned_until_its_ttl_counted_from_its_making(
    engine: StateEngine, clock: FakeClock
) -> None:
    source = Source()
    first = ask(engine, source)
    await settle()
    clock.advance(500)
    source.gate.set()
    await first

    clock.advance(999)
    await ask(engine, source)
    assert source.calls == 1

    clock.advance(1)
    await ask(engine, source)
    assert source.calls == 2


async def test_a_ttl_of_zero_shares_without_keeping(engine: StateEngine) -> None:
    source = Source()
    together = [ask(engine, source, ttl_ms=0) for _ in range(2)]
    await settle()
    source.gate.set()
    await asyncio.gather(*together)
    assert source.calls == 1

    await ask(engine, source, ttl_ms=0)

    assert source.calls == 2


async def test_the_kept_value_is_one_that_get_sees_and_delete_drops(engine: StateEngine) -> None:
    source = Source()
    source.gate.set()
    await ask(engine, source)

    assert await engine.get("k") == b"v"
    assert await engine.delete("k")

    await ask(engine, source)
    assert source.calls == 2


async def test_a_value_put_beforehand_needs_no_production(engine: StateEngine) -> None:
    await engine.put("k", b"", ttl_ms=1000)

    assert await ask(engine, Source()) == b""


async def test_every_waiter_gets_the_producers_error_and_the_next_caller_tries_again(engine: StateEngine) -> None:
    source = Source(error=UpstreamDown("no answer"))
    callers = [ask(engine, source) for _ in range(100)]
    await settle()

    source.gate.set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 100
    assert source.calls == 1

    source.error = None
    assert await ask(engine, source) == b"v"


async def test_a_shared_error_keeps_the_producers_frames_and_does_not_grow_with_the_waiters(
    engine: StateEngine,
) -> None:
    source = Source(error=UpstreamDown())
    callers = [ask(engine, source) for _ in range(200)]
    await settle()

    source.gate.set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)

    frames = traceback.extract_tb(outcomes[-1].__traceback__ if isinstance(outcomes[-1], BaseException) else None)
    assert "__call__" in [frame.name for frame in frames]
    assert len(frames) < 12


async def test_cancelling_a_waiter_disturbs_neither_the_producer_nor_the_others(engine: StateEngine) -> None:
    source = Source()
    first, second, third = (ask(engine, source) for _ in range(3))
    await settle()

    second.cancel()
    await settle()
    source.gate.set()

    assert second.cancelled()
    assert await asyncio.gather(first, third) == [b"v", b"v"]
    assert source.calls == 1


async def test_cancelling_the_first_caller_leaves_the_others_their_value(engine: StateEngine) -> None:
    source = Source()
    first = ask(engine, source)
    await until_called(source)
    others = [ask(engine, source) for _ in range(10)]
    await settle()

    first.cancel()
    await settle()
    source.gate.set()

    with anyio.fail_after(5):
        assert await asyncio.gather(*others) == [b"v"] * 10
    assert first.cancelled()


async def test_an_error_nobody_waits_for_any_more_is_silent(engine: StateEngine) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))
    source = Source(error=UpstreamDown())
    only = ask(engine, source)
    await until_called(source)

    only.cancel()
    source.gate.set()
    await settle()
    del only

    assert complaints == []


async def test_a_production_cancelled_from_inside_is_an_error_for_the_waiters_not_their_cancellation(
    engine: StateEngine,
) -> None:
    source = Source(error=asyncio.CancelledError())
    source.gate.set()

    with pytest.raises(EngineUnavailable):
        await ask(engine, source)


async def test_one_who_comes_after_the_lock_expired_produces_again(engine: StateEngine, clock: FakeClock) -> None:
    stuck, quick = Source(value=b"late"), Source(value=b"quick")
    quick.gate.set()
    first = ask(engine, stuck, ttl_ms=10, lock_ms=500)
    await until_called(stuck)

    clock.advance(500)

    assert await ask(engine, quick, ttl_ms=10) == b"quick"
    clock.advance(10)
    stuck.gate.set()
    assert await first == b"late"


async def test_one_who_waits_when_the_lock_expires_takes_over_for_all_who_wait(
    engine: StateEngine, clock: FakeClock
) -> None:
    stuck, quick = Source(), Source(value=b"quick")
    first = ask(engine, stuck, lock_ms=20)
    await until_called(stuck)
    waiters = [ask(engine, quick) for _ in range(10)]
    await settle()

    clock.advance(20)
    await until_called(quick)
    quick.gate.set()

    assert await asyncio.gather(*waiters) == [b"quick"] * 10
    assert (stuck.calls, quick.calls) == (1, 1)
    stuck.gate.set()
    assert await first == b"v"


async def test_one_who_waits_goes_on_waiting_while_the_clock_trusts_the_producer(engine: StateEngine) -> None:
    source, other = Source(), Source()
    first = ask(engine, source, lock_ms=5)
    await until_called(source)
    waiter = ask(engine, other)

    await asyncio.wait((waiter,), timeout=0.03)
    source.gate.set()

    assert await asyncio.gather(first, waiter) == [b"v", b"v"]
    assert other.calls == 0


async def test_one_who_wakes_after_a_second_production_landed_takes_its_value(
    engine: StateEngine, clock: FakeClock
) -> None:
    stuck, quick, third = Source(), Source(value=b"quick"), Source()
    quick.gate.set()
    first = ask(engine, stuck, lock_ms=20)
    await until_called(stuck)
    waiter = ask(engine, third)
    await settle()

    clock.advance(20)
    await ask(engine, quick)

    assert await waiter == b"quick"
    assert third.calls == 0
    stuck.gate.set()
    assert await first == b"v"


async def test_a_produced_value_over_512_kib_is_refused(engine: StateEngine) -> None:
    source = Source(value=bytes(MAX_VALUE_BYTES + 1))
    source.gate.set()

    with pytest.raises(ValueError, match="524289"):
        await ask(engine, source)


async def test_closing_ends_the_production_and_tells_all_who_wait(engine: StateEngine) -> None:
    before = asyncio.all_tasks()
    source = Source()
    callers = [ask(engine, source) for _ in range(3)]
    await until_called(source)

    await engine.close()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [EngineUnavailable] * 3
    assert asyncio.all_tasks() <= before


async def test_a_closed_engine_starts_no_production(engine: StateEngine) -> None:
    source = Source()
    await engine.close()

    with pytest.raises(EngineUnavailable):
        await ask(engine, source)

    assert source.calls == 0


async def test_an_error_that_concerns_who_began_is_not_told_to_those_who_wait(engine: StateEngine) -> None:
    outgrown = RateLimited(retry_after_secs=9, current_weight=1, weight_limit=6_000, own_weight=60, weight_share=50)
    greedy, modest = Source(error=outgrown), Source(value=b"theirs")
    modest.gate.set()
    first = ask(engine, greedy)
    await until_called(greedy)
    waiting = [ask(engine, modest) for _ in range(5)]
    await settle()

    greedy.gate.set()

    assert await asyncio.gather(*waiting) == [b"theirs"] * 5
    assert modest.calls == 1
    with pytest.raises(RateLimited) as caught:
        await first
    assert caught.value is outgrown
