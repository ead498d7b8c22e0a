"""Oscillators: known answers by hand, and bounds that hold for any market."""

import pytest
from hypothesis import given

from analytics.samples import candle, series
from mcp_binance_server.analytics.indicators import oscillators
from mcp_binance_server.domain.periods import Candle


def test_money_flows_by_where_the_close_stands() -> None:
    candles = [candle(5, 6, 4, 6, 10, at=0), candle(5, 6, 4, 4, 30, at=1), candle(5, 6, 4, 5, 10, at=2)]

    assert oscillators.chaikin_money_flow(candles, 3) == [None, None, pytest.approx(-0.4)]
    assert oscillators.chaikin_money_flow([candle(5, 5, 5, 5, 0, at=0)], 1) == [0.0]


def test_the_change_over_bars_in_percent_and_in_price() -> None:
    assert oscillators.rate_of_change([100, 110, 121], 2) == [None, None, pytest.approx(21.0)]
    assert oscillators.momentum([100, 110, 121], 1) == [None, 10, 11]
    assert oscillators.rate_of_change([1.0], 5) == [None]


def test_the_awesome_oscillator_is_the_difference_of_two_averages_of_the_middles() -> None:
    candles = [candle(at + 1, at + 2, at, at + 1, at=at) for at in range(40)]

    assert oscillators.awesome(candles)[-1] == pytest.approx(14.5)
    assert oscillators.awesome(candles)[32] is None


@pytest.mark.night
@given(series(max_size=40))
def test_bounded_oscillators_stay_in_their_bounds(candles: list[Candle]) -> None:
    closes = [float(each.close) for each in candles]
    smoothed = oscillators.smoothed_stochastic(candles, 5, 3, 3)
    relative = oscillators.stochastic_rsi(closes, 5, 5, 3, 3)
    bounded = (smoothed.k, smoothed.d, relative.k, relative.d, oscillators.money_flow(candles, 5))

    for line in (*bounded, *oscillators.aroon(candles, 5)):
        assert len(line) == len(candles)
        assert all(-1e-9 <= value <= 100 + 1e-9 for value in line if value is not None)
    assert all(-100 - 1e-9 <= value <= 1e-9 for value in oscillators.williams_r(candles, 5) if value is not None)
    assert all(-1 - 1e-9 <= value <= 1 + 1e-9 for value in oscillators.chaikin_money_flow(candles, 5) if value)
