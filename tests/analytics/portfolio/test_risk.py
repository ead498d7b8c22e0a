"""Statistics of returns: losses in the right order, parts that add up, and days that really follow each other."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle, price
from mcp_binance_server.analytics.metric import Window
from mcp_binance_server.analytics.portfolio.risk import (
    DAY_MS,
    align,
    chained,
    correlate,
    covariances,
    daily_closes,
    inverted,
    ordered_closes,
    portfolio_returns,
    risk_contributions,
)
from mcp_binance_server.analytics.portfolio.tail import tail_range, tail_risk

moves = st.floats(-0.5, 0.5, allow_nan=False)


@st.composite
def markets(draw: st.DrawFn) -> tuple[list[float], list[list[float]]]:
    """Draw weights of a few assets and as many series of returns."""
    size = draw(st.integers(1, 5))
    days = draw(st.integers(5, 20))
    returns = [draw(st.lists(moves, min_size=days, max_size=days)) for _ in range(size)]
    raw = draw(st.lists(st.integers(1, 100), min_size=size, max_size=size))
    return [each / sum(raw) for each in raw], returns


@pytest.mark.night
@given(st.lists(moves, min_size=60, max_size=200))
def test_the_mean_of_the_worst_days_is_no_smaller_than_the_least_of_them(returns: list[float]) -> None:
    tail = tail_risk(returns)

    assert tail.var is not None
    assert tail.es is not None
    assert tail.es >= tail.var - 1e-12
    assert tail.k * 20 >= tail.n > (tail.k - 1) * 20


def test_a_market_that_only_rose_has_a_negative_loss() -> None:
    tail = tail_risk([0.01] * 60)

    assert (tail.var, tail.es) == (-0.01, pytest.approx(-0.01))
    assert (tail.level, tail.method) == (95, "historical_ceil_k")


def test_no_days_are_no_tail_whatever_the_minimum() -> None:
    assert tail_risk([], minimum=0).why_null == "insufficient_history"


def calm_then_wild(seed: int) -> list[float]:
    chance = Random(seed)
    return [chance.gauss(0, 0.01 if day < 60 else 0.05) for day in range(89)]


def test_the_same_days_give_the_same_range_around_what_was_read_off_them() -> None:
    returns = calm_then_wild(3)

    found, tail = tail_range(returns), tail_risk(returns)

    assert tail_range(returns) == found
    assert tail.var is not None
    assert tail.es is not None
    assert found.var_low < tail.var < found.var_high
    assert found.es_low < tail.es < found.es_high


def es_width(returns: list[float]) -> float:
    found = tail_range(returns)
    return found.es_high - found.es_low


def test_wild_days_that_came_in_runs_widen_the_range() -> None:
    # Five bad days: in one run they are drawn together or not at all.
    runs = [[-0.05 if first <= day < first + 5 else 0.01 for day in range(89)] for first in (20, 40, 60)]
    mixed = [Random(place).sample(returns, len(returns)) for place, returns in enumerate(runs)]

    widths = [es_width(returns) for returns in runs], [es_width(returns) for returns in mixed]

    assert sum(widths[0]) > 1.2 * sum(widths[1])


@pytest.mark.slow
def test_a_range_holds_the_truth_in_most_markets_whose_days_are_independent() -> None:
    true_var = 0.01 * 1.645
    chance = Random(11)

    found = [tail_range([chance.gauss(0, 0.01) for _ in range(89)]) for _ in range(60)]

    assert sum(each.var_low <= true_var <= each.var_high for each in found) >= 48


def test_days_that_never_differed_have_no_range() -> None:
    found = tail_range([-0.01] * 60)

    assert (found.var_low, found.var_high) == (0.01, 0.01)
    assert (found.es_low, found.es_high) == (pytest.approx(0.01), pytest.approx(0.01))


@pytest.mark.parametrize(("correlation", "effective"), [(0.0, 4.0), (0.8, 1 / 0.85), (1.0, 1.0)])
def test_four_coins_count_as_many_as_move_apart(correlation: float, effective: float) -> None:
    matrix = [[0.0009 if row == column else 0.0009 * correlation for column in range(4)] for row in range(4)]

    assert risk_contributions([0.25] * 4, matrix).effective == pytest.approx(effective)


def test_what_does_not_move_changes_no_count() -> None:
    matrix = [[0.0009, 0.0, 0.0], [0.0, 0.0009, 0.0], [0.0, 0.0, 0.0]]

    assert risk_contributions([0.25, 0.25, 0.5], matrix).effective == pytest.approx(2.0)


@given(markets())
def test_contributions_add_up_to_the_whole(market: tuple[list[float], list[list[float]]]) -> None:
    weights, returns = market

    split = risk_contributions(weights, covariances(returns))

    if split.sigma is None:
        assert split.why_null == "zero_variance"
        return
    assert sum(split.contributions) == pytest.approx(split.sigma)
    assert sum(split.shares) == pytest.approx(1.0)


@given(markets())
def test_the_split_risk_is_the_deviation_of_the_portfolio(market: tuple[list[float], list[list[float]]]) -> None:
    weights, returns = market

    split = risk_contributions(weights, covariances(returns))
    alone = risk_contributions([1.0], covariances([portfolio_returns(weights, returns)]))

    assert (split.sigma or 0.0) == pytest.approx(alone.sigma or 0.0, abs=1e-8)


@given(st.lists(st.tuples(moves, moves), min_size=30, max_size=60))
def test_correlation_is_symmetric_and_bounded(pairs: list[tuple[float, float]]) -> None:
    one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    there, back = correlate(one, other), correlate(other, one)

    assert there.rho == pytest.approx(back.rho)
    assert there.rho is None or -1 <= there.rho <= 1


def test_an_asset_that_moves_twice_as_far_has_a_beta_of_two() -> None:
    reference = [0.01 * (day % 5 - 2) for day in range(40)]

    measured = correlate([2 * each for each in reference], reference)

    assert measured.beta == pytest.approx(2.0)
    assert measured.rho == pytest.approx(1.0)


def test_an_asset_that_stands_still_has_no_correlation_and_a_beta_of_zero() -> None:
    reference = [0.01 * (day % 5 - 2) for day in range(40)]

    still = correlate([0.0] * 40, reference)
    against_nothing = correlate(reference, [0.01] * 40)

    assert (still.rho, still.beta, still.why_null) == (None, 0.0, "zero_variance")
    assert (against_nothing.rho, against_nothing.beta, against_nothing.why_null) == (None, None, "zero_variance")


def test_a_day_that_has_not_ended_has_no_close() -> None:
    days = [candle(1, 1, 1, 10 + at, at=at, span_ms=DAY_MS) for at in range(3)]

    closes = daily_closes(days, until_ms=3 * DAY_MS - 2)

    assert closes == {0: 10, DAY_MS: 11}
    assert ordered_closes(closes) == [10.0, 11.0]


def test_a_route_over_another_asset_multiplies_its_closes_day_by_day() -> None:
    in_btc = {0: price("0.1"), DAY_MS: price("0.2"), 2 * DAY_MS: price("0.3")}
    of_btc = {0: price(100), DAY_MS: price(200)}

    assert chained(in_btc, of_btc) == {0: 10, DAY_MS: 40}
    assert inverted({0: price(5)}) == {0: Decimal("0.2")}


def test_only_days_that_follow_each_other_in_every_history_make_a_return() -> None:
    whole = {day * DAY_MS: price(90 + day) for day in range(10, 16)}
    gapped = {day * DAY_MS: price(100 * 2**day) for day in (10, 11, 13, 14, 15)}

    aligned = align([whole, gapped])

    assert aligned.n == 3
    assert aligned.returns[1] == (1.0, 1.0, 1.0)
    assert aligned.returns[0] == pytest.approx((1 / 100, 1 / 103, 1 / 104))
    assert aligned.coverage == pytest.approx(3 / 5)
    assert aligned.window == Window(10 * DAY_MS, 16 * DAY_MS - 1)


@pytest.mark.parametrize("days", [[], [0], [0, 2]])
def test_without_two_days_in_a_row_there_is_no_return(days: list[int]) -> None:
    aligned = align([{day * DAY_MS: price(1) for day in days}])

    assert (aligned.returns, aligned.n, aligned.coverage, aligned.window) == (((),), 0, 0.0, None)


def test_no_histories_are_no_returns() -> None:
    assert align([]).returns == ()
