"""The file of costs: whole, and every number says where it comes from."""

import json

import pytest

from scale.costs import FILE, PACE_MS, load_costs
from scale.crews import four_on_four, four_on_two, taking_turns
from scale.round_costs import ROUND


def test_every_cost_is_measured_by_a_command_on_a_day_or_assumed_for_a_reason() -> None:
    told = json.loads(FILE.read_text(encoding="utf-8"))

    for name, each in told.items():
        assert ("by" in each and "on" in each) != ("assumed" in each), name
        assert each["unit"], name


def test_the_file_has_all_that_is_needed_and_nothing_else() -> None:
    costs = load_costs()

    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(costs.__slots__)


def test_a_slower_machine_makes_all_work_dearer_and_nothing_more_frequent() -> None:
    slow = ROUND.at_pace(2 * PACE_MS)

    assert slow.call_ms == 2 * ROUND.call_ms
    assert slow.engine_command_us == ROUND.engine_command_us
    assert (slow.call_commands, slow.pause_secs) == (ROUND.call_commands, ROUND.pause_secs)


def test_kinds_of_calls_differ_as_measured_and_cost_the_measured_mean() -> None:
    kinds = [ROUND.kind_ms(place) for place in range(3)]

    assert sum(kinds) / 3 == pytest.approx(ROUND.call_ms)
    assert kinds[2] / kinds[0] == pytest.approx(3)


def test_four_on_four_cores_take_turns_like_two_on_two() -> None:
    told = four_on_four(ROUND)

    assert taking_turns(ROUND) == pytest.approx((1.1, 1.5 / 1.1))
    assert told.own_ms == pytest.approx(1.21)
    assert told.calls_a_second == pytest.approx(4_000 / 1.21)
    assert told.any_ms == pytest.approx(1.21 + 0.75 * ROUND.relay_ms)


def test_each_worker_more_asks_the_engine_for_as_much_more_as_the_second_did() -> None:
    told = four_on_two(ROUND)

    assert told.own_ms == pytest.approx(1.5)
    assert told.commands_a_second == pytest.approx(50 + 3 * 50)
