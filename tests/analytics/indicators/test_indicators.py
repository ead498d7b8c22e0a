"""Indicators: as long as their input, silent while warming up, and in agreement with TA-Lib."""

from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle, series, walk
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.indicators.basic import Line, closes
from mcp_binance_server.analytics.indicators.table import INDICATORS, Indicator
from mcp_binance_server.analytics.indicators.talipp_adapter import vwap
from mcp_binance_server.domain.periods import Candle

pytestmark = pytest.mark.flood

WARM = 250
SERIES = range(50)
Columns = dict[str, Any]
Oracle = Callable[[ModuleType, Columns], Sequence[Any]]
Ours = Callable[[Sequence[Candle]], Sequence[Line]]


def lines_of(*lines: Line) -> Sequence[Line]:
    return lines


def hlc(columns: Columns) -> tuple[Any, Any, Any]:
    return columns["high"], columns["low"], columns["close"]


def our_macd(candles: Sequence[Candle]) -> Sequence[Line]:
    got = indicators.macd(closes(candles))
    return got.macd, got.signal, got.histogram


def our_bollinger(candles: Sequence[Candle]) -> Sequence[Line]:
    got = indicators.bollinger(closes(candles))
    return got.upper, got.middle, got.lower


def our_stochastic(candles: Sequence[Candle]) -> Sequence[Line]:
    got = indicators.stochastic(candles)
    return got.k, got.d


def our_adx(candles: Sequence[Candle]) -> Sequence[Line]:
    got = indicators.adx(candles)
    return got.adx, got.plus_di, got.minus_di


# TA-Lib's STOCHF smooths %D only, as ours does; STOCH smooths %K first.
PAIRS: dict[str, tuple[Ours, Oracle]] = {
    "sma": (lambda c: lines_of(indicators.sma(closes(c), 20)), lambda t, x: (t.SMA(x["close"], 20),)),
    "ema": (lambda c: lines_of(indicators.ema(closes(c), 20)), lambda t, x: (t.EMA(x["close"], 20),)),
    "rsi": (lambda c: lines_of(indicators.rsi(closes(c), 14)), lambda t, x: (t.RSI(x["close"], 14),)),
    "atr": (lambda c: lines_of(indicators.atr(c, 14)), lambda t, x: (t.ATR(*hlc(x), 14),)),
    "obv": (lambda c: lines_of(indicators.obv(c)), lambda t, x: (t.OBV(x["close"], x["volume"]),)),
    "macd": (our_macd, lambda t, x: t.MACD(x["close"], 12, 26, 9)),
    "bollinger": (our_bollinger, lambda t, x: t.BBANDS(x["close"], 20, 2.0, 2.0)),
    "stochastic": (our_stochastic, lambda t, x: t.STOCHF(*hlc(x), 14, 3)),
    "adx": (our_adx, lambda t, x: (t.ADX(*hlc(x), 14), t.PLUS_DI(*hlc(x), 14), t.MINUS_DI(*hlc(x), 14))),
}


@cache
def walked(seed: int) -> tuple[Candle, ...]:
    return tuple(walk(seed))


def columns_of(candles: Sequence[Candle], numpy: ModuleType) -> Columns:
    names = ("high", "low", "close", "volume")
    return {name: numpy.array([float(getattr(each, name)) for each in candles]) for name in names}


@pytest.mark.parametrize("name", PAIRS)
def test_an_indicator_agrees_with_ta_lib_once_both_are_warm(name: str) -> None:
    talib = pytest.importorskip("talib", reason="needs TA-Lib, the second opinion on every indicator")
    numpy = pytest.importorskip("numpy")
    ours, oracle = PAIRS[name]

    for seed in SERIES:
        candles = walked(seed)
        lines = ours(candles)
        expected = oracle(talib, columns_of(candles, numpy))

        assert len(lines) == len(expected)
        for line, theirs in zip(lines, expected, strict=True):
            off = numpy.abs(numpy.array(line[WARM:], dtype=float) - theirs[WARM:])
            assert (off <= numpy.maximum(1e-6 * numpy.abs(theirs[WARM:]), 1e-9)).all(), seed


