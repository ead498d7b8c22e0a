"""Processes tell each other who uses them: a few times a second, while somebody does, and forget who falls silent."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import anyio
import anyio.lowlevel
import msgspec
import pytest

from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.shared_use import (
    CHANNEL,
    FORGETS_MS,
    MOST_TOLD,
    TELLS_MS,
    FleetUse,
    PartyUse,
    RemoteUsage,
    UsageReport,
)
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

NOTHING = PartyUse([], {})
BUSY = PartyUse(["ann", "hog"], {"hog": 300.0})


class Process:
    """One of a fleet: what it uses is set, what it hears is seen."""

    def __init__(self, engine: StateEngine, clock: FakeClock) -> None:
        self.used, self.elsewhere, self.looks = NOTHING, RemoteUsage(self._look), 0
        self.fleet_use = FleetUse(engine, clock)
        self.fleet_use.share("loop", self.elsewhere, lambda: self.used)

    def _look(self) -> None:
        self.looks += 1


@pytest.fixture
async def processes(engine: StateEngine, clock: FakeClock) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        two = [Process(engine, clock), Process(engine, clock)]
        for each in two:
            await stack.enter_async_context(each.fleet_use.running())
        yield two


async def until(clock: FakeClock, holds: Callable[[], bool]) -> None:
    """Let time pass, as little as is needed, until something is so; a message takes a moment of real time."""
    with anyio.fail_after(30):
        while not holds():
            clock.advance(TELLS_MS / 50)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()


async def test_what_one_uses_is_known_to_the_other_and_not_to_itself(
    processes: list[Process], clock: FakeClock
) -> None:
    here, there = processes
    here.used = BUSY

    await until(clock, lambda: bool(there.elsewhere.told))

    heard = there.elsewhere
    assert (heard.used("hog"), heard.processes("hog"), heard.used("ann")) == (300.0, 1, 0.0)
    assert heard.has_others("hog")
    assert heard.has_others("ann")
    assert not here.elsewhere.told


async def test_one_name_alone_is_nobody_else(processes: list[Process], clock: FakeClock) -> None:
    here, there = processes
    here.used = PartyUse(["hog"], {"hog": 300.0})

    await until(clock, lambda: bool(there.elsewhere.told))

    assert not there.elsewhere.has_others("hog")
    assert there.elsewhere.has_others("ann")


async def test_that_nothing_is_used_any_more_is_told_at_once_and_once(
    engine: StateEngine, processes: list[Process], clock: FakeClock
) -> None:
    here, there = processes
    async with engine.subscribe(CHANNEL) as tellings:
        here.used = BUSY
        await until(clock, lambda: bool(there.elsewhere.told))
        here.used = NOTHING
        began_ms = clock.monotonic_ms()
        await until(clock, lambda: not there.elsewhere.told)
        took_ms = clock.monotonic_ms() - began_ms
        for _ in range(10):
            clock.advance(TELLS_MS)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        await engine.publish(CHANNEL, b"end")
        said = [msgspec.msgpack.decode(each, type=UsageReport).shared async for each in _until_end(tellings)]

    assert took_ms < FORGETS_MS
    assert said[-1] == {}
    assert all(said[:-1])


async def _until_end(tellings: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for each in tellings:
        if each == b"end":
            return
        yield each


async def test_a_process_that_falls_silent_is_forgotten(engine: StateEngine, clock: FakeClock) -> None:
    there = Process(engine, clock)
    async with there.fleet_use.running():
        here = Process(engine, clock)
        here.used = BUSY
        async with here.fleet_use.running():
            await until(clock, lambda: bool(there.elsewhere.told))
        heard_ms = clock.monotonic_ms()

        await until(clock, lambda: not there.elsewhere.told)

    assert there.elsewhere.used("hog") == 0
    assert clock.monotonic_ms() - heard_ms <= FORGETS_MS + 2 * TELLS_MS


async def test_what_is_no_telling_is_not_heard(engine: StateEngine, processes: list[Process], clock: FakeClock) -> None:
    here, there = processes
    too_many = {"loop": (["ann"], {f"{number}": 1.0 for number in range(MOST_TOLD + 1)})}
    wrong = [b"", b"\x93", b"\xc1", b"[]", msgspec.msgpack.encode(["x", {"loop": [["ann"], {"hog": -1.0}]}])]
    for each in [*wrong, msgspec.msgpack.encode(["x", too_many]), msgspec.msgpack.encode(["x", {"other": [[], {}]}])]:
        await engine.publish(CHANNEL, each)
    here.used = BUSY

    await until(clock, lambda: bool(there.elsewhere.told))

    assert [*there.elsewhere.told.values()] == [BUSY]


async def test_whoever_shares_something_out_looks_again_a_few_times_a_second(
    processes: list[Process], clock: FakeClock
) -> None:
    here, _ = processes

    await until(clock, lambda: here.looks == 4)

    assert clock.monotonic_ms() == pytest.approx(4 * TELLS_MS, rel=0.3)


async def test_without_the_engine_each_goes_on_for_itself(engine: StateEngine, clock: FakeClock) -> None:
    here = Process(engine, clock)
    here.used = BUSY
    async with here.fleet_use.running():
        await engine.close()
        looks = here.looks

        await until(clock, lambda: here.looks > looks + 2)

    assert not here.elsewhere.told
