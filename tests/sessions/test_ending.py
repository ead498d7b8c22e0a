"""After the end nothing is left of a session: no task, no place, no credentials; and its cleanups were run."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable

import anyio
import pytest

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.sessions.errors import TooManySessions
from mcp_binance_server.sessions.model import Session
from mcp_binance_server.sessions.registry import Registry
from sessions.conftest import ANN, LOCAL, House
from sessions.engines import FarEngine
from support.clock import FakeClock
from support.stepped import settled

pytestmark = pytest.mark.anyio


def noting(notes: list[str], name: str) -> Callable[[], Awaitable[None]]:
    async def note() -> None:
        await anyio.lowlevel.checkpoint()
        notes.append(name)

    return note


async def test_an_ended_session_is_unknown_at_once_and_its_place_free(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]

    await house.registry.end(sessions[3])

    assert not house.is_alive(sessions[3])
    assert await house.places() == 49
    await house.enter()


async def test_a_session_is_gone_and_its_place_free_before_its_farewells_are_done(house: House) -> None:
    session = await house.enter(credentials=Credentials("k", "s"))
    seen: list[object] = []

    async def look() -> None:
        seen.extend((house.is_alive(session), session.credentials, await house.places()))

    session.on_end(look)
    await house.registry.end(session)

    assert seen == [False, None, 0]


async def test_farewells_are_done_once_however_often_and_from_wherever_a_session_is_ended(house: House) -> None:
    session, notes = await house.enter(), list[str]()
    session.on_end(noting(notes, "a"))
    session.on_end(noting(notes, "b"))
    session.on_end(lambda: house.registry.end(session))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(house.registry.end, session)
    await house.registry.end(session)

    assert sorted(notes) == ["a", "b"]
    assert house.registry.snapshot().ended == 1


async def test_a_farewell_can_be_called_off_and_none_is_taken_after_the_end(house: House) -> None:
    session, notes = await house.enter(), list[str]()
    call_off = session.on_end(noting(notes, "a"))
    session.on_end(noting(notes, "b"))
    call_off()
    call_off()

    await house.registry.end(session)

    assert notes == ["b"]
    call_off()
    with pytest.raises(ValueError, match="has ended"):
        session.on_end(noting(notes, "c"))


async def test_a_farewell_that_fails_or_hangs_stops_no_other_and_is_logged(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FarEngine(clock)

    async def fail() -> None:
        raise ZeroDivisionError

    async with Registry[Credentials](engine, clock, cleanup_secs=0.05).running() as registry:
        house = House(clock, engine, registry)
        session, notes = await house.enter(), list[str]()
        for cleanup in (fail, anyio.sleep_forever, noting(notes, "a"), fail, noting(notes, "b")):
            session.on_end(cleanup)
        caplog.set_level(logging.WARNING)

        with anyio.fail_after(10):
            await registry.end(session)

    assert notes == ["a", "b"]
    said = sorted(record.message for record in caplog.records if "session" in record.name)
    assert said == ["the cleanup of a session failed"] * 2 + ["the cleanup of a session took longer than 0.05 s"]


async def test_farewells_of_the_idle_are_done_without_anybody_asking(house: House) -> None:
    sessions, notes = [await house.enter() for _ in range(3)], list[str]()
    for number, session in enumerate(sessions):
        session.on_end(noting(notes, str(number)))

    await house.pass_time(10_000)
    house.registry.touch(sessions[1])
    await house.pass_time(20_000)

    assert sorted(notes) == ["0", "2"]
    assert await house.places() == 1
    await house.pass_time(10_000)
    assert sorted(notes) == ["0", "1", "2"]
    assert await house.places() == 0


async def test_who_comes_in_does_not_wait_for_the_farewells_of_who_idled_out(house: House) -> None:
    session, notes, release = await house.enter(), list[str](), anyio.Event()
    session.on_end(release.wait)
    session.on_end(noting(notes, "a"))
    house.clock.advance(30_000)

    await house.enter()
    assert notes == []

    await settled()
    assert notes == ["a"]
    release.set()


async def test_a_farewell_that_comes_up_while_another_is_being_done_is_done_next(house: House) -> None:
    first, second, notes, release = await house.enter(), await house.enter(), list[str](), anyio.Event()
    first.on_end(release.wait)
    second.on_end(noting(notes, "second"))
    house.clock.advance(10_000)
    house.registry.touch(second)
    await house.pass_time(20_000)
    house.clock.advance(10_000)
    await house.enter()

    release.set()
    await settled()

    assert notes == ["second"]


async def test_a_farewell_that_cancels_the_request_that_ends_the_session_does_not_stop_the_end(house: House) -> None:
    session, notes = await house.enter(), list[str]()

    with anyio.CancelScope() as request, house.registry.in_use(session):

        async def cancel() -> None:
            request.cancel()

        session.on_end(cancel)
        session.on_end(noting(notes, "a"))
        await house.registry.end(session)
        await anyio.lowlevel.checkpoint()

    assert request.cancelled_caught
    assert notes == ["a"]
    assert await house.places() == 0


async def test_closing_ends_every_session_and_leaves_no_task(clock: FakeClock) -> None:
    before, engine, notes = asyncio.all_tasks(), FarEngine(clock), list[str]()
    async with Registry[Credentials](engine, clock).running() as registry:
        house = House(clock, engine, registry)
        sessions = [await house.enter(LOCAL, remote_addr=f"192.0.2.{number}") for number in range(50)]
        for session in sessions:
            session.on_end(noting(notes, session.owner))
        await settled()
        assert len(asyncio.all_tasks() - before) == 2
        with registry.in_use(sessions[0]):
            pass

    assert asyncio.all_tasks() == before
    assert len(notes) == 50
    assert await house.places() == 0
    assert (registry.snapshot().live, registry.snapshot().ended) == (0, 50)


async def test_closing_by_cancellation_does_every_farewell_too(clock: FakeClock) -> None:
    engine, notes = FarEngine(clock), list[str]()
    house = House(clock, engine, Registry[Credentials](engine, clock))
    with anyio.CancelScope() as scope:
        async with house.registry.running():
            idle, used = await house.enter(), await house.enter()
            idle.on_end(noting(notes, "idle"))
            used.on_end(noting(notes, "used"))
            house.clock.advance(20_000)
            house.registry.touch(used)
            house.clock.advance(10_000)
            await house.enter()  # sweeps the idle one, and leaves its cleanup to the task
            scope.cancel()
            await anyio.lowlevel.checkpoint()

    assert sorted(notes) == ["idle", "used"]
    assert await house.places() == 0


async def end_by_asking(house: House, session: Session[Credentials]) -> None:
    await house.registry.end(session)


async def end_by_idling(house: House, _: Session[Credentials]) -> None:
    await house.pass_time(30_000)


async def end_by_the_next_who_comes(house: House, _: Session[Credentials]) -> None:
    house.clock.advance(30_000)
    await house.enter()


@pytest.mark.parametrize("ending", [end_by_asking, end_by_idling, end_by_the_next_who_comes])
async def test_after_the_end_nothing_in_memory_refers_to_the_credentials(
    house: House, ending: Callable[[House, Session[Credentials]], Awaitable[None]]
) -> None:
    kept = [Credentials("apiKey" * 10, "secret" * 10)]
    session = await house.enter(credentials=kept[0])
    with house.registry.in_use(session):
        assert session.credentials is kept[0]
    assert referrers(kept) != []

    await ending(house, session)

    assert session.credentials is None
    assert referrers(kept) == []


async def test_credentials_of_the_refused_are_not_kept(house: House) -> None:
    kept = [Credentials("apiKey" * 10, "secret" * 10)]
    for _ in range(50):
        await house.enter()

    with pytest.raises(TooManySessions):
        await house.enter(ANN, credentials=kept[0])

    assert referrers(kept) == []


def referrers(kept: list[Credentials]) -> list[object]:
    """Walk everything the collector knows; the list that keeps the credentials for the test does not count."""
    gc.collect()
    return [each for each in gc.get_referrers(kept[0]) if each is not kept]
