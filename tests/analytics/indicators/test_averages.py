"""Averages beyond the usual two, by hand where no library is asked."""

import pytest

from mcp_binance_server.analytics.indicators import averages


def test_weights_fall_from_the_newest_value() -> None:
    assert averages.wma([1, 2, 3, 4], 3) == [None, None, pytest.approx(14 / 6), pytest.approx(20 / 6)]


def test_hulls_average_of_one_bar_is_the_series() -> None:
    assert averages.hma([3.0, 1.0, 2.0], 1) == [3.0, 1.0, 2.0]


def test_volume_weighs_and_no_volume_weighs_alike() -> None:
    assert averages.vwma([1, 2, 3], [1, 3, 0], 2) == [None, 1.75, 2.0]
    assert averages.vwma([1, 3], [0, 0], 2) == [None, 2.0]


def test_a_bell_curve_leans_to_the_newest_value() -> None:
    line = averages.alma([1.0, 1.0, 1.0, 1.0, 2.0], 5, 0.85, 6)

    assert line[:4] == [None] * 4
    assert line[4] is not None
    assert 1.2 < line[4] < 2.0


def test_a_line_that_starts_late_is_averaged_from_where_it_starts() -> None:
    assert averages.again([None, None, 2.0, 4.0, 6.0], 2) == [None, None, None, 3.0, 5.0]


@pytest.mark.parametrize(("name", "last"), [("Simple", 3.0), ("SMA", 3.0), ("weighted", 10 / 3), ("WMA", 10 / 3)])
def test_a_menu_names_an_average(name: str, last: float) -> None:
    assert averages.by_name(name)([1.0, 2.0, 3.0, 4.0], 3)[-1] == pytest.approx(last)


def test_the_smoothed_and_the_adaptive_average_follow_a_steady_price() -> None:
    still = [7.0] * 40

    assert averages.smma(still, 7)[-1] == averages.kama(still, 10)[-1] == pytest.approx(7.0)
