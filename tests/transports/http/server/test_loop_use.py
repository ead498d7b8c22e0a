"""What a party's requests cost the loop is charged to it, step by step, and fades."""

import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.transports.http.admission.keys import PARTY_TOLD, Claims
from mcp_binance_server.transports.http.server.loop_use import ACTIVE_MS, ASKED_MS, FADES_MS, HEAVY_MS, LoopUse
from support.clock import FakeClock


@pytest.fixture
def use(clock: FakeClock) -> LoopUse:
    return LoopUse(clock.monotonic_ms, clock.monotonic_ms)


async def test_only_the_steps_of_the_work_are_charged_not_what_it_waits_for(use: LoopUse, clock: FakeClock) -> None:
    request, reached, goes_on = use.asked("ann"), anyio.Event(), anyio.Event()

    async def work() -> str:
        clock.advance(3)
        reached.set()
        await goes_on.wait()
        clock.advance(4)
        return "done"

    async def wait_meanwhile() -> None:
        await reached.wait()
        clock.advance(500)
        goes_on.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait_meanwhile)
        assert await request.charging(work()) == "done"

    assert request.account.used(clock.monotonic_ms()) == pytest.approx(4 + (3 + ASKED_MS) * 0.6, abs=0.1)


async def test_work_within_work_is_charged_once_and_to_its_own(use: LoopUse, clock: FakeClock) -> None:
    outer, inner = use.asked("ann"), use.asked("ben")

    async def within() -> None:
        clock.advance(5)
        await anyio.lowlevel.checkpoint()
        clock.advance(5)

    async def work() -> None:
        clock.advance(1)
        await inner.charging(within())
        clock.advance(1)

    await outer.charging(work())

    now = clock.monotonic_ms()
    assert outer.account.used(now) == pytest.approx(2 + ASKED_MS, abs=0.1)
    assert inner.account.used(now) == pytest.approx(10 + ASKED_MS, abs=0.2)


@pytest.mark.slow
@pytest.mark.night
async def test_errors_and_cancellation_reach_the_work_and_leave_no_cycle(use: LoopUse) -> None:
    request, seen = use.asked("ann"), list[str]()

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            seen.append("cancelled")
            raise

    async def fails() -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("no")

    with anyio.move_on_after(0):
        await request.charging(work())
    gc.collect()
    with pytest.raises(ValueError, match="no"):
        await request.charging(fails())

    assert seen == ["cancelled"]
    assert not gc.collect()


def test_what_was_used_fades_and_nobody_is_heavy_alone(use: LoopUse, clock: FakeClock) -> None:
    hog = use.asked("hog").account
    hog.charge(2 * HEAVY_MS, clock.monotonic_ms())
    assert not use.is_heavy(hog, clock.monotonic_ms())

    ann = use.asked("ann").account

    assert use.is_heavy(hog, clock.monotonic_ms())
    assert not use.is_heavy(ann, clock.monotonic_ms())
    clock.advance(FADES_MS)
    assert not use.is_heavy(hog, clock.monotonic_ms())


def test_a_crowd_of_requests_is_heavy_even_if_nothing_is_done_for_them(use: LoopUse, clock: FakeClock) -> None:
    use.asked("ann")
    crowd = [use.asked("hog") for _ in range(int(HEAVY_MS / ASKED_MS) + 1)]

    assert use.is_heavy(crowd[0].account, clock.monotonic_ms())


def test_of_many_a_party_is_heavy_above_an_equal_part(use: LoopUse, clock: FakeClock) -> None:
    parties = [use.asked(f"{number}").account for number in range(50)]
    for each in parties:
        each.charge(19 - ASKED_MS, clock.monotonic_ms())
    parties[0].charge(2, clock.monotonic_ms())

    assert [each.party for each in parties if use.is_heavy(each, clock.monotonic_ms())] == ["0"]


def test_whoever_has_not_asked_for_long_is_forgotten(use: LoopUse, clock: FakeClock) -> None:
    hog = use.asked("hog").account
    use.asked("ann")
    clock.advance(ACTIVE_MS + 1)
    hog = use.asked("hog").account
    hog.charge(5 * HEAVY_MS, clock.monotonic_ms())

    assert not use.is_heavy(hog, clock.monotonic_ms())


def test_claims_are_kept_for_the_last_so_many() -> None:
    claims = Claims(most=2)
    told: list[dict[str, Any]] = [
        {"headers": [(b"authorization", b"%d" % number)], "client": ("192.0.2.1", 1)} for number in range(3)
    ]
    unknown = claims.party(None, told[0])
    for number, scope in enumerate(told):
        scope[PARTY_TOLD] = f"party {number}"
        claims.learn(claims.claim(scope), scope)

    assert [claims.party(claims.claim(scope), scope) for scope in told] == [unknown, "party 1", "party 2"]
