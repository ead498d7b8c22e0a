"""Turns at work of which little is done at a time: the parties go round, however much one of them has waiting."""

import asyncio
from collections.abc import Callable

import anyio.lowlevel
import pytest

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.state.fair_turns import KEPT_FREE_MS, FairTurn, FairTurns
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

HOG, ANN, BOB = "hog", "ann", "bob"
Ask = Callable[[str, str], FairTurn]


@pytest.fixture
def turns(clock: FakeClock) -> FairTurns:
    return FairTurns(clock, at_a_time=2, most_waiting=5)


@pytest.fixture
def ask(turns: FairTurns) -> Ask:
    def asked(party: str, name: str) -> FairTurn:
        with acting_for(party):
            return turns.ask(name)

    return asked


def begun(*turns: FairTurn) -> list[str]:
    return [turn.name for turn in turns if turn.begun.is_set()]


async def test_one_party_alone_has_every_turn_in_the_order_of_asking(turns: FairTurns, ask: Ask) -> None:
    asked = [ask(HOG, f"{place}") for place in range(4)]

    first = begun(*asked)
    turns.end(asked[1])

    assert first == ["0", "1"]
    assert begun(*asked) == ["0", "1", "2"]


async def test_the_parties_go_round_whatever_one_of_them_has_waiting(turns: FairTurns, ask: Ask) -> None:
    hog = [ask(HOG, f"hog {place}") for place in range(6)]
    others = [ask(ANN, "ann 0"), ask(ANN, "ann 1"), ask(BOB, "bob 0")]

    order: list[str] = []
    running = hog[:2]
    while running:
        turns.end(running.pop(0))
        new = [turn for turn in (*hog[2:], *others) if turn.begun.is_set() and turn.name not in order]
        order += [turn.name for turn in new]
        running += new

    assert order == ["ann 0", "hog 2", "bob 0", "ann 1", "hog 3", "hog 4", "hog 5"]


async def test_who_asks_now_and_then_begins_at_once(turns: FairTurns, clock: FakeClock, ask: Ask) -> None:
    turns.end(ask(ANN, "before"))
    hog = [ask(HOG, f"hog {place}") for place in range(4)]
    clock.advance(KEPT_FREE_MS - 1)
    turns.end(hog[0])

    ann = ask(ANN, "now")

    assert begun(*hog, ann) == ["hog 0", "hog 1", "now"]


async def test_the_last_turn_is_lent_again_when_nobody_else_asks_any_more(
    turns: FairTurns, clock: FakeClock, ask: Ask
) -> None:
    turns.end(ask(ANN, "before"))
    hog = [ask(HOG, f"hog {place}") for place in range(4)]
    clock.advance(KEPT_FREE_MS)

    turns.end(hog[0])

    assert begun(*hog) == ["hog 0", "hog 1", "hog 2"]


async def test_who_has_more_waiting_gives_way_while_others_ask(turns: FairTurns, ask: Ask) -> None:
    alone = [ask(HOG, f"{place}") for place in range(4)]
    ann = ask(ANN, "hers")
    for turn in alone[:3]:
        turns.end(turn)

    assert [turn.gives_way for turn in alone] == [False, False, True, False]
    assert (ann.begun.is_set(), ann.gives_way) == (True, False)


async def test_a_party_has_so_many_waiting_and_no_more(turns: FairTurns, ask: Ask) -> None:
    running = [ask(HOG, f"{place}") for place in range(7)]

    with acting_for(HOG):
        before = turns.has_room()
        turns.end(running[0])
        after = turns.has_room()

    assert (before, after) == (False, True)
    with acting_for(ANN):
        assert turns.has_room()


async def test_what_does_not_wait_any_longer_takes_no_room(turns: FairTurns, ask: Ask) -> None:
    hog = [ask(HOG, f"{place}") for place in range(7)]
    turns.end(hog[4])

    with acting_for(HOG):
        assert turns.has_room()
        ask(HOG, "one more")
        assert not turns.has_room()


async def test_this_process_itself_may_have_any_number_waiting(turns: FairTurns, ask: Ask) -> None:
    asked = [ask("", f"{place}") for place in range(50)]

    assert turns.has_room()
    assert begun(*asked) == ["0", "1"]


async def test_what_waits_in_a_long_queue_comes_sooner_when_another_joins(turns: FairTurns, ask: Ask) -> None:
    hog = [ask(HOG, f"{place}") for place in range(7)]

    with acting_for(ANN):
        turns.join("6")
        turns.join("6")
        turns.join("0")  # has begun
        turns.join("nobody's")
    turns.end(hog[0])
    turns.end(hog[1])
    turns.end(hog[6])

    assert begun(*hog) == ["0", "1", "2", "6"]


async def test_who_does_not_wait_any_longer_takes_no_turn(turns: FairTurns, ask: Ask) -> None:
    hog = [ask(HOG, f"{place}") for place in range(4)]

    with pytest.raises(TimeoutError):
        await turns.wait(hog[2], 0)
    turns.end(hog[2])
    turns.end(hog[0])

    assert begun(*hog) == ["0", "1", "3"]


async def test_who_is_cancelled_with_a_turn_in_hand_gives_it_back(turns: FairTurns, ask: Ask) -> None:
    first = [ask(HOG, "0"), ask(HOG, "1")]
    second, third = ask(HOG, "2"), ask(HOG, "3")

    waiting = asyncio.create_task(turns.wait(second, 60))
    await anyio.lowlevel.checkpoint()
    turns.end(first[0])
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert second.is_over
    assert begun(third) == ["3"]
