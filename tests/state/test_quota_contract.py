"""What every engine promises about places that are shared out, such as the images of a day."""

from itertools import count

import pytest

from mcp_binance_server.state.engine import Admission, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

CAP, NEWCOMERS, TTL_MS = 50, 5, 60_000
LEAST = 2
NUMBERS = count()


async def take(engine: StateEngine, party: str, *, cap: int = CAP, newcomers: int = NEWCOMERS) -> Admission:
    member = f"image {next(NUMBERS)}"
    return await engine.take_share("day", member, party=party, ttl_ms=TTL_MS, cap=cap, newcomers=newcomers)


async def drain(engine: StateEngine, party: str) -> tuple[int, Admission]:
    """Take places until that is refused; return how many, and the refusal."""
    taken = 0
    while (admission := await take(engine, party)).admitted:
        taken += 1
    return taken, admission


async def test_a_place_is_counted_with_those_that_are_not_shared_out(engine: StateEngine) -> None:
    await engine.admit("day", "another", ttl_ms=TTL_MS, cap=CAP)

    assert await take(engine, "ann") == Admission(admitted=True, count=2, retry_ms=0)
    assert await engine.members("day") == 2


async def test_one_who_is_alone_may_have_all_but_what_a_newcomer_shall_find(engine: StateEngine) -> None:
    taken, refused = await drain(engine, "ann")

    assert taken == CAP - NEWCOMERS
    assert refused == Admission(admitted=False, count=taken, retry_ms=TTL_MS, own=taken, share=CAP // 2)


async def test_each_newcomer_leaves_something_to_the_next(engine: StateEngine) -> None:
    await drain(engine, "mallory")

    found = {party: await drain(engine, party) for party in ("bob", "cat", "dan", "eve")}

    assert [taken for taken, _ in found.values()] == [LEAST, LEAST, NEWCOMERS - 2 * LEAST, 0]
    assert (found["bob"][1].own, found["bob"][1].share) == (LEAST, LEAST)
    assert (found["eve"][1].count, found["eve"][1].share) == (CAP, 0)


async def test_those_who_have_one_find_their_share_whatever_another_takes(engine: StateEngine) -> None:
    modest = ("bob", "cat", "dan")
    for party in modest:
        assert (await take(engine, party)).admitted
    taken, refused = await drain(engine, "mallory")

    share = CAP // 5
    more = [(await take(engine, party)).admitted for party in modest for _ in range(share - 1)]

    # Each of the three has had one of those that are kept for newcomers.
    assert (taken, refused.share) == (CAP - 3 * share - (NEWCOMERS - 3), share)
    assert all(more)


async def test_nothing_is_kept_for_newcomers_where_nothing_should_be(engine: StateEngine) -> None:
    taken = [(await take(engine, "ann", newcomers=0)).admitted for _ in range(CAP + 1)]

    assert taken == [True] * CAP + [False]


async def test_without_a_party_every_place_may_be_taken(engine: StateEngine) -> None:
    await take(engine, "ann")

    assert (await drain(engine, ""))[0] == CAP - 1
    assert (await take(engine, "ann")).share == 0


async def test_a_place_that_was_left_is_the_partys_again(engine: StateEngine) -> None:
    first = await engine.take_share("day", "first", party="ann", ttl_ms=TTL_MS, cap=CAP, newcomers=NEWCOMERS)
    await drain(engine, "ann")

    await engine.leave("day", "first")

    assert first.admitted
    assert (await take(engine, "ann")).admitted
    assert not (await take(engine, "ann")).admitted


async def test_places_past_their_ttl_are_nobodys(engine: StateEngine, clock: FakeClock) -> None:
    await drain(engine, "mallory")
    clock.advance(TTL_MS)

    assert (await take(engine, "ann")).count == 1
    assert (await drain(engine, "ann"))[0] == CAP - NEWCOMERS - 1


async def test_a_member_inside_has_its_place_again_and_nobody_gives_way(engine: StateEngine) -> None:
    await engine.take_share("day", "a", party="ann", ttl_ms=TTL_MS, cap=2, newcomers=0)
    await engine.take_share("day", "b", party="ann", ttl_ms=TTL_MS, cap=2, newcomers=0)

    again = await engine.take_share("day", "a", party="ann", ttl_ms=TTL_MS, cap=2, newcomers=0)
    other = await engine.take_share("day", "c", party="bob", ttl_ms=TTL_MS, cap=2, newcomers=0)

    assert again == Admission(admitted=True, count=2, retry_ms=0)
    assert other == Admission(admitted=False, count=2, retry_ms=TTL_MS)
