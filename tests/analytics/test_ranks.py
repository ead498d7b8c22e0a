"""Percentiles by mid-rank, silent below thirty, and quartiles as the statistics module has them."""

from bisect import bisect_left, bisect_right
from decimal import Decimal
from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.ranks import LEAST_RANKED, mid_rank, percentile_of, quartiles

tenths = st.decimals(min_value=-5, max_value=5, places=1)
pasts = st.dictionaries(st.integers(0, 10**9), tenths, min_size=LEAST_RANKED, max_size=80)
floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


def test_a_value_in_the_middle_of_its_past_is_at_fifty_and_equal_ones_count_half() -> None:
    past = {at: Decimal(at % 4) for at in range(40)}

    assert percentile_of(Decimal("1.5"), past).value == 50.0
    assert percentile_of(Decimal(0), past).value == 12.5
    assert percentile_of(Decimal(9), past).value == 100.0
    assert percentile_of(Decimal(-1), past).value == 0.0


def test_a_percentile_says_how_many_rows_it_stands_on_and_from_when_to_when() -> None:
    past = {at: Decimal(at) for at in (*range(500, 529), 7)}

    got = percentile_of(Decimal(512), past)

    assert (got.n, got.from_ms, got.to_ms) == (30, 7, 528)
    assert got.value == 100 * 13.5 / 30


def test_below_thirty_rows_there_is_no_percentile_but_their_number() -> None:
    past = {at: Decimal(at) for at in range(29)}

    assert percentile_of(Decimal(3), past).value is None
    assert percentile_of(Decimal(3), past).n == 29
    assert percentile_of(Decimal(3), {**past, 29: Decimal(29)}).value is not None


def test_without_a_value_only_the_past_is_told() -> None:
    got = percentile_of(None, {at: Decimal(at) for at in range(40)})

    assert (got.value, got.n, got.from_ms, got.to_ms) == (None, 40, 0, 39)
    assert percentile_of(None, {}) == percentile_of(Decimal(1), {})


@pytest.mark.night
@given(tenths, pasts)
def test_a_rank_is_the_middle_of_its_two_places_in_the_sorted_past(value: Decimal, past: dict[int, Decimal]) -> None:
    ordered = sorted(past.values())
    places = bisect_left(ordered, value) + bisect_right(ordered, value)

    got = percentile_of(value, past)

    assert got.value == pytest.approx(50 * places / len(ordered), abs=1e-9)
    assert 0 <= mid_rank(value, ordered) <= 100


@pytest.mark.night
@given(tenths, tenths, pasts)
def test_a_higher_value_never_ranks_lower(one: Decimal, other: Decimal, past: dict[int, Decimal]) -> None:
    low, high = (percentile_of(each, past).value for each in sorted((one, other)))

    assert low is not None
    assert high is not None
    assert low <= high


@given(st.lists(floats, min_size=2, max_size=60))
def test_quartiles_agree_with_the_statistics_module(values: list[float]) -> None:
    got = quartiles(values)

    expected = quantiles(values, n=4, method="inclusive")
    reach = max(map(abs, values))
    assert [got.lower, got.median, got.upper] == pytest.approx(expected, rel=1e-9, abs=1e-12 * reach + 1e-12)
    assert got.n == len(values)


def test_quartiles_of_one_value_are_that_value_and_of_none_there_are_none() -> None:
    one, nothing = quartiles([3.0, None, float("nan")]), quartiles([None])

    assert (one.lower, one.median, one.upper, one.n) == (3.0, 3.0, 3.0, 1)
    assert (nothing.lower, nothing.median, nothing.upper, nothing.n) == (None, None, None, 0)
