"""What is spent without the state server never passes the limit, whatever becomes of a fleet; and faults that pass it.

Proof. The server promises weight of a minute by the minute's number, and counts in one hash what it has promised of it.
(1) One memory: a promise is what the sum lacks to nine hundredths of the limit, at most; so the sum never passes them.
(2) Another memory, or a hash that was dropped: nobody knows what was promised, but by whom and when. A process asks for
its own minute and the ten after it, so nothing after minute + 10 was; clocks that differ over an edge make it one more.
None of those minutes is promised again. (3) A process charges a call to its promises of every minute in which the
exchange may count it, as the engine does: what arrives in a minute is within the promises of that minute. So the local
parts are at most nine hundredths and the engine's at most nine tenths of every minute; a hundredth is left for what
nobody books. No clock but the exchange's is in this, and no belief about how many processes there are.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from mcp_binance_server.state.redis import local_budget
from mcp_binance_server.state.redis.keys import LOCAL_BUDGET, Script
from mcp_binance_server.state.weight import EDGE_MS, most_for_one, spare
from support.local_spending import LIMIT, History
from support.state_server import StateServer

pytestmark = pytest.mark.flood  # thousands of steps

HISTORIES = 30
Played = Callable[..., Iterator[History]]


@pytest.fixture
def played(held: tuple[StateServer, Path]) -> Played:
    def play(*, edge_ms: int = EDGE_MS) -> Iterator[History]:
        server, shown = held
        for seed in range(HISTORIES):
            history = History(server, shown, seed, edge_ms)
            asyncio.run(history.play())
            yield history

    return play


def plant(monkeypatch: pytest.MonkeyPatch, text: str, fault: str) -> None:
    assert text in LOCAL_BUDGET.text
    monkeypatch.setattr(local_budget, "LOCAL_BUDGET", Script.of(LOCAL_BUDGET.text.replace(text, fault)))


def is_passed(histories: Iterable[History]) -> bool:
    """Tell whether all processes together spend more locally than they may, in any minute of any history."""
    return any(max(each.local.values(), default=0) > spare(LIMIT) for each in histories)


def test_no_minute_passes_the_limit_and_no_local_part_its_bound(played: Played) -> None:
    histories = [*played()]

    assert not is_passed(histories)
    assert max(max(each.local_of.values(), default=0) for each in histories) <= most_for_one(LIMIT)
    assert sum(each.spent_while_stopped for each in histories) == 0
    whole = [max(each.arrived.values()) for each in histories if not each.clock_steps]
    assert max(whole) <= LIMIT
    # All this is about something.
    assert max(whole) > 0.95 * LIMIT
    assert max(max(each.local.values(), default=0) for each in histories) > 0.95 * spare(LIMIT)
    assert sum(bool(each.local) for each in histories) > HISTORIES / 2
    assert all(each.refused for each in histories)


@pytest.mark.night
def test_processes_that_believe_they_are_alone_pass_the_bound(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "tonumber(told[field] or '0')", "0")

    assert is_passed(played())


def test_a_memory_that_promises_again_what_a_lost_one_may_have_promised_passes_the_bound(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "minute + ahead + 1", "0")

    assert is_passed(played())


def test_without_the_edge_guard_the_bound_is_passed(played: Played) -> None:
    assert is_passed(played(edge_ms=0))
