"""What every engine promises about how parties divide the request weight of one address."""

from collections.abc import Sequence

import pytest

from mcp_binance_server.state.engine import CallKind, Grant, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

LIMIT = 6_000
# Of a ceiling of 5,400, with the usual reserves.
PUBLIC, PRIVATE, ORDER = 1_620, 2_700, 1_080
TENTH = PUBLIC // 10
LEAST = 50
START = 29_743_202 * 60_000
MIDDLE = START + 30_000
BEFORE = MIDDLE - 60_000


async def spend(
    engine: StateEngine, party: str, cost: int, *, now_ms: int = MIDDLE, kind: CallKind = "public"
) -> Grant:
    return await engine.acquire_weight("ip", kind, cost, limit=LIMIT, now_ms=now_ms, party=party)


async def drain(
    engine: StateEngine, party: str, *, now_ms: int = MIDDLE, cost: int = 1, kind: CallKind = "public"
) -> tuple[int, Grant]:
    """Spend until that is refused; return what was spent and the refusal."""
    spent = 0
    while grant := await spend(engine, party, cost, now_ms=now_ms, kind=kind):
        spent += cost
    return spent, grant


async def appear(engine: StateEngine, parties: Sequence[str], *, kind: CallKind = "public") -> None:
    """Let parties ask for a little in the minute before."""
    for party in parties:
        assert await spend(engine, party, 1, now_ms=BEFORE, kind=kind)


