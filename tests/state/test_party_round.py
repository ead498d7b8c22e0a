"""Turns that go round: a party with much to do does not hold up another, and nobody's turn is lost."""

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.state.party_round import PartyRound

pytestmark = pytest.mark.anyio


async def work(turns: PartyRound, party: str, done: list[str]) -> None:
    with acting_for(party):
        async with turns.turn():
            await anyio.lowlevel.checkpoint()
            done.append(party)


async def test_one_that_comes_later_is_next_whatever_another_has_waiting() -> None:
    turns, done = PartyRound(), list[str]()
    async with anyio.create_task_group() as tasks:
        for _ in range(200):
            tasks.start_soon(work, turns, "busy", done)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(work, turns, "modest", done)
        tasks.start_soon(work, turns, "other", done)

    assert len(done) == 202
    assert {done.index("modest"), done.index("other")} <= set(range(1, 6))


async def test_only_one_has_a_turn_at_a_time() -> None:
    turns, inside, most = PartyRound(), 0, 0

    async def enter(party: str) -> None:
        nonlocal inside, most
        with acting_for(party):
            async with turns.turn():
                inside += 1
                most = max(most, inside)
                await anyio.lowlevel.checkpoint()
                inside -= 1

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(enter, str(number % 4))

    assert most == 1


@pytest.mark.parametrize("steps", range(6))
async def test_who_leaves_while_waiting_loses_nobodys_turn(steps: int) -> None:
    turns, done = PartyRound(), list[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, turns, "first", done)
        await anyio.lowlevel.checkpoint()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(work, turns, "leaves", done)
                leaving.start_soon(work, turns, "leaves", done)
                tasks.start_soon(work, turns, "last", done)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

    assert done[0] == "first"
    assert "last" in done
    await work(turns, "again", done)
    assert done[-1] == "again"
