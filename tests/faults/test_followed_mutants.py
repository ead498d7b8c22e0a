"""Mutants of what an account is told, all the way: none reaches the journal, which stays the exchange's."""

from pathlib import Path

import msgspec
import pytest

from binance_simulator.streams.user_events import execution_report
from mcp_binance_server.exchange.spot.user_wire import ExecutionReportWire
from support.orders.followed_storm import ReportBreaker, marked_files, storm_of_followed_orders
from support.storm import Outcome
from trading.streamed import streamed_desk

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

MUTANTS = 1_000


async def test_mutants_of_user_events_are_refused_and_the_journal_is_right(scale: int) -> None:
    outcome = Outcome()

    await storm_of_followed_orders(MUTANTS * scale, outcome)

    assert (outcome.seen, outcome.defects) == ([], [])
    assert outcome.events + outcome.answers == MUTANTS * scale
    assert outcome.answers >= 50  # of balances, and of answers to the subscription
    assert outcome.refused >= 0.97 * outcome.events


async def test_a_mark_that_gets_through_would_be_seen(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        await floor.place()
        report = execution_report(floor.exchange.executions.all[-1])
        marked = ReportBreaker(1).marked_report(report | {"X": "PARTIALLY_FILLED"})
        await floor.desk.reported(msgspec.convert(marked, ExecutionReportWire).to_domain())

    assert marked_files(tmp_path)
