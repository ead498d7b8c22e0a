"""Guarantees that must hold for every history, and controls that show the search can find a broken one."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_binance_server.state.engine import CallKind, Lease
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.weight import EDGE_MS, MINUTE_MS, ceiling, charged_minutes
from support.clock import FakeClock

KINDS: tuple[CallKind, ...] = ("order", "private", "public")
pytestmark = pytest.mark.flood  # hundreds of cases each

LIMIT = 100
# A busy machine is not a broken promise.
PATIENT = settings(deadline=None, max_examples=200)


@dataclass(frozen=True)
class Call:
    """One call: when the exchange's clock says it left, how wrong our clock was, how long it travelled."""

    left_ms: int
    clock_error_ms: int
    travel_ms: int
    kind: CallKind
    cost: int


def near_edges() -> st.SearchStrategy[int]:
    offsets = st.one_of(st.integers(min_value=-1500, max_value=1500), st.integers(min_value=0, max_value=MINUTE_MS))
    return st.tuples(st.integers(min_value=1, max_value=3), offsets).map(lambda at: at[0] * MINUTE_MS + at[1])


def histories() -> st.SearchStrategy[list[Call]]:
    calls = st.builds(
        Call,
        left_ms=near_edges(),
        clock_error_ms=st.one_of(st.sampled_from((-700, 700)), st.integers(min_value=-700, max_value=700)),
        travel_ms=st.integers(min_value=0, max_value=300),
        kind=st.sampled_from(KINDS),
        cost=st.integers(min_value=1, max_value=45),
    )
    return st.lists(calls, max_size=60).map(lambda made: sorted(made, key=lambda call: call.left_ms))


