"""Places of parties: lent freely while there are some, then shared; the same promises for every engine."""

import pytest

from mcp_binance_server.state.engine import Admission, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

CAP = 4


async def take(engine: StateEngine, member: str, party: str, *, ttl_ms: int = 1_000, cap: int = CAP) -> Admission:
    return await engine.admit("p", member, ttl_ms=ttl_ms, cap=cap, party=party, channel="gone")


async def fill(engine: StateEngine, party: str, *, cap: int = CAP) -> None:
    for number in range(cap):
        assert (await take(engine, f"{party}{number}", party, cap=cap)).admitted


async def test_one_party_may_hold_every_place_while_nobody_else_asks(engine: StateEngine) -> None:
    await fill(engine, "m")

    assert await take(engine, "m4", "m") == Admission(admitted=False, count=4, retry_ms=1_000)


async def test_a_full_pool_gives_a_newcomer_the_place_that_ends_first_of_the_party_with_most(
    engine: StateEngine, clock: FakeClock
) -> None:
    await fill(engine, "m")
    clock.advance(10)
    for member in ("m0", "m1", "m3"):
        assert await engine.touch("p", member, ttl_ms=1_000)

    assert await take(engine, "b0", "b") == Admission(admitted=True, count=4, retry_ms=0, evicted="m2")

    assert not await engine.touch("p", "m2", ttl_ms=1_000)
    assert await engine.touch("p", "b0", ttl_ms=1_000)


async def test_parties_take_over_until_none_has_two_more_than_another(engine: StateEngine) -> None:
    await fill(engine, "m", cap=7)

    given = [(await take(engine, f"b{number}", "b", cap=7)).admitted for number in range(5)]
    late = [(await take(engine, f"c{number}", "c", cap=7)).admitted for number in range(4)]
    back = await take(engine, "m9", "m", cap=7)

    assert given == [True, True, True, False, False]
    assert late == [True, True, False, False]
    assert not back.admitted
    assert await engine.members("p") == 7


async def test_of_parties_that_hold_equally_many_the_place_that_ends_first_goes(
    engine: StateEngine, clock: FakeClock
) -> None:
    for member, party in (("x0", "x"), ("y0", "y"), ("y1", "y"), ("x1", "x")):
        clock.advance(1)
        await take(engine, member, party)
    await engine.touch("p", "x0", ttl_ms=1_000)

    assert (await take(engine, "z", "z")).evicted == "y0"


async def test_places_of_no_party_neither_give_way_nor_make_another_do_so(engine: StateEngine) -> None:
    for number in range(3):
        assert (await take(engine, f"own{number}", "")).admitted
    assert (await take(engine, "m0", "m")).admitted

    assert not (await take(engine, "b0", "b")).admitted
    assert not (await take(engine, "own3", "")).admitted


async def test_no_party_ever_takes_over(engine: StateEngine) -> None:
    await fill(engine, "m")

    assert not (await take(engine, "own", "")).admitted


async def test_whoever_gives_way_is_told_on_the_channel(engine: StateEngine) -> None:
    await fill(engine, "m")
    async with engine.subscribe("gone") as gone:
        await take(engine, "m4", "m")
        await take(engine, "b0", "b")
        await take(engine, "b1", "b")

        assert [await anext(gone), await anext(gone)] == [b"m0", b"m1"]


async def test_places_that_were_left_or_have_ended_count_for_nobody(engine: StateEngine, clock: FakeClock) -> None:
    for number in range(2):
        await take(engine, f"m{number}", "m", ttl_ms=50)
        await take(engine, f"n{number}", "n")
    await engine.leave("p", "n0")
    clock.advance(50)
    assert [(await take(engine, f"b{number}", "b")).evicted for number in range(3)] == ["", "", ""]

    assert (await take(engine, "m5", "m")).evicted == "b0"
    assert not (await take(engine, "n5", "n")).admitted


async def test_a_member_that_comes_again_keeps_its_party(engine: StateEngine) -> None:
    await fill(engine, "m")
    await take(engine, "m0", "b")

    await take(engine, "b0", "b")
    assert (await take(engine, "b1", "b")).admitted
    assert not (await take(engine, "b2", "b")).admitted


async def test_a_pool_above_a_lowered_cap_does_not_grow_by_taking_over(engine: StateEngine) -> None:
    await fill(engine, "m")

    assert (await take(engine, "b0", "b", cap=2)).count == 4
    assert await engine.members("p") == 4
