"""Turns of a party that has work in several processes: about one at a time in all of them, while others ask."""

from collections.abc import Sequence

import pytest

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.state.fair_turns import KEPT_FREE_MS, LONGEST_REST_MS, FairTurn, FairTurns
from mcp_binance_server.state.shared_use import FORGETS_MS, MOST_NAMED, TELLS_MS, PartyUse
from support.clock import FakeClock
from support.told_use import Told, telling_each_other

pytestmark = pytest.mark.anyio

HOG, ANN = "hog", "ann"
DRAWN_MS, STEP_MS = 150.0, 25.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def ask(turns: FairTurns, party: str, name: str) -> FairTurn:
    with acting_for(party):
        return turns.ask(name)


async def drawn(processes: Sequence[FairTurns], told: Told, seconds: float) -> float:
    """Let the hog have ten pictures wait everywhere; return how many are drawn at a time on average, after a second."""
    asked = {each: [ask(each, HOG, f"first {number}") for number in range(10)] for each in processes}
    at_work: list[int] = []
    for step in range(int(1000 * (1 + seconds) / STEP_MS)):
        for each, turns in asked.items():
            for turn in [turn for turn in turns if turn.begun.is_set()]:
                if told.clock.monotonic_ms() - turn.begun_ms >= DRAWN_MS:
                    turns.remove(turn)
                    turns.append(ask(each, HOG, f"{step} {turn.name}"))
                    each.end(turn)
        at_work.append(sum(turn.begun.is_set() for turns in asked.values() for turn in turns))
        await told.pass_ms(STEP_MS)
    counted = at_work[int(1000 / STEP_MS) :]
    return sum(counted) / len(counted)


@pytest.mark.parametrize("count", [2, 4])
async def test_beside_others_a_party_has_about_one_at_a_time_in_all_processes(count: int, clock: FakeClock) -> None:
    processes = [FairTurns(clock, at_a_time=2) for _ in range(count)]
    async with telling_each_other(clock, processes) as told:
        processes[0].end(ask(processes[0], ANN, "hers"))
        await told.pass_ms()

        mean = await drawn(processes, told, 15)

    assert 0.5 < mean <= 1.1


async def test_alone_in_the_fleet_a_party_has_every_turn_there_is(clock: FakeClock) -> None:
    processes = [FairTurns(clock, at_a_time=2) for _ in range(4)]
    async with telling_each_other(clock, processes) as told:
        mean = await drawn(processes, told, 10)

    assert mean == 8


async def test_a_party_with_work_in_one_process_never_rests(clock: FakeClock) -> None:
    processes = [FairTurns(clock, at_a_time=2) for _ in range(2)]
    async with telling_each_other(clock, processes) as told:
        processes[1].end(ask(processes[1], ANN, "hers"))
        await told.pass_ms()

        mean = await drawn(processes[:1], told, 10)

    assert mean == 1  # the other turn is kept free for whoever asks elsewhere, and may ask here next


async def test_who_asks_now_and_then_begins_at_once_in_every_process(clock: FakeClock) -> None:
    processes = [FairTurns(clock, at_a_time=2) for _ in range(4)]
    async with telling_each_other(clock, processes) as told:
        processes[0].end(ask(processes[0], ANN, "before"))
        await told.pass_ms()
        await drawn(processes, told, 2)

        hers = [ask(each, ANN, "now") for each in processes]

    assert all(turn.begun.is_set() for turn in hers)
    assert not any(turn.gives_way for turn in hers[:1])


async def test_a_process_that_is_gone_holds_up_nobody(clock: FakeClock) -> None:
    here, gone = FairTurns(clock, at_a_time=2), FairTurns(clock, at_a_time=2)
    gone_use = PartyUse([HOG], {HOG: 1.0})
    here.elsewhere.told["gone"] = gone_use
    here.end(ask(here, ANN, "hers"))
    first, second = ask(here, HOG, "0"), ask(here, HOG, "1")
    clock.advance(60 * DRAWN_MS)
    here.end(first)
    assert not second.begun.is_set()

    del here.elsewhere.told["gone"]
    here.elsewhere.look_again()

    assert second.begun.is_set()
    assert gone.used_here() == PartyUse([], {})


async def test_a_rest_has_an_end_however_long_the_work_took(clock: FakeClock) -> None:
    here = FairTurns(clock, at_a_time=2)
    here.elsewhere.told["other"] = PartyUse([HOG, ANN], {HOG: 1.0})
    first, second = ask(here, HOG, "0"), ask(here, HOG, "1")
    clock.advance(20_000)
    here.end(first)
    assert not second.begun.is_set()

    clock.advance(LONGEST_REST_MS)
    here.elsewhere.look_again()

    assert second.begun.is_set()
    assert second.gives_way


async def test_what_is_told_names_who_asked_last_and_who_has_work_but_not_this_process(clock: FakeClock) -> None:
    turns = FairTurns(clock, at_a_time=1)
    for party in ("", ANN, HOG, "bob", HOG):
        ask(turns, party, f"of {party} at {clock.monotonic_ms()}")
        clock.advance(1)

    told = turns.used_here()
    clock.advance(KEPT_FREE_MS)

    assert told.asked == ["bob", HOG]
    assert len(told.asked) == MOST_NAMED
    assert dict(told.used) == {HOG: 2, ANN: 1, "bob": 1}
    assert turns.used_here().asked == []


async def test_told_use_is_forgotten_by_the_time_a_rest_can_end() -> None:
    assert FORGETS_MS + TELLS_MS < LONGEST_REST_MS
