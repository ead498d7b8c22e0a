"""A full house: whoever has fewest gets in, and whoever has most gives up what it uses least."""

from collections.abc import AsyncIterator

import pytest

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.sessions.errors import TooManySessions
from mcp_binance_server.sessions.model import Session
from mcp_binance_server.sessions.registry import Registry
from sessions.conftest import ANN, BEN, House
from support.stepped import settled

pytestmark = pytest.mark.anyio


@pytest.fixture
async def annexe(house: House) -> AsyncIterator[House]:
    """Another process on the same engine."""
    async with Registry[Credentials](house.engine, house.clock).running() as registry:
        await settled()
        yield House(house.clock, house.engine, registry)


async def filled(house: House) -> list[Session[Credentials]]:
    return [await house.enter(ANN, party="ann") for _ in range(50)]


async def test_who_has_none_gets_in_at_once_and_the_house_is_never_above_its_cap(house: House) -> None:
    held = await filled(house)

    ben = await house.enter(BEN, party="ben")

    assert house.is_alive(ben, BEN)
    assert house.registry.snapshot().live == await house.places() == 50
    assert sum(house.is_alive(session) for session in held) == 49


async def test_the_session_that_gives_way_ends_as_any_other_does(house: House) -> None:
    keys = Credentials("k" * 64, "s" * 64)
    notes: list[str] = []
    held = [await house.enter(ANN, party="ann", credentials=keys) for _ in range(50)]
    for session in held:

        async def note(label: str = session.label) -> None:
            notes.append(label)

        session.on_end(note)

    await house.enter(BEN, party="ben")
    await settled()

    (gone,) = (session for session in held if not house.is_alive(session))
    assert notes == [gone.label]
    assert gone.has_ended
    assert gone.credentials is None
    assert house.registry.snapshot().ended == 1


async def test_the_one_that_was_used_last_does_not_go(house: House) -> None:
    used = await house.enter(ANN, party="ann")
    house.clock.advance(10_000)
    held = [await house.enter(ANN, party="ann") for _ in range(49)]
    await house.pass_time(19_000)
    house.registry.touch(used)
    await house.pass_time(1_000)

    for number in range(40):
        await house.enter(BEN, party=f"modest {number}")

    assert house.is_alive(used)
    assert sum(house.is_alive(session) for session in held) == 9


async def test_the_session_of_another_process_ends_without_waiting_for_its_next_renewal(
    house: House, annexe: House
) -> None:
    held = await filled(house)

    ben = await annexe.enter(BEN, party="ben")
    await settled()

    assert annexe.is_alive(ben, BEN)
    assert sum(house.is_alive(session) for session in held) == 49
    assert house.registry.snapshot().live + annexe.registry.snapshot().live == await house.places() == 50


async def test_when_the_message_is_lost_the_next_renewal_finds_it_out(house: House, annexe: House) -> None:
    held = await filled(house)
    house.engine.is_mute = True
    ben = await annexe.enter(BEN, party="ben")
    await settled()
    assert all(house.is_alive(session) for session in held)

    for _ in range(31):
        for session in held:
            house.registry.touch(session)
        annexe.registry.touch(ben)
        await house.pass_time(1_000)

    assert sum(house.is_alive(session) for session in held) == 49
    assert annexe.is_alive(ben, BEN)
    assert await house.places() == 50


async def test_everybody_gets_as_many_as_anybody_and_whoever_has_most_is_refused_more(
    house: House, annexe: House
) -> None:
    await filled(house)

    for number in range(24):
        for _ in range(2):
            await annexe.enter(BEN, party=f"modest {number}")
    await settled()

    assert await house.places() == 50
    assert (house.registry.snapshot().live, annexe.registry.snapshot().live) == (2, 48)
    with pytest.raises(TooManySessions) as caught:
        await house.enter(ANN, party="ann")
    assert caught.value.reason == "too_many_sessions"


async def test_no_engine_takes_nothing_from_anybody(house: House) -> None:
    held = await filled(house)
    house.engine.is_down = True

    with pytest.raises(EngineUnavailable):
        await house.enter(BEN, party="ben")
    await settled()

    assert all(house.is_alive(session) for session in held)
