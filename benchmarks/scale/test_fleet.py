"""The simulated fleet: it uses what rates times costs say, and a part of it is like the whole."""

from dataclasses import replace

import pytest

from scale.fleet import simulate
from scale.round_costs import ROUND
from scale.shape import Shape

WHOLE = Shape(sessions=4_000, processes=8, pause_secs=10, symbols=40)
SECONDS, SETTLE_SECS = 20, 40


def test_every_part_is_used_as_rates_times_costs_say() -> None:
    asked = WHOLE.demand(ROUND)

    seen = simulate(WHOLE, ROUND, seconds=SECONDS, settle_secs=SETTLE_SECS)

    assert seen.process == pytest.approx(asked.process, rel=0.02)
    assert seen.engine == pytest.approx(asked.engine, rel=0.02)
    assert seen.commands_a_second == pytest.approx(asked.commands_a_second, rel=0.02)
    # A session calls, waits for the answer and pauses, so it calls a little less often than its pauses alone would say.
    assert seen.calls_a_second == pytest.approx(asked.calls_a_second, rel=0.02)


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_one_part_of_a_fleet_is_like_the_whole(parts: int) -> None:
    whole = simulate(WHOLE, ROUND, seconds=SECONDS)

    part = simulate(WHOLE.part(parts), ROUND, seconds=SECONDS)

    assert part.process == pytest.approx(whole.process, rel=0.03)
    assert part.engine == pytest.approx(whole.engine, rel=0.03)
    assert part.calls_a_second * parts == pytest.approx(whole.calls_a_second, rel=0.03)
    assert part.p50_ms == pytest.approx(whole.p50_ms, rel=0.1)


def test_the_same_seed_gives_the_same_and_another_one_does_not() -> None:
    once, again, other = (simulate(WHOLE.part(8), ROUND, seed=seed, seconds=5) for seed in (1, 1, 2))

    assert once == again
    assert once != other


def test_what_is_passed_on_costs_what_passing_on_costs() -> None:
    shape = replace(WHOLE, symbols=0)
    here = simulate(shape, ROUND, seconds=SECONDS)

    passed = simulate(replace(shape, passed_on=0.5), ROUND, seconds=SECONDS)

    more = (passed.process - here.process) * shape.processes / passed.calls_a_second * 1_000
    assert more == pytest.approx(0.5 * ROUND.relay_ms, rel=0.1)


def test_the_one_that_leads_works_more_than_those_that_follow() -> None:
    shape = replace(WHOLE, processes=4, is_led_by_one=True)

    leader, *followers = simulate(shape, ROUND, seconds=SECONDS).processes

    followed = 40 * ROUND.followed_symbol_ms / 1_000
    assert leader - sum(followers) / 3 == pytest.approx(0.5 * followed, abs=0.02)


def test_a_machine_that_all_share_lets_calls_wait_and_uses_the_same() -> None:
    shape = replace(WHOLE, sessions=1_500, processes=2, is_beside=True)

    apart, together = (
        simulate(shape, ROUND, seconds=SECONDS),
        simulate(replace(shape, cores=1.0), ROUND, seconds=SECONDS),
    )

    assert together.process == pytest.approx(apart.process, rel=0.03)
    assert together.p50_ms > 1.2 * apart.p50_ms


def test_a_fleet_that_is_asked_for_more_than_it_has_is_full_and_makes_wait() -> None:
    shape = Shape(sessions=7_000, processes=1, pause_secs=10, symbols=0)

    seen = simulate(shape, ROUND, seconds=SECONDS)

    assert shape.demand(ROUND).process > 1.3
    assert seen.process == pytest.approx(1, abs=0.01)
    assert seen.p99_ms > 1_000
