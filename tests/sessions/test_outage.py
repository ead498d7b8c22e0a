"""When the engine is away nobody comes in, nobody is thrown out, and places are held again when it is back."""

import anyio
import pytest

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.errors import EngineUnavailable
from sessions.conftest import House
from sessions.engines import FarEngine

pytestmark = pytest.mark.anyio


async def use_for(house: House, seconds: int, *sessions: object) -> None:
    for _ in range(seconds):
        for session in sessions:
            house.registry.touch(session)  # pyright: ignore[reportArgumentType]
        await house.pass_time(1_000)


async def test_without_the_engine_nobody_comes_in(house: House) -> None:
    house.engine.is_down = True
    for _ in range(20):
        with pytest.raises(EngineUnavailable):
            await house.enter(LOCAL)
    assert house.registry.snapshot().refused == 20

    house.engine.is_down = False
    for _ in range(10):
        await house.enter(LOCAL)

    assert house.registry.snapshot().live == 10


@pytest.mark.slow
async def test_sessions_in_use_outlive_an_outage_and_have_their_places_again(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]

    house.engine.is_down = True
    await use_for(house, 120, *sessions)
    assert all(house.is_alive(session) for session in sessions)
    house.engine.is_down = False
    await use_for(house, 2, *sessions)

    assert await house.places() == 50
    assert house.registry.snapshot().live == 50


async def test_a_new_memory_that_gives_no_places_yet_throws_nobody_out(house: House) -> None:
    sessions = [await house.enter() for _ in range(5)]

    house.engine.lose_everything()
    house.engine.is_settling = True
    await use_for(house, 35, *sessions)
    assert all(house.is_alive(session) for session in sessions)
    house.engine.is_settling = False
    await use_for(house, 2, *sessions)

    assert await house.places() == 5


@pytest.mark.slow
async def test_an_engine_that_is_away_is_asked_once_a_second_for_all_sessions_together(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]
    house.engine.is_down = True
    await use_for(house, 35, *sessions)
    house.engine.calls.clear()

    await use_for(house, 60, *sessions)

    assert 0 < sum(house.engine.calls.values()) <= 61


async def test_sessions_end_on_time_without_the_engine_and_their_places_free_by_themselves(house: House) -> None:
    session = await house.enter()
    done = anyio.Event()

    async def finish() -> None:
        done.set()

    session.on_end(finish)
    house.engine.is_down = True
    await house.pass_time(30_000)

    assert done.is_set()
    assert not house.is_alive(session)
    assert await house.places() == 1
    await house.pass_time(10_000)
    assert await house.places() == 0


async def test_ending_a_session_without_the_engine_raises_nothing(house: House) -> None:
    session = await house.enter()
    house.engine.is_down = True

    await house.registry.end(session)

    assert not house.is_alive(session)


async def test_an_engine_that_lost_everything_gets_the_places_of_live_sessions_anew(house: House) -> None:
    used, idle = await house.enter(), await house.enter()
    house.engine.lose_everything()

    await use_for(house, 31, used)

    assert house.is_alive(used)
    assert not house.is_alive(idle)
    assert await house.places() == 1


async def test_a_session_whose_place_others_took_ends_so_that_the_cap_holds(house: House) -> None:
    sessions = [await house.enter() for _ in range(3)]
    house.engine.lose_everything()
    for number in range(48):
        await house.engine.admit("sessions", f"elsewhere-{number}", ttl_ms=100_000, cap=50)

    await use_for(house, 31, *sessions)

    assert [house.is_alive(session) for session in sessions].count(True) == 2
    assert await house.places() == 50
    assert house.registry.snapshot().ended == 1


@pytest.mark.parametrize("seconds", [90, 300])
async def test_a_session_costs_the_engine_one_call_per_idle_time_however_often_it_is_used(
    house: House, seconds: int
) -> None:
    sessions = [await house.enter() for _ in range(10)]
    house.engine.calls.clear()

    for _ in range(seconds):
        for session in sessions:
            for _ in range(20):
                with house.registry.in_use(session):
                    house.registry.find(session.connection_id, LOCAL)
        await house.pass_time(1_000)

    assert house.engine.calls["touch"] <= len(sessions) * (seconds / 29 + 1)
    assert house.engine.calls["admit"] == house.engine.calls["leave"] == 0


async def test_a_place_never_runs_out_under_a_live_session(house: House) -> None:
    session = await house.enter()
    for step_ms in (29_999, 1, 29_998, 2, 15_000, 29_999, 10_000, 29_999):
        house.registry.touch(session)
        await house.pass_time(step_ms)
        assert house.is_alive(session)
        assert await house.places() == 1


async def test_a_session_that_ends_while_its_place_is_renewed_holds_none(house: House) -> None:
    for hops in range(12):
        session = await house.enter()
        house.engine.lose_everything()  # so that the renewal takes the place anew
        house.clock.advance(29_999)
        house.registry.touch(session)
        house.clock.advance(1)
        for _ in range(hops):
            await anyio.lowlevel.checkpoint()
        await house.registry.end(session)
        await house.pass_time(0)

        assert await house.places() == 0


async def test_a_defect_of_the_engine_does_not_end_the_task(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await house.enter()
    with monkeypatch.context() as patch:
        patch.setattr(FarEngine, "touch", None)
        house.clock.advance(20_000)
        house.registry.touch(session)
        await house.pass_time(10_000)
    await house.pass_time(20_000)

    assert not house.is_alive(session)
    assert await house.places() == 0


async def test_who_gives_up_while_places_are_renewed_does_not_stop_that(house: House) -> None:
    session = await house.enter()
    house.clock.advance(29_000)
    house.registry.touch(session)
    renewing = house.engine.hold("touch")
    house.clock.advance(1_000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.enter)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        renewing.set()
    await house.pass_time(28_000)

    assert house.is_alive(session)
    assert await house.places() == 1
