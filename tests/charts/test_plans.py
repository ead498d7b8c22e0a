"""Plans: the table, which plan a refusal speaks of, and how long that is remembered."""

import pytest

from charts.configs import CATALOGUE
from mcp_binance_server.charts.chartimg.plan_memory import KEPT_MS, PlanMemory
from mcp_binance_server.charts.plans import PLANS, Usage, plan_of_limits
from support.clock import FakeClock

USUAL = (1200, 675)


def test_the_table_is_the_documentation_s() -> None:
    assert dict(CATALOGUE.plans) == dict(PLANS)
    assert list(PLANS) == ["BASIC", "PRO", "MEGA", "ULTRA", "ENTERPRISE"]


@pytest.mark.parametrize(
    ("width", "height", "parameters", "name"),
    [
        (800, 600, None, "BASIC"),
        (1920, 1080, None, "PRO"),
        (1920, 1600, None, "MEGA"),
        (2048, 1920, None, "ULTRA"),
        (2048, 1920, 50, "ENTERPRISE"),
        (None, None, 3, "BASIC"),
        (None, None, 5, "PRO"),
        (None, None, 10, "MEGA"),
        (None, None, 25, "ULTRA"),
        (None, None, 50, "ENTERPRISE"),
    ],
)
def test_limits_name_their_plan(width: int | None, height: int | None, parameters: int | None, name: str) -> None:
    assert plan_of_limits(width, height, parameters=parameters) is PLANS[name]


def test_unknown_limits_make_a_plan_of_their_own() -> None:
    custom = plan_of_limits(1000, 900, known=PLANS["MEGA"])

    assert custom.name == "CUSTOM"
    assert (custom.max_resolution, custom.max_studies) == ("1000x900", 10)
    assert plan_of_limits(parameters=7).max_studies == 7


@pytest.mark.parametrize(
    ("name", "size"), [("BASIC", (800, 450)), ("PRO", USUAL), ("MEGA", USUAL), ("ULTRA", USUAL), ("ENTERPRISE", USUAL)]
)
def test_the_default_size_is_the_largest_wide_picture_the_plan_draws(name: str, size: tuple[int, int]) -> None:
    assert PLANS[name].default_size(USUAL) == size


def test_without_a_word_of_it_the_cheapest_plan_is_assumed(clock: FakeClock) -> None:
    current = PlanMemory(clock).current()

    assert (current.plan, current.source) == (PLANS["BASIC"], "assumed")


def test_a_refusal_teaches_the_plan_for_a_day(clock: FakeClock) -> None:
    memory = PlanMemory(clock, PLANS["MEGA"])
    before = memory.current()

    assert memory.learn("Exceed Max Usage Resolution Limit (1920x1080)")
    learned = memory.current()
    clock.advance(KEPT_MS)
    after = memory.current()

    assert (before.plan.name, before.source) == ("MEGA", "configured")
    assert (learned.plan.name, learned.source) == ("PRO", "learned")
    assert after == before


def test_two_refusals_add_up(clock: FakeClock) -> None:
    memory = PlanMemory(clock)

    assert memory.learn("Exceed Max Usage Resolution Limit (2048x1920)")
    assert memory.learn("Exceed Max Usage Parameter Limit (50)")

    assert memory.current().plan is PLANS["ENTERPRISE"]


def test_a_chart_that_was_drawn_teaches_what_the_plan_allows_at_least(clock: FakeClock) -> None:
    memory = PlanMemory(clock)
    memory.learn_drawn(Usage(800, 600, 3, 0))
    small = memory.current()

    memory.learn_drawn(Usage(1200, 675, 2, 2))
    memory.learn_drawn(Usage(800, 600, 0, 5))
    larger = memory.current()
    clock.advance(KEPT_MS)

    assert (small.plan.name, small.source, small.default_size) == ("BASIC", "assumed", USUAL)
    assert (larger.plan.name, larger.source, larger.binds) == ("PRO", "learned", False)
    assert memory.current() == small


def test_what_was_drawn_beats_an_older_refusal_and_a_newer_refusal_beats_it(clock: FakeClock) -> None:
    memory = PlanMemory(clock, PLANS["BASIC"])
    refusal = "Exceed Max Usage Resolution Limit (800x600)"
    memory.learn(refusal)
    memory.learn_drawn(Usage(1920, 1600, 0, 0))
    upgraded = memory.current()

    memory.learn(refusal)

    assert (upgraded.plan.name, upgraded.source) == ("MEGA", "learned")
    assert (memory.current().plan.name, memory.current().binds) == ("BASIC", True)


def test_without_a_key_no_plan_binds(clock: FakeClock) -> None:
    current = PlanMemory(clock, PLANS["BASIC"], has_key=False).current()

    assert (current.source, current.binds, current.default_size, current.limit) == ("configured", False, USUAL, None)


@pytest.mark.parametrize("text", ["Forbidden", "", "Resolution Limit (x)", "Parameter Limit (99999999)"])
def test_a_refusal_without_numbers_teaches_nothing(text: str, clock: FakeClock) -> None:
    memory = PlanMemory(clock)

    assert not memory.learn(text)
    assert memory.current().source == "assumed"
