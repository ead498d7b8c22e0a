"""Shares of longs and what takers bought: whole hours, by their stamp."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.perpetuals import NOW_MS, THIS_HOUR, share_hours, taker_hours
from analytics.samples import HOUR_MS, Number
from mcp_binance_server.analytics.derivatives.positioning import share_report, taker_report

ROWS = 100
drawn = Random(11)
SHARES: list[Number] = [Decimal(drawn.randrange(3000, 7000)) / 10_000 for _ in range(ROWS)]
BOUGHT: list[Number] = [drawn.randrange(100) for _ in range(ROWS)]
SOLD: list[Number] = [drawn.randrange(1, 100) for _ in range(ROWS)]


def test_a_share_has_its_ratio_its_change_in_points_and_both_percentiles() -> None:
    got = share_report(share_hours(SHARES), NOW_MS)

    shares = [Decimal(str(each)) for each in SHARES]
    changes = [100 * (after - before) for before, after in zip(shares, shares[24:], strict=False)]
    assert (got.long_share, got.ratio) == (shares[-1], shares[-1] / (1 - shares[-1]))
    assert got.change_24h == changes[-1]
    assert (got.percentile.n, got.change_24h_percentile.n) == (ROWS - 1, ROWS - 25)
    for rank, value, past in (
        (got.percentile, shares[-1], shares[:-1]),
        (got.change_24h_percentile, changes[-1], changes[:-1]),
    ):
        below, equal = sum(each < value for each in past), sum(each == value for each in past)
        assert rank.value == pytest.approx(100 * (below + equal / 2) / len(past))
    assert got.stamp_ms == THIS_HOUR * HOUR_MS


@pytest.mark.night
@given(st.permutations(range(ROWS)), st.lists(st.integers(0, ROWS - 1), max_size=20))
def test_rows_may_come_doubled_and_in_any_order(order: list[int], again: list[int]) -> None:
    shares, takers = share_hours(SHARES), taker_hours(BOUGHT, SOLD)
    places = [*order, *again]

    assert share_report([shares[place] for place in places], NOW_MS) == share_report(shares, NOW_MS)
    assert taker_report([takers[place] for place in places], NOW_MS) == taker_report(takers, NOW_MS)


def test_without_the_stamp_of_a_day_before_a_share_has_no_change() -> None:
    points = share_hours(SHARES)

    got = share_report([*points[:-25], *points[-24:]], NOW_MS)

    assert (got.change_24h, got.change_24h_percentile.value) == (None, None)
    assert got.long_share == points[-1].long_share


def test_stale_or_no_rows_give_no_share() -> None:
    stale = share_report(share_hours(SHARES, last=THIS_HOUR - 3), NOW_MS)

    assert (stale.long_share, stale.ratio, stale.change_24h, stale.percentile.value) == (None, None, None, None)
    assert stale.stamp_ms == (THIS_HOUR - 3) * HOUR_MS
    assert share_report([], NOW_MS).stamp_ms is None


def test_takers_are_counted_over_the_last_whole_hour_and_day() -> None:
    got = taker_report(taker_hours(BOUGHT, SOLD), NOW_MS)

    bought, sold = [int(str(each)) for each in BOUGHT], [int(str(each)) for each in SOLD]
    assert got.buy_share_1h == Decimal(bought[-1]) / (bought[-1] + sold[-1])
    assert got.buy_share_24h == Decimal(sum(bought[-24:])) / (sum(bought[-24:]) + sum(sold[-24:]))
    assert got.percentile_1h.n == ROWS - 1
    assert got.stamp_ms == THIS_HOUR * HOUR_MS


def test_the_hour_that_runs_does_not_count() -> None:
    points = taker_hours(BOUGHT, SOLD, last_began=THIS_HOUR)

    assert taker_report(points, NOW_MS) == taker_report(points[:-1], NOW_MS)


def test_a_day_with_a_missing_hour_has_no_share_but_its_last_hour_has() -> None:
    points = taker_hours(BOUGHT, SOLD)

    got = taker_report([*points[:-10], *points[-9:]], NOW_MS)

    assert got.buy_share_24h is None
    assert got.buy_share_1h is not None


def test_hours_without_a_trade_have_no_share_and_take_nothing_from_the_day() -> None:
    got = taker_report(taker_hours([3] * 30 + [0], [1] * 30 + [0]), NOW_MS)

    assert got.buy_share_1h is None
    assert got.buy_share_24h == Decimal("0.75")
    assert got.percentile_1h.value is None


def test_stale_or_no_takers_give_nothing() -> None:
    stale = taker_report(taker_hours(BOUGHT, SOLD, last_began=THIS_HOUR - 4), NOW_MS)

    assert (stale.buy_share_1h, stale.buy_share_24h, stale.stamp_ms) == (None, None, (THIS_HOUR - 3) * HOUR_MS)
    assert taker_report([], NOW_MS).stamp_ms is None
