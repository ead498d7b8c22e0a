"""Mutants of everything the exchange says, through a running server: what of them stays in memory."""

import pytest

from support.storm import Outcome, storm_of_answers, storm_of_events, storm_of_liquidations

pytestmark = pytest.mark.anyio

EVENTS, ANSWERS, ORDERS = 1_600, 400, 400
# An hour of a symbol fills up while it storms; what grows with mutants grows by far more.
ROOM_MIB = 48


async def test_mutants_of_stream_events_leave_little_behind(scale: int) -> None:
    outcome = Outcome()

    await storm_of_events(EVENTS * scale, outcome)

    assert outcome.resident_mib[-1] - outcome.resident_mib[0] <= ROOM_MIB


async def test_mutants_of_answers_leave_little_behind(scale: int) -> None:
    outcome = Outcome()

    await storm_of_answers(ANSWERS * scale, outcome)

    assert outcome.resident_mib[-1] - outcome.resident_mib[0] <= ROOM_MIB


async def test_mutants_of_liquidations_leave_little_behind(scale: int) -> None:
    outcome = Outcome()

    await storm_of_liquidations(ORDERS * scale, outcome)

    assert outcome.resident_mib[-1] - outcome.resident_mib[0] <= ROOM_MIB
