"""The microprice: fitted where the touch is followed by moves, refused where the mid does as well."""

import random

import pytest

from mcp_binance_server.analytics.book.microprice import TouchMoment, fit_microprice

TICK = 0.01


def moments(seed: int, pull: float, seconds: int = 3_600) -> list[TouchMoment]:
    """Return seconds whose mid steps to the side with more size, which lasts a while, the more often it pulls."""
    chance = random.Random(seed)
    rows, mid, lean = list[TouchMoment](), 100.0, 0.5
    for at in range(seconds):
        lean = chance.random() if chance.random() < 0.3 else lean
        rows.append(TouchMoment(at * 1000, mid, lean))
        if chance.random() < 0.3:
            mid += TICK if chance.random() < 0.5 + pull * (lean - 0.5) else -TICK
    return rows


def test_a_touch_that_leads_the_mid_has_a_microprice_on_its_side() -> None:
    got = fit_microprice(moments(1, 2.0), TICK)

    high, low = got.at(100.0, 0.95), got.at(100.0, 0.05)
    assert got.why_null is None
    assert got.n == 3_000
    assert high is not None
    assert low is not None
    assert low < 100.0 < high
    assert abs(high + low - 200.0) < 1e-9  # both sides are counted alike


@pytest.mark.night
@pytest.mark.slow
def test_it_is_seldom_published_where_the_touch_means_nothing_and_mostly_where_it_leads() -> None:
    nothing = [fit_microprice(moments(seed, 0.0), TICK) for seed in range(30)]
    leading = [fit_microprice(moments(seed, 2.0), TICK) for seed in range(20)]

    assert sum(each.why_null is None for each in nothing) <= 5  # one in twenty is due
    assert sum(each.why_null is None for each in leading) >= 10
    assert all(each.at(100.0, 0.9) is None for each in nothing if each.why_null)


def test_too_few_seconds_or_states_are_not_fitted() -> None:
    held = [each._replace(lean=0.5) for each in moments(7, 1.0)]
    torn = [each._replace(time_ms=2 * each.time_ms) for each in moments(7, 1.0)]

    assert fit_microprice(moments(7, 1.0, 700), TICK).why_null == "not_fitted"
    assert fit_microprice([], TICK).why_null == "not_fitted"
    assert fit_microprice(held, TICK).why_null == "not_fitted"
    assert fit_microprice(torn, TICK).why_null == "not_fitted"


def test_a_market_that_stands_still_is_no_gain() -> None:
    rows = moments(7, 1.0)
    still = [*rows[:3_000], *(each._replace(mid=rows[3_000].mid) for each in rows[3_000:])]

    assert fit_microprice(still, TICK).why_null == "no_gain"


def test_a_gap_in_the_last_minutes_leaves_too_little_to_compare() -> None:
    rows = moments(7, 1.0)
    torn = [*rows[:3_000], *(each._replace(time_ms=each.time_ms * 2) for each in rows[3_000:])]

    assert fit_microprice(torn, TICK).why_null == "no_gain"
