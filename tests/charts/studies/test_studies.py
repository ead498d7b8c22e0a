"""The studies we draw: known to the catalogue, warm where they say so, and in agreement with TA-Lib."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from analytics.samples import candle, walk
from charts.render.market import market
from mcp_binance_server.analytics.indicators.talipp_adapter import Line
from mcp_binance_server.charts.catalogue import bundled_catalogue
from mcp_binance_server.charts.studies.study import Inputs, Scalar, Study, shifted
from mcp_binance_server.charts.studies.table import STUDIES, settle
from mcp_binance_server.domain.periods import Candle

WARM = 250
SERIES = range(12)
ASKED = (
    "Volume", "Moving Average", "Moving Average Exponential", "Moving Average Weighted", "Hull Moving Average", "VWAP",
    "Bollinger Bands", "Keltner Channels", "Donchian Channels", "Ichimoku Cloud", "Super Trend", "Parabolic SAR",
    "Relative Strength Index", "Stochastic", "Stochastic RSI", "MACD", "Average True Range",
    "Average Directional Index", "Commodity Channel Index", "On Balance Volume", "Money Flow Index", "Williams %R",
    "Rate Of Change",
)  # fmt: skip
Columns = Mapping[str, Any]
Oracle = Callable[[ModuleType, Columns], Sequence[Any]]


def hlc(x: Columns) -> tuple[Any, Any, Any]:
    return x["high"], x["low"], x["close"]


def hull(t: ModuleType, x: Columns) -> Any:  # noqa: ANN401 - an array of numpy
    return t.WMA(2 * t.WMA(x["close"], 10) - t.WMA(x["close"], 21), 4)


def _smoothed(t: ModuleType, ranges: Any) -> Any:  # noqa: ANN401 - arrays of the oracle
    # The first range lacks a close before it, and TA-Lib passes that nothing on.
    ranges[0] = ranges[1]
    return t.EMA(ranges, 20)


def keltner(t: ModuleType, x: Columns) -> Sequence[Any]:
    middle, width = t.EMA(x["close"], 20), _smoothed(t, t.TRANGE(*hlc(x)))
    return middle + 1.5 * width, middle, middle - 1.5 * width


def donchian(t: ModuleType, x: Columns) -> Sequence[Any]:
    upper, lower = t.MAX(x["high"], 20), t.MIN(x["low"], 20)
    return upper, (upper + lower) / 2, lower


def stochastic(t: ModuleType, x: Columns) -> Sequence[Any]:
    return t.STOCH(*hlc(x), 14, 3, 0, 5, 0)


def stochastic_rsi(t: ModuleType, x: Columns) -> Sequence[Any]:
    k, _ = t.STOCHRSI(x["close"], 14, 14, 1, 0)
    smooth = t.SMA(k, 3)
    return smooth, t.SMA(smooth, 3)


# What TA-Lib has no name for is put together from what it has.
PAIRS: dict[str, tuple[dict[str, Scalar], Oracle]] = {
    "Moving Average": ({"length": 20}, lambda t, x: (t.SMA(x["close"], 20),)),
    "Moving Average Exponential": ({"length": 20}, lambda t, x: (t.EMA(x["close"], 20),)),
    "Moving Average Weighted": ({"length": 20}, lambda t, x: (t.WMA(x["close"], 20),)),
    "Hull Moving Average": ({"length": 21}, lambda t, x: (hull(t, x),)),
    "Double EMA": ({"length": 9}, lambda t, x: (t.DEMA(x["close"], 9),)),
    "Triple EMA": ({"length": 9}, lambda t, x: (t.TEMA(x["close"], 9),)),
    "Bollinger Bands": ({}, lambda t, x: t.BBANDS(x["close"], 20, 2.0, 2.0)),
    "Keltner Channels": ({"mult": 1.5}, keltner),
    "Donchian Channels": ({}, donchian),
    "Parabolic SAR": ({}, lambda t, x: (t.SAR(x["high"], x["low"], 0.02, 0.2),)),
    "Relative Strength Index": ({}, lambda t, x: (t.RSI(x["close"], 14),)),
    "Stochastic": ({"k": 14, "d": 5, "smooth": 3}, stochastic),
    "Stochastic RSI": ({}, stochastic_rsi),
    "MACD": ({}, lambda t, x: t.MACD(x["close"], 12, 26, 9)[::-1]),
    "Average True Range": ({}, lambda t, x: (t.ATR(*hlc(x), 14),)),
    "Average Directional Index": ({}, lambda t, x: (t.ADX(*hlc(x), 14),)),
    "Directional Movement": (
        {}, lambda t, x: (t.PLUS_DI(*hlc(x), 14), t.MINUS_DI(*hlc(x), 14), t.ADX(*hlc(x), 14)),
    ),
    "Commodity Channel Index": ({}, lambda t, x: (t.CCI(*hlc(x), 20),)),
    "On Balance Volume": ({}, lambda t, x: (t.OBV(x["close"], x["volume"]),)),
    "Money Flow Index": ({}, lambda t, x: (t.MFI(*hlc(x), x["volume"], 14),)),
    "Williams %R": ({}, lambda t, x: (t.WILLR(*hlc(x), 14),)),
    "Rate Of Change": ({}, lambda t, x: (t.ROC(x["close"], 9),)),
    "Momentum": ({}, lambda t, x: (t.MOM(x["close"], 10),)),
    "Aroon": ({}, lambda t, x: t.AROON(x["high"], x["low"], 14)[::-1]),
}  # fmt: skip


def lines_of(name: str, candles: Sequence[Candle], **given: Scalar) -> list[Line]:
    study = STUDIES[name]
    lines = study.lines(candles, settle(study, given).inputs)
    return [lines[plot.key] for plot in study.plots]


@cache
def walked(seed: int, *, fine: bool) -> Sequence[Candle]:
    # Where a low meets a stop exactly TA-Lib turns and we, as the usual chart, do not: too fine a grid for that.
    return market(bars=600, seed=seed, decimals=8) if fine else walk(seed)


def columns_of(candles: Sequence[Candle], numpy: ModuleType) -> Columns:
    names = ("open", "high", "low", "close", "volume")
    return {name: numpy.array([float(getattr(each, name)) for each in candles]) for name in names}


@pytest.mark.flood
@pytest.mark.parametrize("name", PAIRS)
def test_a_study_agrees_with_ta_lib_once_both_are_warm(name: str) -> None:
    talib = pytest.importorskip("talib", reason="needs TA-Lib, the second opinion on every study")
    numpy = pytest.importorskip("numpy")
    given, oracle = PAIRS[name]

    for seed in SERIES:
        candles = walked(seed, fine=name == "Parabolic SAR")
        lines = lines_of(name, candles, **given)
        expected = [*oracle(talib, columns_of(candles, numpy))]
        if name == "MACD":
            expected = [expected[0], expected[2], expected[1]]

        assert len(lines) == len(expected)
        for line, theirs in zip(lines, expected, strict=True):
            assert line[WARM:] == pytest.approx(list(theirs[WARM:]), rel=1e-6, abs=1e-6), seed


@pytest.mark.parametrize("name", ASKED)
def test_every_study_asked_for_is_there(name: str) -> None:
    assert name in STUDIES


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_names_inputs_and_plots_are_those_of_the_catalogue(study: Study) -> None:
    indicator = bundled_catalogue().indicator(study.name)

    assert indicator is not None
    assert indicator.overlay is study.overlay
    publics = indicator.defaults()
    extra = set(study.inputs) - set(publics)
    assert not extra
    assert {key: value for key, value in study.inputs.items() if publics[key] != value} == {}
    stems = {plot.key.partition(".")[0] for plot in study.plots}
    assert all(any(key.startswith(f"{stem}.") for key in indicator.override) for stem in stems)
    assert {band.upper for band in study.bands} | {band.lower for band in study.bands} <= {
        plot.key for plot in study.plots
    }


# A running sum has no level of its own: on-balance volume depends on where it began.
@pytest.mark.flood  # a thousand bars of every study
@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"On Balance Volume"}))
def test_with_its_warm_up_a_study_shows_what_it_would_show_with_all_of_history(name: str) -> None:
    study, candles, shown = STUDIES[name], market(bars=1000), 120
    inputs = settle(study, {}).inputs
    needed = max(study.warm_up(inputs), 24 if study.anchored else 0)

    history = study.lines(candles, inputs)
    loaded = study.lines(candles[-shown - needed :], inputs)

    for plot in study.plots:
        whole, part = history[plot.key][len(candles) - shown :], loaded[plot.key][needed:]
        assert [value is None for value in part] == [value is None for value in whole]
        known = [(now, before) for now, before in zip(part, whole, strict=True) if now is not None]
        reach = max((abs(before) for _, before in known if before is not None), default=1.0)
        assert all(before is not None and abs(now - before) < 1e-4 * reach for now, before in known)


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_market_that_stands_still_has_finite_values(study: Study) -> None:
    still = [candle(5, 5, 5, 5, 0, at=at) for at in range(200)]

    lines = study.lines(still, settle(study, {}).inputs)

    assert set(lines) == {plot.key for plot in study.plots}
    assert all(abs(value) < 1e6 for line in lines.values() for value in line if value is not None)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_the_shortest_lengths_work(study: Study, length: int) -> None:
    shortest: dict[str, Scalar] = {
        key: length for key, value in study.inputs.items() if isinstance(value, int) and not isinstance(value, bool)
    }

    lines = study.lines(market(bars=60), settle(study, shortest).inputs)

    assert all(any(value is not None for value in line) for key, line in lines.items() if key != "SuperTrend.0")


def test_the_average_price_by_volume_begins_anew_every_day() -> None:
    candles = [candle(5, 6, 4, 5 + at % 7, 1 + at % 3, at=at) for at in range(60)]

    (line,) = lines_of("VWAP", candles)

    first = candles[24]
    assert line[24] == pytest.approx(float(first.quote_volume / first.volume))
    assert line[47] == pytest.approx(
        float(sum(each.quote_volume for each in candles[24:48]) / sum(each.volume for each in candles[24:48]))
    )


def test_a_trailing_stop_is_on_one_side_of_the_price_at_a_time() -> None:
    candles = market(bars=400)

    rising, falling = lines_of("Super Trend", candles)

    for bar, (below, above) in enumerate(zip(rising, falling, strict=True)):
        assert bar < 10 or (below is None) is not (above is None)
        assert below is None or below <= float(candles[bar].close)
        assert above is None or above >= float(candles[bar].close)
    assert any(value is not None for value in rising)
    assert any(value is not None for value in falling)


def test_the_cloud_lies_ahead_and_the_lagging_span_behind() -> None:
    candles = market(bars=200)

    conversion, _, lagging, span_a, span_b = lines_of("Ichimoku Cloud", candles)

    assert len(span_a) == len(span_b) == 225
    assert len(conversion) == len(lagging) == 200
    assert lagging[100] == float(candles[125].close)
    assert lagging[-25:] == [None] * 25
    highs, lows = [float(each.high) for each in candles], [float(each.low) for each in candles]
    assert span_b[-1] == pytest.approx((max(highs[-52:]) + min(lows[-52:])) / 2)


def test_the_default_stochastic_is_that_of_the_usual_chart() -> None:
    candles = market(bars=120)

    plain, labelled = lines_of("Stochastic", candles), lines_of("Stochastic", candles, d=3, smooth=1)

    assert plain == labelled


def test_an_offset_moves_a_line() -> None:
    assert shifted([1.0, 2.0], 1) == [None, 1.0, 2.0]
    assert shifted([1.0, 2.0, 3.0], -1) == [2.0, 3.0, None]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"length": 0}, "param_out_of_range"), ({"length": 1.5}, "param_out_of_range"),
        ({"length": "x"}, "param_out_of_range"), ({"length": float("nan")}, "param_out_of_range"),
        ({"source": "hl3"}, "param_out_of_range"), ({"size": 3}, "study_input_unknown"),
        ({"smoothingLine": "EMA"}, "study_input_ignored"),
    ],
)  # fmt: skip
def test_an_input_that_cannot_be_is_the_default_and_said(given: dict[str, Scalar], code: str) -> None:
    settled = settle(STUDIES["Moving Average"], given)

    assert settled.inputs == Inputs({"length": 9, "source": "close", "offset": 0})
    assert [warning.partition(":")[0] for warning in settled.warnings] == [code]


def test_a_label_names_the_inputs_that_matter() -> None:
    average = STUDIES["Moving Average"]

    assert settle(average, {"length": 50.0}).label == "SMA 50"
    assert settle(average, {"length": 50, "source": "hl2", "offset": 5}).label == "SMA 50 hl2 5"
    assert settle(STUDIES["Keltner Channels"], {"mult": 1.5}).label == "KC 20 1.5"
