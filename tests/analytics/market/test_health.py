"""Health: one dead component sinks the score, and no data is Unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.market.microstructure import (
    DepthSample,
    HealthState,
    Recoveries,
    balance_score,
    count_recoveries,
    depth_score,
    health,
    health_level,
    resilience_score,
    spread_score,
)
from mcp_binance_server.analytics.thresholds import Component

NAMES: tuple[Component, ...] = ("spread", "depth", "balance", "resilience", "freshness")
shares = st.floats(0, 1)


def side(*depths: float, apart_ms: int = 500) -> list[DepthSample]:
    return [DepthSample(at * apart_ms, depth) for at, depth in enumerate(depths)]


@given(st.lists(st.none() | shares, min_size=5, max_size=5))
def test_a_score_lies_between_its_worst_and_best_component(scores: list[float | None]) -> None:
    components = dict(zip(NAMES, scores, strict=True))

    got = health(components)

    known = [max(each, 0.001) for each in scores if each is not None]
    if got.score is None:
        assert (got.level, got.why_null) == ("Unknown", "insufficient_components")
        assert got.available_weight < 0.6
    else:
        assert 100 * min(known) * (1 - 1e-9) <= got.score <= 100 * max(known) * (1 + 1e-9)
    assert set(got.missing) == {name for name in NAMES if components[name] is None}


@given(st.lists(shares, min_size=5, max_size=5), st.integers(0, 4), shares)
def test_a_better_component_never_lowers_the_score(scores: list[float], at: int, better: float) -> None:
    raised = [max(each, better) if row == at else each for row, each in enumerate(scores)]

    before, after = (health(dict(zip(NAMES, each, strict=True))).score for each in (scores, raised))

    assert before is not None
    assert after is not None
    assert after >= before - 1e-9


@pytest.mark.parametrize(
    ("state", "why"), [("stale", "stale_book"), ("crossed", "crossed_book"), ("one_sided", "one_sided_book")]
)
def test_a_broken_book_has_no_score_however_good_its_parts(state: HealthState, why: str) -> None:
    got = health(dict.fromkeys(NAMES, 1.0), state)

    assert (got.score, got.level, got.why_null) == (None, "Unknown", why)


def test_a_locked_book_has_a_score() -> None:
    assert health(dict.fromkeys(NAMES, 1.0), "locked").score == pytest.approx(100)


@pytest.mark.parametrize(
    ("score", "word"),
    [(80, "Excellent"), (60, "Good"), (40, "Fair"), (20, "Poor"), (19.9, "Critical"), (0, "Critical")],
)
def test_an_edge_belongs_to_the_level_above(score: float, word: str) -> None:
    assert health_level(score) == word


def test_a_component_without_a_usual_value_is_missing() -> None:
    assert spread_score(1.0, None) is None
    assert spread_score(0.0, 1.0) == 1
    assert depth_score(5.0, None) is depth_score(5.0, 0.0) is None
    assert balance_score(None) is None
    assert resilience_score(Recoveries(2, 3)) == pytest.approx(2 / 3)


def test_a_loss_made_good_within_five_seconds_is_a_recovery() -> None:
    assert count_recoveries(side(100, 60, 80, 95)) == (1, 1)
    assert count_recoveries(side(100, 60, 95, 100, 60, 95, 100, 69, 91)) == (3, 3)


def test_a_loss_that_stays_is_counted_once_and_only_when_its_time_is_over() -> None:
    stays = side(100, *[60] * 12)

    assert count_recoveries(stays) == (0, 1)
    assert count_recoveries(stays[:8]) == (0, 0)


def test_a_slow_decline_and_an_empty_side_are_no_depletions() -> None:
    assert count_recoveries(side(*[100 * 0.9**at for at in range(20)])) == (0, 0)
    assert count_recoveries(side(0, 0, 0)) == (0, 0)
    assert count_recoveries([]) == (0, 0)
