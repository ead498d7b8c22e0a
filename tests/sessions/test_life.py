"""How a session lives: known to its owner alone, alive while it is used, gone at thirty idle seconds."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.sessions.errors import SessionNotFound
from mcp_binance_server.sessions.registry import IDLE_MS, Registry, SessionCounts
from mcp_binance_server.state.memory import MemoryEngine
from sessions.conftest import ANN, BEN, LOCAL, House
from support.requirement import requirement

pytestmark = pytest.mark.anyio

BEGAN = datetime.fromtimestamp(1_784_592_123.456, UTC)


@requirement(
    "data-model/session-created-at", "data-model/session-last-activity", "data-model/session-remote-addr",
    "data-model/utc",
)  # fmt: skip
async def test_a_session_knows_when_it_began_who_opened_it_and_from_where(house: House) -> None:
    session = await house.enter(remote_addr="192.0.2.7")
    house.clock.advance(5_000)
    house.registry.touch(session)

    assert session.created_at == BEGAN
    assert session.last_activity == BEGAN + timedelta(seconds=5)
    assert session.created_at.utcoffset() == timedelta(0)
    assert (session.owner, session.remote_addr, session.user_agent) == ("ann", "192.0.2.7", "desk/1.0")
    assert session.credentials is None


@requirement("data-model/session-connection-id")
async def test_ids_are_random_uuids_of_version_4_written_with_dashes(house: House) -> None:
    ids = [(await house.enter()).connection_id for _ in range(50)]

    assert len(set(ids)) == 50
    assert all(str(UUID(each)) == each and UUID(each).version == 4 for each in ids)


@requirement("data-model/session-user-agent")
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Desk/1.0 (X11)", "Desk/1.0 (X11)"),
        ("a\r\nSet-Cookie: x\x00\x1b[31m\u202e\u200bb", "aSet-Cookie: x[31mb"),
        ("x" * 100_000, "x" * 199 + "…"),
        ("", None),
        (" \t\x7f ", None),
        (None, None),
    ],
)
async def test_a_user_agent_is_kept_short_and_printable(house: House, sent: str | None, kept: str | None) -> None:
    session = await house.registry.open(ANN, remote_addr="192.0.2.1\x1b[2J", user_agent=sent)

    assert session.user_agent == kept
    assert session.remote_addr == "192.0.2.1[2J"


@requirement("data-model/session-timeout", "ruling/26")
@pytest.mark.parametrize(("after_ms", "is_alive"), [(29_900, True), (29_999, True), (30_000, False), (30_100, False)])
async def test_a_session_is_gone_at_thirty_idle_seconds_though_nothing_has_swept_it(
    house: House, after_ms: int, *, is_alive: bool
) -> None:
    session = await house.enter()

    house.clock.advance(after_ms)

    assert await house.places() == 1
    assert house.is_alive(session) is is_alive
    assert house.registry.snapshot().live == is_alive


async def test_a_step_of_the_wall_clock_ends_nothing_and_keeps_nothing_alive(house: House) -> None:
    session = await house.enter()

    for wall_ms in (0, 4_102_444_800_000):
        house.clock.set_wall(wall_ms)
        await house.pass_time(1)
        assert house.is_alive(session)
    house.clock.set_wall(0)
    await house.pass_time(29_998)

    assert not house.is_alive(session)
    assert await house.places() == 0


@requirement("data-model/session-updated")
async def test_a_sign_of_life_counts_anew_but_wakes_nothing_that_is_over(house: House) -> None:
    session = await house.enter()
    house.clock.advance(29_999)
    house.registry.touch(session)
    house.clock.advance(29_999)
    assert house.is_alive(session)

    house.clock.advance(1)
    house.registry.touch(session)

    assert not house.is_alive(session)


async def test_a_request_in_flight_keeps_its_session_and_its_end_counts_as_use(house: House) -> None:
    session = await house.enter()
    house.clock.advance(1_000)
    with ExitStack() as requests:
        requests.enter_context(house.registry.in_use(session))
        assert session.last_activity == BEGAN + timedelta(seconds=1)
        with house.registry.in_use(session):
            for _ in range(10):
                await house.pass_time(29_000)
        for _ in range(10):
            await house.pass_time(29_000)
        assert house.is_alive(session)
        assert await house.places() == 1
    assert session.last_activity == BEGAN + timedelta(seconds=581)

    await house.pass_time(29_999)
    assert house.is_alive(session)
    await house.pass_time(1)

    assert not house.is_alive(session)
    assert await house.places() == 0


async def test_a_request_that_fails_is_no_longer_in_flight(house: House) -> None:
    session = await house.enter()
    with pytest.raises(ZeroDivisionError), house.registry.in_use(session):
        raise ZeroDivisionError

    await house.pass_time(30_000)

    assert not house.is_alive(session)


async def test_a_request_on_a_session_that_is_over_is_told_so(house: House) -> None:
    session, ended = await house.enter(), await house.enter()
    await house.registry.end(ended)
    house.clock.advance(30_000)

    for each in (session, ended):
        with pytest.raises(SessionNotFound) as caught, house.registry.in_use(each):
            pytest.fail("it was let in")
        assert (caught.value.code, caught.value.http_status) == (-32600, 404)
        assert caught.value.data()["reason"] == "session_not_found"
        assert each.in_flight == 0


async def test_a_stolen_id_looks_like_one_that_never_was(house: House) -> None:
    session, ended, strangers = await house.enter(), await house.enter(), await house.enter(LOCAL)
    await house.registry.end(ended)
    known = session.connection_id

    for visitor in (BEN, LOCAL):
        assert house.registry.find(known, visitor) is None
    assert house.registry.find(strangers.connection_id, ANN) is None
    assert house.registry.find(ended.connection_id, ANN) is None
    for malformed in (
        "",
        known[:-1],
        known.upper(),
        known.replace("-", ""),
        f"{{{known}}}",
        f" {known}",
        "\ud800",
        "0",
    ):
        assert house.registry.find(malformed, ANN) is None
    assert house.is_alive(session)


async def test_looking_for_a_session_is_no_use_of_it(house: House) -> None:
    session = await house.enter()
    house.clock.advance(20_000)
    assert house.is_alive(session)
    assert house.registry.find(session.connection_id, BEN) is None

    house.clock.advance(10_000)

    assert not house.is_alive(session)


async def test_the_counts_say_what_became_of_every_session(house: House) -> None:
    sessions = [await house.enter() for _ in range(4)]
    await house.registry.end(sessions[0])
    await house.registry.end(sessions[0])
    await house.pass_time(20_000)
    house.registry.touch(sessions[1])
    house.clock.advance(10_000)
    unswept = house.registry.snapshot()
    await house.registry.end(sessions[2])
    await house.pass_time(0)

    assert unswept == SessionCounts(live=1, opened=4, refused=0, expired=2, ended=1)
    assert house.registry.snapshot() == unswept


@requirement("data-model/session-sweep")
async def test_every_thirty_seconds_what_idled_is_cleared_though_nobody_asks(house: House) -> None:
    second_ms, over_at_ms, due_at_ms = 1_000, dict[str, float](), dict[str, float]()

    for second in range(300):
        if second % 7 == 0 and second < 240:
            session = await house.enter(remote_addr=f"192.0.2.{second % 200}")
            label = session.connection_id
            due_at_ms[label] = house.clock.monotonic_ms() + IDLE_MS

            async def note(label: str = label) -> None:
                over_at_ms[label] = house.clock.monotonic_ms()

            session.on_end(note)
        await house.pass_time(second_ms)

    # The task alone ended them: nothing was looked up, and nobody new came after the fourth minute.
    assert len(over_at_ms) == 35
    assert over_at_ms == due_at_ms
    assert await house.places() == 0


async def test_on_the_machines_own_clock_a_session_idles_out_by_itself() -> None:
    clock, over = SystemClock(), anyio.Event()
    engine = MemoryEngine(clock)

    async def note() -> None:
        over.set()

    async with Registry[str](engine, clock, idle_ms=50).running() as registry:
        await anyio.lowlevel.checkpoint()
        session = await registry.open(ANN, remote_addr="192.0.2.1")
        session.on_end(note)
        with anyio.fail_after(30):
            await over.wait()

        assert registry.find(session.connection_id, ANN) is None
        assert await engine.members("sessions") == 0
        assert registry.snapshot() == SessionCounts(live=0, opened=1, refused=0, expired=1, ended=0)