@pytest.mark.parametrize("name", ["sma", "ema", "rsi", "atr", "obv", "bollinger", "stochastic"])
def test_an_indicator_without_a_difference_at_the_start_agrees_from_its_first_bar(name: str) -> None:
    talib = pytest.importorskip("talib", reason="needs TA-Lib, the second opinion on every indicator")
    numpy = pytest.importorskip("numpy")
    ours, oracle = PAIRS[name]
    candles = walk(1, bars=80)

    lines = ours(candles)
    expected = oracle(talib, columns_of(candles, numpy))

    # TA-Lib hides a value of the fast stochastic until both lines exist; ours shows %K at once.
    for line, theirs in zip(lines, expected, strict=True):
        known = [index for index, value in enumerate(theirs) if not numpy.isnan(value)]
        assert [line[index] for index in known] == pytest.approx([theirs[index] for index in known], rel=1e-6)


@pytest.mark.parametrize("entry", INDICATORS.values(), ids=lambda entry: entry.name)
def test_every_entry_says_its_lines_and_the_bars_they_need(entry: Indicator) -> None:
    candles = walk(7, bars=120)
    needed = entry.minimum_bars(entry.defaults)

    lines = entry.compute(candles, entry.defaults)
    one_short = entry.compute(candles[: needed - 1], entry.defaults)

    assert tuple(lines) == entry.lines
    assert all(len(line) == len(candles) for line in lines.values())
    assert all(value is not None for line in lines.values() for value in line[needed - 1 :])
    assert any(indicators.latest(line) is None for line in one_short.values())


@pytest.mark.parametrize("entry", INDICATORS.values(), ids=lambda entry: entry.name)
def test_every_parameter_may_take_both_ends_of_its_range(entry: Indicator) -> None:
    candles = walk(8, bars=460)

    for given_low in (True, False):
        arguments = {each.name: each.low if given_low else each.high for each in entry.parameters}
        lines = entry.compute(candles, arguments)

        assert all(indicators.latest(line) is not None for line in lines.values())
    assert all(each.low <= each.default <= each.high for each in entry.parameters)
    assert all(not each.whole or each.default == int(each.default) for each in entry.parameters)


@pytest.mark.parametrize("entry", INDICATORS.values(), ids=lambda entry: entry.name)
def test_nothing_in_is_nothing_out(entry: Indicator) -> None:
    assert entry.compute([], entry.defaults) == {name: [] for name in entry.lines}
    assert indicators.latest([]) is None


def test_a_market_that_never_moves_has_no_strength_either_way() -> None:
    flat = [candle(5, 5, 5, 5, at=at) for at in range(40)]

    assert indicators.rsi(closes(flat), 14)[14:] == [50.0] * 26
    assert indicators.stochastic(flat).k[13:] == [50.0] * 27
    assert indicators.atr(flat, 14)[14:] == [0.0] * 26
    assert indicators.adx(flat).adx[-1] == 0.0


def test_a_long_quiet_after_a_fall_is_neither_all_gain_nor_all_loss() -> None:
    quiet = [10.0, 11.0, 9.0, *[9.0] * 1500]

    assert indicators.rsi(quiet, 2)[-1] == 50.0


def test_only_gains_are_a_hundred_and_only_losses_are_zero() -> None:
    rising = [float(each) for each in range(1, 30)]

    assert indicators.rsi(rising, 14)[-1] == 100.0
    assert indicators.rsi(rising[::-1], 14)[-1] == 0.0


def test_no_volume_yet_is_no_average_price_yet() -> None:
    candles = [candle(5, 6, 4, 5, 0, at=0), candle(5, 7, 5, 6, 2, at=1)]

    assert vwap(candles) == [None, 6.0]


@pytest.mark.night
@given(series(max_size=30))
def test_bounded_indicators_stay_in_their_bounds(candles: list[Candle]) -> None:
    strength = indicators.rsi(closes(candles), 5)
    place = indicators.stochastic(candles, 5, 2)
    trend = indicators.adx(candles, 4)

    for line in (strength, place.k, place.d, trend.adx):
        assert len(line) == len(candles)
        assert all(-1e-9 <= value <= 100 + 1e-9 for value in line if value is not None)


@pytest.mark.night
@given(series(max_size=30), st.integers(1, 10))
def test_an_average_lies_within_what_it_averages(candles: list[Candle], n: int) -> None:
    values = closes(candles)
    low, high = min(values), max(values)

    for line in (indicators.sma(values, n), indicators.ema(values, n), indicators.bollinger(values, n).middle):
        assert all(low - 1e-6 <= value <= high + 1e-6 for value in line if value is not None)


@pytest.mark.night
@given(series(max_size=30))
def test_the_average_price_lies_between_the_lowest_low_and_the_highest_high(candles: list[Candle]) -> None:
    low = min(float(each.low) for each in candles)
    high = max(float(each.high) for each in candles)

    assert all(low * (1 - 1e-9) <= value <= high * (1 + 1e-9) for value in vwap(candles) if value)
