"""Long work of many callers: so much of it in one round of the loop, and each party in its turn."""

import asyncio
from dataclasses import dataclass, field

import pytest
from anyio.lowlevel import checkpoint

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.pace import MOST_WOKEN, LoopPace
from support.clock import FakeClock
from support.desk import NETWORK, Loop

CALLERS = 6


@dataclass
class Floor:
    """Callers who each take a step of so many milliseconds, and in which round of the loop each of them did."""

    clock: FakeClock
    pace: LoopPace
    rounds: list[int] = field(default_factory=list[int])
    order: list[str] = field(default_factory=list[str])
    now: int = 0

    async def work(self, step_ms: float, party: str = "") -> None:
        with acting_for(party):
            await self.pace.step()
        self.rounds.append(self.now)
        self.order.append(party)
        self.clock.advance(step_ms)

    async def watch(self, callers: list[asyncio.Task[None]]) -> None:
        while not all(each.done() for each in callers):
            self.now += 1
            await checkpoint()


@pytest.fixture
def floor(clock: FakeClock) -> Floor:
    return Floor(clock, LoopPace(clock.monotonic_ms))


async def test_what_takes_a_whole_round_has_it_alone(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(5)) for _ in range(CALLERS)]

    await floor.watch(callers)

    assert len(floor.rounds) == CALLERS
    assert len({*floor.rounds}) == CALLERS


async def test_what_takes_little_shares_a_round(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(1)) for _ in range(4 * CALLERS)]

    await floor.watch(callers)

    busiest = max(floor.rounds.count(each) for each in floor.rounds)
    assert busiest == 4
    assert len(floor.rounds) == 4 * CALLERS


async def test_a_crowd_that_takes_nothing_is_not_let_go_all_at_once(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(5))]
    callers += [asyncio.create_task(floor.work(0)) for _ in range(10 * MOST_WOKEN)]

    await floor.watch(callers)

    assert max(floor.rounds.count(each) for each in floor.rounds) <= MOST_WOKEN


async def test_each_party_has_its_turn_however_many_steps_another_asks_for(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(5, "greedy")) for _ in range(CALLERS)]
    callers += [asyncio.create_task(floor.work(5, "modest")) for _ in range(2)]

    await floor.watch(callers)

    assert floor.order.count("greedy") == CALLERS
    assert [place for place, party in enumerate(floor.order) if party == "modest"][-1] <= 4


async def test_after_a_long_step_others_have_their_time_first(floor: Floor) -> None:
    others: list[int] = []

    async def chat() -> None:
        for _ in range(8):
            floor.clock.advance(5)
            others.append(len(floor.rounds))
            await checkpoint()

    callers = [asyncio.create_task(floor.work(14)) for _ in range(3)]
    talking = asyncio.create_task(chat())
    await floor.watch([*callers, talking])

    assert others == [1] * 8
    assert len(floor.rounds) == 3


async def test_a_long_step_waits_for_nobody_who_has_nothing_to_do(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(40)) for _ in range(3)]

    await floor.watch(callers)

    assert floor.rounds[-1] < 10


async def test_what_was_begun_is_finished_before_more_is_begun(floor: Floor) -> None:
    begun: list[int] = []
    most = 0

    async def long_work(number: int) -> None:
        nonlocal most
        await floor.work(5)
        begun.append(number)
        most = max(most, len(begun))
        for _ in range(5):
            await floor.pace.step(goes_on=True)
            floor.clock.advance(5)
        begun.remove(number)

    await floor.watch([asyncio.create_task(long_work(number)) for number in range(CALLERS)])

    assert len(floor.rounds) == CALLERS
    assert most <= 2


async def test_whoever_leaves_while_waiting_holds_nobody_up(floor: Floor) -> None:
    callers = [asyncio.create_task(floor.work(5)) for _ in range(CALLERS)]
    await checkpoint()
    callers[2].cancel()

    await floor.watch(callers)

    assert [each.cancelled() for each in callers].count(True) == 1
    assert len(floor.rounds) == CALLERS - 1


async def test_one_caller_alone_does_not_wait(floor: Floor) -> None:
    step = floor.pace.step()

    with pytest.raises(StopIteration):
        step.send(None)


async def test_a_server_counts_what_it_worked_not_what_other_processes_took_meanwhile(clock: FakeClock) -> None:
    settings = read_settings({})
    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(SimulatedExchange(clock))) as app:
        pace = app.market.client.pace
        await pace.step()
        clock.advance(500)  # the machine was busy with something else

        step = pace.step()
        with pytest.raises(StopIteration):
            step.send(None)
