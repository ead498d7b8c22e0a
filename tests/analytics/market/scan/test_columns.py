"""Columns of one series: as TA-Lib, the indicator table and direct sums have them, of closed candles only."""

from dataclasses import asdict
from itertools import pairwise
from math import inf, isfinite, log, nan
from statistics import median, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import HOUR_MS, candle, walk
from analytics.series import end_of, rows_of
from mcp_binance_server.analytics.indicators.basic import closes, latest
from mcp_binance_server.analytics.indicators.table import INDICATORS
from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, INTERVAL_MS
from mcp_binance_server.analytics.market.scan.columns import (
    MOST_BARS,
    SeriesColumns,
    SeriesLine,
    closed_bars,
    day_columns,
    series_columns,
)
from mcp_binance_server.domain.periods import Candle

DAY_MS = INTERVAL_MS["1d"]
SEEDS = range(20)
SERIES_NAMES = [name for name, each in COLUMNS.items() if each.takes_interval]


def computed(candles: list[Candle]) -> SeriesColumns:
    rows = rows_of(candles)
    return series_columns(rows, end_of(rows), HOUR_MS)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_agree_with_ta_lib(seed: int) -> None:
    talib = pytest.importorskip("talib", reason="needs TA-Lib, the second opinion on every indicator")
    numpy = pytest.importorskip("numpy")
    candles = walk(seed, bars=MOST_BARS)
    high, low, close = (
        numpy.array([float(getattr(each, name)) for each in candles]) for name in ("high", "low", "close")
    )

    got = computed(candles)

    expected = {
        "rsi_14": talib.RSI(close, 14)[-1],
        "atr_14": 100 * talib.ATR(high, low, close, 14)[-1] / close[-1],
        "change": talib.ROC(close, 1)[-1],
        "change_7": talib.ROC(close, 7)[-1],
        "change_30": talib.ROC(close, 30)[-1],
        "sma_20": talib.SMA(close, 20)[-1],
        "sma_50": talib.SMA(close, 50)[-1],
        "sma_200": talib.SMA(close, 200)[-1],
        "high_20": talib.MAX(high, 20)[-1],
        "low_20": talib.MIN(low, 20)[-1],
        # TA-Lib's deviation is the population's.
        "volatility_20": 100 * talib.STDDEV(numpy.diff(numpy.log(close))[-20:], 20)[-1] * (20 / 19) ** 0.5,
    }
    assert {name: getattr(got, name) for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_agree_with_the_indicator_table(seed: int) -> None:
    candles = walk(seed, bars=MOST_BARS)

    got = computed(candles)

    def of_table(name: str, n: int) -> float:
        value = latest(INDICATORS[name].compute(candles, {"n": n})[name])
        assert value is not None
        return value

    expected = {
        "rsi_14": of_table("rsi", 14),
        "atr_14": 100 * of_table("atr", 14) / float(candles[-1].close),
        **{f"sma_{n}": of_table("sma", n) for n in (20, 50, 200)},
    }
    assert {name: getattr(got, name) for name in expected} == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_agree_with_direct_sums(seed: int) -> None:
    candles = walk(seed, bars=MOST_BARS)
    prices = closes(candles)
    volumes = [float(each.quote_volume) for each in candles]

    got = computed(candles)

    expected = {
        "close": prices[-1],
        "change": 100 * (prices[-1] / prices[-2] - 1),
        "change_7": 100 * (prices[-1] / prices[-8] - 1),
        "change_30": 100 * (prices[-1] / prices[-31] - 1),
        "rel_volume": volumes[-1] / median(volumes[-21:-1]),
        "rsi_14": direct_rsi(prices),
        "atr_14": 100 * direct_atr(candles) / prices[-1],
        "volatility_20": 100 * stdev(log(prices[place] / prices[place - 1]) for place in range(-20, 0)),
        "sma_200": sum(prices[-200:]) / 200,
        "high_20": max(float(each.high) for each in candles[-20:]),
        "low_20": min(float(each.low) for each in candles[-20:]),
    }
    assert {name: getattr(got, name) for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-9)


def wilder(values: list[float], n: int = 14) -> float:
    """Average as Wilder wrote it, one bar after the other."""
    average = sum(values[:n]) / n
    for each in values[n:]:
        average += (each - average) / n
    return average


def direct_rsi(prices: list[float]) -> float:
    moves = [after - before for before, after in pairwise(prices)]
    gain, loss = wilder([max(move, 0) for move in moves]), wilder([max(-move, 0) for move in moves])
    return 100 - 100 / (1 + gain / loss)


def direct_atr(candles: list[Candle]) -> float:
    return wilder(
        [
            float(max(bar.high - bar.low, abs(bar.high - before.close), abs(bar.low - before.close)))
            for before, bar in pairwise(candles)
        ]
    )


def test_the_running_candle_changes_nothing_until_the_moment_it_closes() -> None:
    rows = rows_of(walk(3, bars=230))
    now_ms = end_of(rows) - 1
    running: SeriesLine = (rows[-1][0], 1.0, 9e9, 1e-9, 5.0, 1e12)

    still_open = series_columns([*rows[:-1], running], now_ms, HOUR_MS)

    assert still_open == series_columns(rows[:-1], now_ms, HOUR_MS)
    assert still_open.closed_ms == rows[-1][0]
    assert series_columns(rows, now_ms + 1, HOUR_MS).closed_ms == now_ms + 1


@pytest.mark.parametrize("name", SERIES_NAMES)
def test_a_column_is_silent_with_one_candle_too_few_and_speaks_with_enough(name: str) -> None:
    candles = walk(9, bars=220)
    needed = COLUMNS[name].bars

    short, enough = computed(candles[: needed - 1]), computed(candles[:needed])

    assert (short.n, enough.n) == (needed - 1, needed)
    assert short.value(name, 50.0) is None
    assert enough.value(name, 50.0) is not None


def test_a_level_is_held_against_the_price_of_now() -> None:
    got = computed(walk(4, bars=210))

    for column, level in (
        ("vs_sma_20", got.sma_20), ("vs_sma_50", got.sma_50), ("vs_sma_200", got.sma_200),
        ("vs_high_20", got.high_20), ("vs_low_20", got.low_20),
    ):  # fmt: skip
        assert level is not None
        assert got.value(column, level) == 0
        assert got.value(column, 1.05 * level) == pytest.approx(5)
        assert got.value(column, 0.9 * level) == pytest.approx(-10)
        assert got.value(column, None) is None
    with pytest.raises(KeyError):
        got.value("change_24h", 5.0)


def test_a_series_that_never_moved_is_at_fifty_without_range_or_deviation() -> None:
    got = computed([candle(5, 5, 5, 5, at=at) for at in range(40)])

    assert (got.rsi_14, got.atr_14, got.volatility_20, got.change_30, got.rel_volume) == (50, 0, 0, 0, 1)


def test_only_gains_are_a_hundred_and_only_losses_are_zero() -> None:
    rising = [candle(at, at + 1, at, at + 1, at=at) for at in range(1, 40)]
    falling = [candle(50 - at, 50 - at, 49 - at, 49 - at, at=at) for at in range(1, 40)]

    assert computed(rising).rsi_14 == 100
    assert computed(falling).rsi_14 == 0


def test_volume_after_twenty_candles_without_any_has_no_ratio() -> None:
    quiet = [candle(5, 6, 4, 5, 0, at=at) for at in range(20)]

    assert computed([*quiet, candle(5, 6, 4, 5, 7, at=20)]).rel_volume is None


def test_rows_out_of_order_or_doubled_are_put_in_order_once() -> None:
    rows = rows_of(walk(5, bars=120))
    now_ms = end_of(rows)
    stirred = [*rows[60:], *rows[:70]]

    assert series_columns(stirred, now_ms, HOUR_MS) == series_columns(rows, now_ms, HOUR_MS)


@pytest.mark.parametrize("broken", [nan, inf, -inf, -1.0, 1e300])
@pytest.mark.parametrize("place", [2, 3, 4, 5])
def test_what_lies_before_a_broken_row_does_not_count(place: int, broken: float) -> None:
    rows = rows_of(walk(6, bars=60))
    opened, high, low, close, volume = (broken if at == place else each for at, each in enumerate(rows[29][1:], 1))
    spoilt = [*rows[:29], (rows[29][0], opened, high, low, close, volume), *rows[30:]]

    got = series_columns(spoilt, end_of(rows), HOUR_MS)

    assert got == series_columns(rows[30:], end_of(rows), HOUR_MS)
    assert got.n == 30


def test_nothing_closed_is_nothing_at_all() -> None:
    assert series_columns([], 0, HOUR_MS) == SeriesColumns(None, 0)
    assert series_columns(rows_of(walk(1, bars=1)), 5, HOUR_MS) == SeriesColumns(None, 0)


def test_a_longer_series_gives_what_its_newest_rows_give() -> None:
    rows = rows_of(walk(8, bars=600))

    whole = series_columns(rows, end_of(rows), HOUR_MS)

    assert whole == series_columns(rows[-MOST_BARS:], end_of(rows), HOUR_MS)
    assert whole.n == MOST_BARS


any_float = st.floats(allow_nan=True, allow_infinity=True)
any_rows = st.lists(
    st.tuples(st.integers(0, 300).map(lambda at: at * HOUR_MS), *[any_float] * 5)
    | st.tuples(st.integers(0, 300).map(lambda at: at * HOUR_MS), *[st.just(5.0)] * 4, st.floats(0, 1e300)),
    max_size=60,
)


@pytest.mark.night
@given(any_rows, any_float)
def test_no_number_that_is_none_ever_comes_out(rows: list[SeriesLine], price: float) -> None:
    got = series_columns(rows, 200 * HOUR_MS, HOUR_MS)
    day = day_columns(rows, 200 * HOUR_MS)

    known = [each for each in asdict(got).values() if each is not None]
    shown = [got.value(name, price) for name in SERIES_NAMES]
    assert all(isfinite(each) for each in [*known, *(each for each in shown if each is not None)])
    assert all(row[0] + HOUR_MS <= 200 * HOUR_MS for row in closed_bars(rows, 200 * HOUR_MS, HOUR_MS))
    usual = day.rel_volume_24h(price)
    assert usual is None or isfinite(usual)


def days(volumes: list[float]) -> list[SeriesLine]:
    return [(at * DAY_MS, 1.0, 1.0, 1.0, 1.0, volume) for at, volume in enumerate(volumes)]


def test_the_usual_day_is_the_median_of_the_last_twenty_closed_days() -> None:
    volumes = [float(each) for each in (1e9, 1e9, *range(1, 21), 1e9)]

    got = day_columns(days(volumes), 22 * DAY_MS)

    assert (got.n, got.closed_ms, got.median_volume) == (20, 22 * DAY_MS, 10.5)
    assert got.rel_volume_24h(21.0) == 2.0


def test_below_ten_days_there_is_no_usual_day() -> None:
    volumes = [float(each) for each in range(1, 11)]

    assert day_columns(days(volumes), 10 * DAY_MS).median_volume == 5.5
    assert day_columns(days(volumes), 10 * DAY_MS - 1).median_volume is None
    assert day_columns(days([0.0] * 12), 12 * DAY_MS).rel_volume_24h(5.0) is None
    assert day_columns([], DAY_MS).rel_volume_24h(5.0) is None
