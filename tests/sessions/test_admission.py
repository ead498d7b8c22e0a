"""How many may come in: the cap is exact whatever happens at once, and the refused learn when to come back."""

from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from random import Random

import anyio
import pytest

from mcp_binance_server.domain.access import LOCAL, Credentials, Visitor
from mcp_binance_server.sessions.errors import TooManySessions
from mcp_binance_server.sessions.model import Session
from mcp_binance_server.sessions.registry import Registry
from sessions.conftest import ANN, House
from sessions.engines import FarEngine
from support.clock import FakeClock
from support.requirement import requirement
from support.stepped import settled

pytestmark = [pytest.mark.anyio, pytest.mark.flood]

CROWD = 1_000
ROUNDS = 20


@dataclass
class Crowd:
    """Many visitors at once; whenever one got in it is looked how many are inside."""

    house: House
    random: Random
    inside: list[Session[Credentials]] = field(default_factory=list[Session[Credentials]])
    retries: list[int] = field(default_factory=list[int])
    most_inside: int = 0

    async def rush(self, leavers: int = 0) -> int:
        """Let a thousand come while some leave, in any order; return how many got in."""
        opened = self.house.registry.snapshot().opened
        leaving = self.random.sample(self.inside, leavers)
        moves: list[Session[Credentials] | None] = [*leaving, *(None for _ in range(CROWD))]
        self.random.shuffle(moves)
        async with anyio.create_task_group() as tasks:
            for leaver in moves:
                tasks.start_soon(self._move, leaver)
        return self.house.registry.snapshot().opened - opened

    async def _move(self, leaver: Session[Credentials] | None) -> None:
        if leaver is not None:
            self.inside.remove(leaver)
            await self.house.registry.end(leaver)
            return
        try:
            self.inside.append(await self.house.enter())
        except TooManySessions as refusal:
            self.retries.append(refusal.retry_after_secs)
            return
        alive = sum(self.house.is_alive(each) for each in self.inside)
        self.most_inside = max(self.most_inside, alive, await self.house.places())


async def refused(house: House, visitor: Visitor = ANN) -> TooManySessions:
    with pytest.raises(TooManySessions) as caught:
        await house.enter(visitor)
    return caught.value


@requirement("data-model/max-sessions")
async def test_twenty_rushes_of_a_thousand_never_pass_fifty_and_always_fill_them(
    house: House, sized: Callable[[int, int], int]
) -> None:
    crowd = Crowd(house, Random(7))
    rounds = sized(ROUNDS, 4)

    for number in range(rounds):
        inside = len(crowd.inside)
        assert await crowd.rush() == 50 - inside
        leavers = crowd.random.randint(1, 50)
        assert await crowd.rush(leavers) <= leavers
        # Half of them or all are over, and nobody has swept them when the next crowd comes.
        house.clock.advance(20_000)
        crowd.inside = crowd.random.sample(crowd.inside, 25 if number % 2 else 0)
        for session in crowd.inside:
            house.registry.touch(session)
        house.clock.advance(10_000)

    counts = house.registry.snapshot()
    assert crowd.most_inside == 50
    assert (counts.opened + counts.refused, counts.refused) == (2 * CROWD * rounds, len(crowd.retries))
    assert all(1 <= secs <= 30 for secs in crowd.retries)


async def test_the_fifty_first_is_told_when_the_next_place_can_free_and_then_gets_it(house: House) -> None:
    for _ in range(49):
        await house.enter()
    house.clock.advance(10_000)
    await house.enter()
    house.clock.advance(7_500)

    refusal = await refused(house)

    assert (refusal.code, refusal.http_status, refusal.retryable) == (-32000, 503, True)
    assert refusal.data()["reason"] == "too_many_sessions"
    assert refusal.retry_after_secs == refusal.data()["retry_after_secs"] == 13
    assert refusal.message == "Too many open sessions. Please wait 13 seconds before retrying."
    house.clock.advance(13_000)
    await house.enter()
    assert house.registry.snapshot().live == 2


async def test_a_retry_time_is_never_below_a_second_and_follows_the_latest_use(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]

    house.clock.advance(29_999)
    assert (await refused(house)).retry_after_secs == 1
    for session in sessions:
        house.registry.touch(session)
    assert (await refused(house)).retry_after_secs == 30

    with house.registry.in_use(sessions[0]):
        house.clock.advance(29_000)
        for session in sessions[1:]:
            house.registry.touch(session)
        house.clock.advance(5_000)
        assert (await refused(house)).retry_after_secs == 25


async def test_while_every_session_works_the_refused_are_told_how_soon_one_could_idle_out(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]
    with ExitStack() as requests:
        for session in sessions:
            requests.enter_context(house.registry.in_use(session))
        await house.pass_time(25_000)

        assert (await refused(house)).retry_after_secs == 30


