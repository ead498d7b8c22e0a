"""Loop time of a party that keeps several processes busy: about one process's worth in all, while others ask."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_binance_server.state.shared_use import MOST_TOLD, TELLS_MS, PartyUse
from mcp_binance_server.transports.http.relay import WorkerSlot
from mcp_binance_server.transports.http.server.loop_use import ACTIVE_MS, FADES_MS, HEAVY_MS, TOLD_MS, LoopUse
from support.clock import FakeClock
from support.told_use import Told, telling_each_other

HOG, ANN = "hog", "ann"
STEP_MS, TICK_MS = 10.0, 5.0


def loop(clock: FakeClock, processor_share: float = 1.0) -> LoopUse:
    return LoopUse(clock.monotonic_ms, clock.monotonic_ms, processor_share=processor_share)


async def worked(processes: Sequence[LoopUse], told: Told, seconds: float, *, others: bool) -> float:
    """Let the hog have a request wait everywhere, all the time; return how many processes it kept busy on average."""
    busy_until = dict.fromkeys(processes, -1.0)
    total_ms, ticks = 0.0, int(1000 * seconds / TICK_MS)
    for tick in range(ticks):
        now = told.clock.monotonic_ms()
        if others and tick % 100 == 0:
            processes[0].asked(ANN)
        for use in processes:
            account = use.asked(HOG).account
            if now == busy_until[use]:
                use.charge(account, STEP_MS, now)
                total_ms += STEP_MS
            if now >= busy_until[use] and not use.has_to_wait(account, now):
                busy_until[use] = now + STEP_MS
        await told.pass_ms(TICK_MS)
    return total_ms / 1000 / seconds


@pytest.mark.parametrize(("count", "processor_share"), [(1, 0.5), (2, 1.0), (4, 1.0), (4, 0.5), (16, 1.0), (16, 0.25)])
async def test_beside_others_a_heavy_party_has_about_the_work_of_one_process(
    count: int, processor_share: float, clock: FakeClock
) -> None:
    processes = [loop(clock, processor_share) for _ in range(count)]
    async with telling_each_other(clock, processes) as told:
        await worked(processes, told, 2, others=True)

        busy = await worked(processes, told, 4, others=True)

    assert 0.5 * processor_share < busy < 1.25 * processor_share


def test_more_workers_than_processors_have_a_part_of_one_each() -> None:
    processors = os.cpu_count() or 1

    assert WorkerSlot(0, processors, Path()).processor_share == 1
    assert WorkerSlot(0, 4 * processors, Path()).processor_share == 0.25


@pytest.mark.parametrize("processor_share", [1.0, 0.5])
async def test_alone_in_the_fleet_a_party_never_waits(processor_share: float, clock: FakeClock) -> None:
    processes = [loop(clock, processor_share) for _ in range(4)]
    async with telling_each_other(clock, processes) as told:
        busy = await worked(processes, told, 4, others=False)

    assert busy == pytest.approx(4, rel=0.01)


async def test_beside_others_a_party_that_keeps_one_process_busy_does_not_rest(clock: FakeClock) -> None:
    processes = [loop(clock) for _ in range(4)]
    async with telling_each_other(clock, processes) as told:
        processes[1].asked(ANN)
        await told.pass_ms()

        busy = await worked(processes[:1], told, 4, others=True)

    assert busy == pytest.approx(1, rel=0.01)


async def test_who_is_heavy_elsewhere_is_heavy_here_and_others_there_are_others(clock: FakeClock) -> None:
    here, there = loop(clock), loop(clock)
    async with telling_each_other(clock, [here, there]) as told:
        hog = here.asked(HOG).account
        there.charge(there.asked(HOG).account, 2 * HEAVY_MS, clock.monotonic_ms())
        await told.pass_ms()
        before = here.is_heavy(hog, clock.monotonic_ms())

        there.asked(ANN)
        await told.pass_ms()

        assert (before, here.is_heavy(hog, clock.monotonic_ms())) == (False, True)
        assert not here.is_heavy(here.asked("bob").account, clock.monotonic_ms())


async def test_nobody_rests_for_a_process_that_is_gone(clock: FakeClock) -> None:
    use = loop(clock)
    use.asked(ANN)
    hog = use.asked(HOG).account
    use.elsewhere.told["gone"] = PartyUse([HOG], {HOG: 900.0})
    use.charge(hog, 3 * HEAVY_MS, clock.monotonic_ms())
    resting = use.has_to_wait(hog, clock.monotonic_ms())
    del use.elsewhere.told["gone"]

    clock.advance(FADES_MS)
    use.charge(hog, 3 * HEAVY_MS, clock.monotonic_ms())

    assert resting
    assert use.is_heavy(hog, clock.monotonic_ms())
    assert not use.has_to_wait(hog, clock.monotonic_ms())


def test_what_is_told_is_who_asked_last_and_those_that_use_most(clock: FakeClock) -> None:
    use = loop(clock)
    for number in range(2 * MOST_TOLD):
        use.charge(use.asked(f"{number}").account, TOLD_MS + number, clock.monotonic_ms())
    use.charge(use.asked(ANN).account, TOLD_MS - 1, clock.monotonic_ms())
    use.asked(HOG)

    told = use.used_here()
    clock.advance(ACTIVE_MS)

    assert told.asked == [HOG, ANN]
    assert {*told.used} == {f"{number}" for number in range(MOST_TOLD, 2 * MOST_TOLD)}
    assert not use.used_here()


def test_a_loop_is_told_of_often_enough_to_be_known_while_it_is_used() -> None:
    assert 2 * TELLS_MS < FADES_MS
