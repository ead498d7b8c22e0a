"""Impact: what the fits recover, and what they refuse."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle
from mcp_binance_server.analytics.book.impact import (
    MidTrade,
    amihud,
    illiquidity,
    kyle_lambda,
    paid_spread,
    spread_parts,
)

prices = st.floats(50, 150)


def test_a_known_impact_is_found_under_noise_and_noise_alone_is_not_called_one() -> None:
    chance = random.Random(5)
    volumes = [chance.gauss(0, 10) for _ in range(300)]

    moved = kyle_lambda(volumes, [0.02 * each + chance.gauss(0, 0.1) for each in volumes])
    unmoved = kyle_lambda(volumes, [chance.gauss(0, 0.1) for _ in volumes])

    assert moved.value == pytest.approx(0.02, rel=0.1)
    assert (moved.distinguishable, unmoved.distinguishable) == (True, False)


def test_a_negative_slope_is_no_impact_however_clear() -> None:
    volumes = [float(at) for at in range(30)]

    got = kyle_lambda(volumes, [-each for each in volumes])

    assert got.value == pytest.approx(-1)
    assert not got.distinguishable


def test_a_mid_that_never_moved_explains_nothing() -> None:
    got = kyle_lambda([float(at) for at in range(30)], [0.0] * 30)

    assert (got.value, got.t, got.r_squared, got.distinguishable) == (0, None, None, False)


def test_too_few_seconds_are_no_fit() -> None:
    assert kyle_lambda([1.0, 2.0] * 14, [0.1, 0.2] * 14).why_null == "insufficient_events"
    assert kyle_lambda([1.0, 2.0], [0.1, 0.2], minimum=1).why_null == "insufficient_events"
    assert kyle_lambda([0.1] * 30, [0.1, 0.2] * 15).why_null == "no_flow_variance"


def test_bars_without_volume_do_not_count_towards_the_minimum() -> None:
    assert amihud([0.01] * 20, [1e6] * 20).n == 20
    assert amihud([0.01] * 20, [1e6] * 19 + [0.0]).why_null == "insufficient_bars"
    assert amihud([], [], minimum=0).value is None


@given(prices, st.sampled_from(["buy", "sell"]), prices, prices)
def test_what_a_trade_paid_is_what_its_maker_kept_and_how_far_the_mid_went(
    paid: float, side: str, mid: float, later: float
) -> None:
    parts = spread_parts(paid, "buy" if side == "buy" else "sell", mid, later)

    assert parts.realised is not None
    assert parts.impact is not None
    assert parts.effective == pytest.approx(parts.realised + parts.impact, abs=1e-9)


def test_before_the_horizon_only_the_effective_spread_is_known() -> None:
    parts = spread_parts(99.0, "sell", 100.0, None)

    assert (parts.effective, parts.effective_bps, parts.realised, parts.impact) == (2, 200, None, None)
    assert (parts.why_null, parts.horizon_ms) == ("collecting", 5000)


def test_what_takers_paid_is_the_median_beside_the_quote_and_needs_a_hundred_trades() -> None:
    buys = [MidTrade(100.02, "buy", 100.0, 100.01)] * 60
    sales = [MidTrade(99.97, "sell", 100.0, 100.0 if at % 2 else None) for at in range(80)]

    got = paid_spread([*buys, *sales], [1.0, 3.0, 2.0])

    assert got.effective_bps == pytest.approx(6.0)
    assert (got.quoted_bps, got.n) == (2.0, 140)
    assert got.realised_bps == pytest.approx(2.0)
    assert got.impact_bps == pytest.approx(2.0)
    assert paid_spread(buys, [1.0]).why_null == "insufficient_events"


def test_what_came_after_needs_as_many_trades_that_are_old_enough() -> None:
    fresh = [MidTrade(100.02, "buy", 100.0, None)] * 60 + [MidTrade(100.02, "buy", 100.0, 100.0)] * 99

    got = paid_spread(fresh, [])

    assert got.effective_bps == pytest.approx(4.0)
    assert (got.realised_bps, got.impact_bps, got.quoted_bps) == (None, None, None)


def test_illiquidity_of_the_last_day_is_ranked_among_the_own_days() -> None:
    days = [candle(100, 120, 80, 100 + at % 2, 10, at=at) for at in range(30)]
    last = candle(100, 120, 80, 120, 10, at=30)

    got = illiquidity([*days, last])

    assert got.mean.n == 30
    assert got.rank == 1
    assert got.last_day is not None
    assert got.mean.per_million is not None
    assert got.last_day > got.mean.per_million
    assert illiquidity([*days, candle(100, 120, 80, 120, 0, at=30)]).rank is None
    assert illiquidity(days[:20]).mean.why_null == "insufficient_bars"
    assert illiquidity([]).last_day is None