@pytest.mark.night
async def test_one_who_is_alone_may_spend_all_but_what_a_newcomer_shall_find(engine: StateEngine) -> None:
    spent, refused = await drain(engine, "ann")

    assert spent == PUBLIC - TENTH
    assert (refused.reason, refused.own, refused.share) == ("share", spent, PUBLIC // 2)
    assert refused.used == spent
    assert refused.retry_ms == 31_000


@pytest.mark.night
async def test_who_comes_after_one_has_spent_everything_is_answered(engine: StateEngine) -> None:
    await drain(engine, "mallory")

    assert await spend(engine, "bob", 25)
    assert await spend(engine, "bob", 25)


@pytest.mark.night
async def test_a_greedy_newcomer_leaves_something_to_the_next_ones(engine: StateEngine) -> None:
    await drain(engine, "mallory")

    found = {party: await drain(engine, party) for party in ("bob", "cat", "dan", "eve")}

    assert [spent for spent, _ in found.values()] == [LEAST, LEAST, LEAST, TENTH - 3 * LEAST]
    assert (found["bob"][1].reason, found["bob"][1].share) == ("share", LEAST)
    assert found["eve"][1].reason == "budget"


async def test_those_of_the_minute_before_find_their_shares_whole(engine: StateEngine) -> None:
    await appear(engine, ("mallory", "bob", "cat"))
    hogged, _ = await drain(engine, "mallory")

    share = PUBLIC // 4

    assert hogged == PUBLIC - 2 * share - TENTH
    assert [(await drain(engine, party))[0] >= share for party in ("bob", "cat")] == [True, True]


@pytest.mark.parametrize("modest", [1, 2, 7, 20])
async def test_nobody_within_its_share_is_refused_beside_one_who_takes_all_it_can(
    engine: StateEngine, modest: int
) -> None:
    others = [f"modest {number}" for number in range(modest)]
    await appear(engine, ["mallory", *others])
    await drain(engine, "mallory", cost=5)

    share = PUBLIC // (modest + 2)
    grants = [await spend(engine, party, cost) for party in others for cost in (share // 2, share - share // 2)]

    assert all(grants)


async def test_fifty_modest_callers_are_answered_beside_one_who_takes_all_it_can(engine: StateEngine) -> None:
    others = [f"modest {number}" for number in range(50)]
    await appear(engine, ["mallory", *others])

    hogged, refused = await drain(engine, "mallory", cost=25)
    grants = [await spend(engine, party, PUBLIC // 52) for party in others]

    assert (hogged, refused.share) == (LEAST, LEAST)
    assert all(grants)


async def test_what_others_do_not_need_is_lent(engine: StateEngine) -> None:
    await appear(engine, ("ann", "bob"))
    await spend(engine, "bob", 10)

    spent, _ = await drain(engine, "ann")

    assert spent == PUBLIC - TENTH - PUBLIC // 3
    assert spent > PUBLIC // 3


@pytest.mark.night
async def test_a_share_is_kept_for_a_minute_and_then_lent(engine: StateEngine) -> None:
    await appear(engine, ("ann", "bob"))
    beside_bob, _ = await drain(engine, "ann")

    alone, _ = await drain(engine, "ann", now_ms=MIDDLE + 60_000)

    assert (beside_bob, alone) == (PUBLIC - TENTH - PUBLIC // 3, PUBLIC - TENTH)


@pytest.mark.night
async def test_one_who_was_refused_has_a_share_in_the_next_minute(engine: StateEngine) -> None:
    await drain(engine, "mallory")
    for party in ("bob", "cat", "dan", "eve"):
        await drain(engine, party)
    assert not await spend(engine, "late", 2)

    await drain(engine, "mallory", now_ms=MIDDLE + 60_000)

    assert await spend(engine, "late", PUBLIC // 7, now_ms=MIDDLE + 60_000)


async def test_private_calls_leave_the_shares_of_those_who_read_the_market(engine: StateEngine) -> None:
    await appear(engine, ("reader",))
    hogged, refused = await drain(engine, "mallory", kind="private", cost=20)

    assert refused.reason == "share"
    assert hogged > PRIVATE - PRIVATE // 10 - 20
    assert await spend(engine, "reader", PUBLIC // 2)
    assert await spend(engine, "another reader", LEAST)


async def test_private_calls_are_divided_too_and_no_share_is_less_than_the_dearest_of_them(engine: StateEngine) -> None:
    others = [f"modest {number}" for number in range(50)]
    await appear(engine, ["mallory", *others], kind="private")

    hogged, _ = await drain(engine, "mallory", kind="private", cost=80)
    grants = [await spend(engine, party, PRIVATE // 52, kind="private") for party in others]

    assert hogged == 80
    assert all(grants)


async def test_orders_of_one_leave_the_shares_of_all_others(engine: StateEngine) -> None:
    await appear(engine, ("bob",), kind="order")
    await appear(engine, ("cat",), kind="private")
    await appear(engine, ("dan",))
    await drain(engine, "mallory", kind="order", cost=10)

    assert await spend(engine, "bob", ORDER // 3, kind="order")
    assert await spend(engine, "cat", PRIVATE // 2, kind="private")
    assert await spend(engine, "dan", PUBLIC // 2)


async def test_without_a_party_nothing_is_divided_but_it_counts(engine: StateEngine) -> None:
    await appear(engine, ("ann", "bob"))

    assert await spend(engine, "", PUBLIC // 2)
    spent, _ = await drain(engine, "ann")

    left = PUBLIC - PUBLIC // 2
    assert spent == left - left // 10 - left // 3
    assert await spend(engine, "", left - spent)
    assert (await spend(engine, "bob", 1)).reason == "budget"


async def test_weight_that_the_exchange_reports_makes_every_share_smaller(engine: StateEngine) -> None:
    await appear(engine, ("ann", "bob"))
    # All that private calls and orders have in reserve, and the half of the rest, was spent by another program.
    await engine.report_weight("ip", PUBLIC // 2, minute=MIDDLE // 60_000)

    spent, refused = await drain(engine, "ann")

    assert spent == PUBLIC // 2 - PUBLIC // 20 - PUBLIC // 6
    assert refused.share == PUBLIC // 6
    assert await spend(engine, "bob", PUBLIC // 6)


@pytest.mark.night
@pytest.mark.parametrize(("into_ms", "other_ms"), [(59_500, 60_000 + 30_000), (500, -30_000)])
async def test_within_a_second_of_an_edge_both_minutes_are_divided(
    engine: StateEngine, into_ms: int, other_ms: int
) -> None:
    await appear(engine, ("bob",))
    at_edge, _ = await drain(engine, "mallory", now_ms=START + into_ms)

    for now_ms in (MIDDLE, START + other_ms):
        assert (await spend(engine, "mallory", LEAST, now_ms=now_ms)).reason == "share"
        assert await spend(engine, "bob", LEAST, now_ms=now_ms)
    assert at_edge >= PUBLIC // 3


async def test_one_who_is_met_in_the_later_minute_first_is_counted_once(engine: StateEngine) -> None:
    assert await spend(engine, "ann", 1, now_ms=START + 61_100)
    assert await spend(engine, "ann", 1, now_ms=START + 60_900)

    spent, refused = await drain(engine, "ann", now_ms=START + 90_000)

    assert spent + 2 == PUBLIC - TENTH
    assert refused.share == PUBLIC // 2


@pytest.mark.night
async def test_addresses_and_kinds_of_calls_are_divided_apart(engine: StateEngine) -> None:
    await drain(engine, "ann")

    assert await engine.acquire_weight("another", "public", PUBLIC // 2, limit=LIMIT, now_ms=MIDDLE, party="ann")
    assert await spend(engine, "ann", PRIVATE // 2, kind="private")


async def test_a_thousand_occasional_callers_keep_nobody_from_asking(engine: StateEngine, clock: FakeClock) -> None:
    for number in range(1_000):
        await engine.acquire_weight("ip", "public", 1, limit=LIMIT, now_ms=BEFORE, party=f"occasional {number}")
    clock.advance(60_000)

    assert await spend(engine, "ann", LEAST)
    assert await spend(engine, "occasional 7", LEAST)
    assert (await spend(engine, "ann", 1)).reason == "share"