def worst_minute(calls: list[Call], *, limit: int, edge_ms: int) -> int:
    """Play a history and return the most weight that arrived in one minute of the exchange."""

    async def play() -> int:
        clock = FakeClock(0)
        engine = MemoryEngine(clock, edge_ms=edge_ms)
        arrived: Counter[int] = Counter()
        for call in calls:
            clock.advance(call.left_ms - clock.monotonic_ms())
            ours = call.left_ms + call.clock_error_ms
            if await engine.acquire_weight("ip", call.kind, call.cost, limit=limit, now_ms=ours):
                arrived[(call.left_ms + call.travel_ms) // MINUTE_MS] += call.cost
        return max(arrived.values(), default=0)

    return asyncio.run(play())


@pytest.mark.night
@PATIENT
@given(histories())
def test_no_minute_of_the_exchange_exceeds_the_ceiling(calls: list[Call]) -> None:
    assert worst_minute(calls, limit=LIMIT, edge_ms=EDGE_MS) <= ceiling(LIMIT)


def test_without_the_edge_guard_a_history_of_that_kind_exceeds_the_ceiling() -> None:
    slow = [
        Call(left_ms=left_ms, clock_error_ms=-700, travel_ms=0, kind="order", cost=45)
        for left_ms in (2 * MINUTE_MS + 100, 2 * MINUTE_MS + 200, 2 * MINUTE_MS + 30_000, 2 * MINUTE_MS + 30_001)
    ]

    assert worst_minute(slow, limit=LIMIT, edge_ms=0) == 2 * ceiling(LIMIT)
    assert worst_minute(slow, limit=LIMIT, edge_ms=EDGE_MS) <= ceiling(LIMIT)


def ten_minutes_of_bursts(clock_error_ms: int) -> list[Call]:
    chance = random.Random(7)
    bursts = [minute * MINUTE_MS + chance.randint(-2_000, 0) for minute in range(1, 11)]
    return [
        Call(
            left_ms=left_ms,
            clock_error_ms=clock_error_ms,
            travel_ms=chance.randint(0, 300),
            kind=chance.choice(KINDS),
            cost=chance.choice((1, 2, 5, 20, 50)),
        )
        for burst in bursts
        for left_ms in sorted(burst + chance.randint(0, 2_000) for _ in range(600))
    ]


def test_ten_minutes_of_bursts_stay_under_the_ceiling_whichever_way_the_clock_is_wrong() -> None:
    for clock_error_ms in (-600, 0, 600):
        assert worst_minute(ten_minutes_of_bursts(clock_error_ms), limit=6000, edge_ms=EDGE_MS) <= 5400


def test_the_same_bursts_without_the_edge_guard_go_over_the_ceiling() -> None:
    for clock_error_ms in (-600, 600):
        assert worst_minute(ten_minutes_of_bursts(clock_error_ms), limit=6000, edge_ms=0) > 5400


@pytest.mark.night
@PATIENT
@given(histories())
def test_calls_within_their_reserve_are_never_refused(calls: list[Call]) -> None:
    async def play() -> None:
        clock = FakeClock(0)
        engine = MemoryEngine(clock)
        spent: Counter[tuple[int, CallKind]] = Counter()
        top = ceiling(LIMIT)
        for call in calls:
            clock.advance(call.left_ms - clock.monotonic_ms())
            minutes = charged_minutes(call.left_ms, EDGE_MS)
            grant = await engine.acquire_weight("ip", call.kind, call.cost, limit=LIMIT, now_ms=call.left_ms)

            order_fits = all(spent[minute, "order"] + call.cost <= top * 20 // 100 for minute in minutes)
            private_fits = all(
                spent[minute, "private"] + call.cost <= top * 50 // 100 and spent[minute, "order"] <= top * 20 // 100
                for minute in minutes
            )
            if (call.kind == "order" and order_fits) or (call.kind == "private" and private_fits):
                assert grant
            if grant:
                spent.update({(minute, call.kind): call.cost for minute in minutes})

    asyncio.run(play())


@pytest.mark.night
@PATIENT
@given(histories())
def test_a_refused_call_finds_the_refusing_minute_over_after_its_wait(calls: list[Call]) -> None:
    async def play() -> None:
        clock = FakeClock(0)
        engine = MemoryEngine(clock)
        for call in calls:
            grant = await engine.acquire_weight("ip", call.kind, call.cost, limit=LIMIT, now_ms=call.left_ms)
            if not grant:
                later = charged_minutes(call.left_ms + grant.retry_ms, EDGE_MS)
                assert len(later) == 1
                assert later[0] <= call.left_ms // MINUTE_MS + 2
                assert grant.used == await engine.read_weight("ip", now_ms=(later[0] - 1) * MINUTE_MS)

    asyncio.run(play())


def test_a_public_flood_leaves_orders_and_private_calls_their_whole_reserve() -> None:
    async def play() -> None:
        engine = MemoryEngine(FakeClock())
        while await engine.acquire_weight("ip", "public", 1, limit=6000, now_ms=30_000):
            pass

        granted = [await engine.acquire_weight("ip", "private", 20, limit=6000, now_ms=30_000) for _ in range(135)]
        granted += [await engine.acquire_weight("ip", "order", 1, limit=6000, now_ms=30_000) for _ in range(1080)]

        assert all(granted)
        assert await engine.read_weight("ip", now_ms=30_000) == 5400

    asyncio.run(play())


Step = tuple[str, str, int]


def steps(*verbs: str) -> st.SearchStrategy[list[Step]]:
    names = st.sampled_from("abcdefgh")
    return st.lists(st.tuples(st.sampled_from(verbs), names, st.integers(min_value=1, max_value=60)), max_size=60)


@pytest.mark.night
@PATIENT
@given(steps("admit", "admit", "touch", "leave", "wait"), st.integers(min_value=0, max_value=5))
def test_the_cap_is_exact_in_every_history_of_coming_and_going(history: list[Step], cap: int) -> None:
    async def play() -> None:
        clock = FakeClock()
        engine = MemoryEngine(clock)
        inside: dict[str, float] = {}
        for verb, member, ms in history:
            now = clock.monotonic_ms()
            inside = {name: deadline for name, deadline in inside.items() if deadline > now}
            if verb == "admit":
                admission = await engine.admit("p", member, ttl_ms=ms, cap=cap)
                assert admission.admitted == (member in inside or len(inside) < cap)
                if admission.admitted:
                    inside[member] = now + ms
                else:
                    assert admission.retry_ms == min(inside.values(), default=now + ms) - now
                assert admission.count == len(inside)
            elif verb == "touch":
                assert await engine.touch("p", member, ttl_ms=ms) == (member in inside)
                if member in inside:
                    inside[member] = now + ms
            elif verb == "leave":
                await engine.leave("p", member)
                inside.pop(member, None)
            else:
                clock.advance(ms)
                inside = {name: deadline for name, deadline in inside.items() if deadline > now + ms}
            assert await engine.members("p") == len(inside) <= cap

    asyncio.run(play())


Move = tuple[str, str, int]


@pytest.mark.night
@PATIENT
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("come", "come", "come", "leave", "wait")), st.sampled_from("vwxyz"), st.integers(1, 40)
        ),
        max_size=80,
    ),
    st.integers(1, 9),
)
def test_no_party_below_its_share_is_refused_a_place_in_any_history(history: list[Move], cap: int) -> None:
    async def play() -> None:
        clock = FakeClock()
        engine = MemoryEngine(clock)
        inside: dict[str, tuple[str, float]] = {}
        for number, (verb, party, ms) in enumerate(history):
            if verb == "wait":
                clock.advance(ms)
            now = clock.monotonic_ms()
            inside = {member: place for member, place in inside.items() if place[1] > now}
            held = Counter(place[0] for place in inside.values())
            if verb == "come":
                admission = await engine.admit("p", f"m{number}", ttl_ms=ms, cap=cap, party=party)
                assert admission.admitted or held[party] >= cap // len({*held, party})
                if admission.evicted:
                    assert held[inside.pop(admission.evicted)[0]] >= held[party] + 2
                if admission.admitted:
                    inside[f"m{number}"] = (party, now + ms)
            elif verb == "leave" and held[party]:
                gone = next(member for member, place in inside.items() if place[0] == party)
                await engine.leave("p", gone)
                del inside[gone]
            assert await engine.members("p") == len(inside) <= cap

    asyncio.run(play())


@PATIENT
@given(steps("lease", "lease", "release", "wait"))
def test_a_lease_has_one_live_owner_and_its_tokens_strictly_rise(history: list[Step]) -> None:
    async def play() -> None:
        clock = FakeClock()
        engine = MemoryEngine(clock)
        live: tuple[Lease, float] | None = None
        given_out: dict[str, Lease] = {}
        newest = 0
        for verb, owner, ms in history:
            now = clock.monotonic_ms()
            if live is not None and live[1] <= now:
                live = None
            if verb == "lease":
                lease = await engine.lease("books", owner, ttl_ms=ms)
                assert (lease is not None) == (live is None or live[0].owner == owner)
                if lease is None:
                    continue
                assert int(lease.token) == newest if live is not None else int(lease.token) > newest
                newest = int(lease.token)
                live = (lease, now + ms)
                given_out[owner] = lease
            elif verb == "release" and owner in given_out:
                holds = live is not None and live[0].token == given_out[owner].token
                assert await engine.release(given_out[owner]) == holds
                live = None if holds else live
            elif verb == "wait":
                clock.advance(ms)

    asyncio.run(play())
