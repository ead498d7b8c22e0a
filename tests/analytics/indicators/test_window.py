"""One window and one start: a value depends on its bar, and what it began with is told while it weighs."""

from math import ceil

import pytest

from analytics.samples import candle, walk
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.indicators.basic import closes
from mcp_binance_server.analytics.indicators.table import INDICATORS
from mcp_binance_server.analytics.indicators.talipp_adapter import DAY_MS, Line, over_window, own_values


def test_a_sum_of_volumes_counts_from_the_bar_asked_for() -> None:
    candles = walk(3, bars=60)

    whole, later = indicators.obv(candles), indicators.obv(candles, first=40)

    assert later[:40] == [None] * 40
    before = whole[39]
    assert before is not None
    assert later[40:] == pytest.approx([value - before for value in whole[40:] if value is not None])


def test_an_anchored_sum_of_volumes_begins_anew_with_each_day() -> None:
    candles = [candle(1, 1, 1, 10 + at, 5, at=at, span_ms=DAY_MS // 4) for at in range(10)]

    assert indicators.obv(candles, anchor="day") == [5, 10, 15, 20, 5, 10, 15, 20, 5, 10]


def test_the_weight_of_a_seed_is_what_a_changed_start_leaves_behind() -> None:
    candles = walk(5, bars=400)
    n, by = 50, 7.0
    values = closes(candles)

    line = indicators.ema(values, n)
    moved = indicators.ema([value + by if place < n else value for place, value in enumerate(values)], n)
    seed = INDICATORS["ema"].seeds({"n": n})["ema"]

    for bar in (n, n + 10, 300, 400):
        now, then = line[bar - 1], moved[bar - 1]
        assert now is not None
        assert then is not None
        assert (then - now) / by == pytest.approx(seed.weight(bar), abs=1e-9)


def test_wilders_seeds_fade_more_slowly_and_no_average_of_one_bar_has_any() -> None:
    ema, atr = INDICATORS["ema"].seeds({"n": 200})["ema"], INDICATORS["atr"].seeds({"n": 200})["atr"]
    macd = INDICATORS["macd"].seeds({"fast": 12, "slow": 26, "signal": 9})

    assert ema.weight(999) < 0.01 < atr.weight(999) < 0.02
    assert macd["signal"].weight(100) > macd["macd"].weight(100) > 0
    assert INDICATORS["ema"].seeds({"n": 1})["ema"].weight(1) == 0.0
    assert INDICATORS["sma"].seeds({"n": 20}) == {}
    assert set(INDICATORS["adx"].seeds({"n": 14})) == set(INDICATORS["adx"].lines)


@pytest.mark.parametrize("n", [20, 200])
def test_a_value_depends_on_its_bar_and_not_on_how_many_were_loaded(n: int) -> None:
    candles = walk(6, bars=2440)
    now_ms = candles[-1].close_time_ms

    def lines(loaded: int) -> Line:
        found = over_window(
            candles[-loaded:], now_ms, lambda bars: {"ema": indicators.ema(closes(bars), n)}, warm_up=ceil(3.31 * n)
        )["ema"]
        assert len(found) == loaded
        return found

    own = own_values(ceil(3.31 * n))
    assert lines(1000)[-own:] == lines(2000)[-own:] == lines(2440)[-own:]
    assert lines(2000)[-1000:] == lines(2440)[-1000:]


def test_where_the_window_ends_a_line_has_no_visible_step() -> None:
    candles = walk(6, bars=2000)
    own = own_values(662)

    line = over_window(
        candles, candles[-1].close_time_ms, lambda bars: {"ema": indicators.ema(closes(bars), 200)}, warm_up=662
    )["ema"]
    whole = indicators.ema(closes(candles), 200)

    joint, before, truth = line[-own], line[-own - 1], whole[-own]
    assert joint is not None
    assert before is not None
    assert truth is not None
    reach = max(closes(candles)[-1000:]) - min(closes(candles)[-1000:])
    assert abs(joint - truth) < 0.01 * reach


def test_an_average_longer_than_the_window_is_that_of_two_pages() -> None:
    candles = walk(6, bars=2000)
    lines = over_window(
        candles, candles[-1].close_time_ms, lambda bars: {"sma": indicators.sma(closes(bars), 900)}, warm_up=900
    )

    assert lines["sma"][-300:] == pytest.approx(indicators.sma(closes(candles), 900)[-300:])