async def test_a_stranger_gets_a_share_and_its_neighbour_is_not_shut_out(house: House) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(house.enter, LOCAL)
    house.clock.advance(4_000)

    refusal = await refused(house, LOCAL)

    assert (refusal.reason, refusal.retry_after_secs) == ("too_many_from_you", 26)
    assert refusal.message.startswith("Too many open sessions from you.")
    assert house.engine.calls["admit"] == 10
    await house.enter(LOCAL, remote_addr="192.0.2.2")
    await house.enter(ANN, remote_addr="192.0.2.1")
    house.clock.advance(26_000)
    await house.enter(LOCAL, remote_addr="192.0.2.1")


async def test_a_rush_of_one_stranger_takes_its_share_and_no_more(house: House) -> None:
    async def come() -> None:
        try:
            await house.enter(LOCAL)
        except TooManySessions as refusal:
            assert refusal.reason == "too_many_from_you"  # noqa: PT017 - refused or not is the crowd's business

    for _ in range(3):
        async with anyio.create_task_group() as tasks:
            for _ in range(300):
                tasks.start_soon(come)
        assert house.registry.snapshot().live == await house.places() == 10
        house.clock.advance(30_000)


async def test_a_share_is_not_used_up_by_places_that_were_refused_or_given_back(house: House) -> None:
    for _ in range(25):
        await house.registry.end(await house.enter(LOCAL))
    named = [await house.enter() for _ in range(50)]
    for _ in range(25):
        assert (await refused(house, LOCAL)).reason == "too_many_sessions"
    for session in named:
        await house.registry.end(session)

    for _ in range(10):
        await house.enter(LOCAL)

    assert (await refused(house, LOCAL)).reason == "too_many_from_you"


async def test_several_registries_on_one_engine_share_one_cap(clock: FakeClock) -> None:
    engine = FarEngine(clock)
    async with AsyncExitStack() as stack:
        registries = [await stack.enter_async_context(Registry[Credentials](engine, clock).running()) for _ in range(3)]
        houses = [House(clock, engine, registry) for registry in registries]
        retries: list[int] = []

        async def come(house: House) -> None:
            try:
                await house.enter()
            except TooManySessions as refusal:
                retries.append(refusal.retry_after_secs)

        async with anyio.create_task_group() as tasks:
            for number in range(300):
                tasks.start_soon(come, houses[number % 3])
        live = [registry.snapshot().live for registry in registries]

        assert sum(live) == await engine.members("sessions") == 50
        assert all(live)
        assert len(retries) == 250
        assert all(1 <= secs <= 40 for secs in retries)
        clock.advance(30_000)
        await settled()
        assert await engine.members("sessions") == 0


async def test_who_holds_none_of_the_places_tells_the_refused_what_the_engine_knows(clock: FakeClock) -> None:
    engine = FarEngine(clock)
    async with (
        Registry[Credentials](engine, clock).running() as full,
        Registry[Credentials](engine, clock).running() as r,
    ):
        for _ in range(50):
            await House(clock, engine, full).enter()
        clock.advance(22_000)

        assert (await refused(House(clock, engine, r))).retry_after_secs == 18


async def test_while_a_place_is_being_given_back_the_refused_are_told_to_come_back_soon(house: House) -> None:
    sessions = [await house.enter() for _ in range(50)]
    leaving = house.engine.hold("leave")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.registry.end, sessions[0])
        await settled()
        assert (await refused(house)).retry_after_secs == 1
        leaving.set()

    await house.enter()


async def test_a_registry_has_places_only_while_it_runs(clock: FakeClock) -> None:
    registry = Registry[Credentials](FarEngine(clock), clock)
    house = House(clock, FarEngine(clock), registry)
    await refused(house)

    async with registry.running():
        await house.enter()

    await refused(house)
    assert registry.snapshot().live == 0


async def test_who_is_let_in_while_the_house_closes_is_sent_away_and_holds_no_place(clock: FakeClock) -> None:
    engine = FarEngine(clock, hops=0)
    gate = engine.hold("admitted")
    registry = Registry[Credentials](engine, clock)
    house = House(clock, engine, registry)
    async with anyio.create_task_group() as tasks:
        async with registry.running():
            tasks.start_soon(refused, house)
            await settled()
            assert await house.places() == 1
        gate.set()

    assert await house.places() == 0
    assert registry.snapshot().live == 0


async def test_who_gives_up_while_the_engine_decides_leaves_no_place_and_no_share_behind(house: House) -> None:
    for _ in range(30):
        gate = house.engine.hold("admitted")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(house.enter, LOCAL)
            await settled()
            assert await house.places() == 1
            tasks.cancel_scope.cancel()
        gate.set()

    assert await house.places() == 0
    assert house.registry.snapshot().opened == 0
    for _ in range(10):
        await house.enter(LOCAL)
