"""Open interest between hourly stamps: by their time, never by their place."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.perpetuals import NOW_MS, THIS_HOUR, interest_hours, open_interest, premium
from analytics.samples import HOUR_MS, quantity
from mcp_binance_server.analytics.derivatives.hourly import STALE_MS, by_hour
from mcp_binance_server.analytics.derivatives.interest import InterestReport, daily_changes, interest_report
from mcp_binance_server.analytics.market.scan.columns import interest_columns
from mcp_binance_server.domain.derivatives import InterestPoint

ROWS = 200
drawn = Random(3)
LEVELS = [Decimal(drawn.randrange(10_000, 20_000)) / 10 for _ in range(ROWS)]


def report(points: list[InterestPoint], now_ms: int = NOW_MS) -> InterestReport:
    return interest_report(open_interest(), premium(mark=2), points, now_ms)


def test_changes_are_those_between_the_newest_stamp_and_the_one_so_many_hours_before() -> None:
    got = report(interest_hours(LEVELS, worth=3))

    for change, back in ((got.change_1h, 1), (got.change_24h, 24), (got.change_7d, 168)):
        before = LEVELS[-1 - back]
        assert change.hours == back
        assert change.contracts == LEVELS[-1] - before
        assert change.contracts_percent == 100 * (LEVELS[-1] - before) / before
        assert change.value == 3 * (LEVELS[-1] - before)
        assert change.value_percent == pytest.approx(change.contracts_percent)
    assert got.stamp_ms == THIS_HOUR * HOUR_MS


def test_value_is_contracts_times_mark_and_both_times_are_told() -> None:
    got = interest_report(open_interest(1_000), premium(mark="151.2"), [], NOW_MS)

    assert (got.contracts, got.value) == (1_000, Decimal("151200.0"))
    assert (got.contracts_ms, got.mark_ms) == (NOW_MS - 5_000, NOW_MS)


def test_value_changes_with_the_price_while_contracts_do_not() -> None:
    points = [*interest_hours([100] * 24, worth=2, last=THIS_HOUR - 1), *interest_hours([100], worth=3)]

    got = report(points)

    assert (got.change_24h.contracts_percent, got.change_24h.value_percent) == (0, 50)


@pytest.mark.night
@given(st.permutations(range(ROWS)), st.lists(st.integers(0, ROWS - 1), max_size=50))
def test_rows_may_come_doubled_and_in_any_order(order: list[int], again: list[int]) -> None:
    points = interest_hours(LEVELS)

    assert report([points[place] for place in [*order, *again]]) == report(points)


@pytest.mark.night
@given(st.sets(st.integers(0, ROWS - 2), max_size=ROWS - 1))
def test_a_missing_hour_is_no_value_and_moves_no_other(missing: set[int]) -> None:
    points = interest_hours(LEVELS)
    kept = [point for place, point in enumerate(points) if place not in missing]

    got, whole = report(kept), report(points)

    for back, change, full in (
        (1, got.change_1h, whole.change_1h),
        (24, got.change_24h, whole.change_24h),
        (168, got.change_7d, whole.change_7d),
    ):
        assert (change.contracts, change.value) == (
            (None, None) if ROWS - 1 - back in missing else (full.contracts, full.value)
        )
    changes = daily_changes(by_hour(kept, NOW_MS))
    assert changes == {
        at: each
        for at, each in daily_changes(by_hour(points, NOW_MS)).items()
        if not {at // HOUR_MS - THIS_HOUR + ROWS - 1, at // HOUR_MS - THIS_HOUR + ROWS - 25} & missing
    }


def test_the_percentiles_are_of_the_level_and_of_the_day_without_the_newest_row() -> None:
    got = report(interest_hours(LEVELS))

    changes = [100 * (after - before) / before for before, after in zip(LEVELS, LEVELS[24:], strict=False)]
    earlier = changes[:-1]
    assert got.percentile.n == ROWS - 1
    assert got.percentile.value == pytest.approx(100 * sum(each < LEVELS[-1] for each in LEVELS[:-1]) / (ROWS - 1))
    assert got.change_24h_percentile.n == ROWS - 25
    assert got.change_24h_percentile.value == pytest.approx(
        100 * sum(each < changes[-1] for each in earlier) / len(earlier)
    )
    assert got.change_24h_percentile.to_ms == (THIS_HOUR - 1) * HOUR_MS
    assert got.change_24h_percentile.from_ms == (THIS_HOUR - ROWS + 25) * HOUR_MS


def test_a_list_that_ended_hours_ago_gives_its_stamp_and_nothing_else() -> None:
    points = interest_hours(LEVELS)
    newest_ms = THIS_HOUR * HOUR_MS

    still, stale = report(points, newest_ms + STALE_MS), report(points, newest_ms + STALE_MS + HOUR_MS)

    assert still.change_24h.contracts is not None
    assert stale.stamp_ms == newest_ms
    assert (stale.change_1h.contracts, stale.change_24h.contracts, stale.change_7d.contracts) == (None, None, None)
    assert (stale.percentile.value, stale.change_24h_percentile.value) == (None, None)


def test_rows_ahead_of_now_or_off_the_hour_do_not_count() -> None:
    points = interest_hours(LEVELS)
    odd = InterestPoint(THIS_HOUR * HOUR_MS - 30 * 60_000, quantity(9), quantity(9))
    ahead = InterestPoint((THIS_HOUR + 1) * HOUR_MS, quantity(9), quantity(9))

    assert report([*points, odd, ahead]) == report(points)


def test_a_stamp_some_milliseconds_off_its_hour_is_of_that_hour() -> None:
    points = [
        InterestPoint(each.time_ms + (-1) ** place * 700, each.contracts, each.value)
        for place, each in enumerate(interest_hours(LEVELS))
    ]

    assert report(points) == report(interest_hours(LEVELS))


def test_from_no_contracts_there_is_no_change_in_percent() -> None:
    got = report(interest_hours([0] * 24 + [5]))

    assert (got.change_24h.contracts, got.change_24h.contracts_percent) == (5, None)


def test_the_screen_has_the_same_change_as_the_report() -> None:
    points = interest_hours(LEVELS)

    column, whole = interest_columns(points, NOW_MS), report(points)

    assert whole.change_24h.contracts_percent is not None
    assert column.oi_change_24h == pytest.approx(float(whole.change_24h.contracts_percent), abs=1e-9)
    assert column.oi_value(2.0) == pytest.approx(float(2 * LEVELS[-1]))
    assert (column.stamp_ms, column.n) == (THIS_HOUR * HOUR_MS, ROWS)
    assert column.oi_value(None) is None


def test_the_screen_has_no_change_of_a_stale_list_or_without_the_stamp_of_a_day_before() -> None:
    points = interest_hours(LEVELS)

    stale = interest_columns(points, NOW_MS + 3 * HOUR_MS)
    holed = interest_columns([*points[:-25], *points[-24:]], NOW_MS)

    assert (stale.contracts, stale.oi_change_24h, stale.oi_value(2.0)) == (None, None, None)
    assert holed.contracts is not None
    assert holed.oi_change_24h is None
    assert interest_columns([], NOW_MS).stamp_ms is None
