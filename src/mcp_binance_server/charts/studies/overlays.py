"""Studies in the price pane: averages, bands, Ichimoku cloud, trailing stops."""

from collections.abc import Callable, Sequence
from math import isqrt

from mcp_binance_server.analytics.indicators import averages
from mcp_binance_server.analytics.indicators.basic import bollinger, ema, sma
from mcp_binance_server.analytics.indicators.talipp_adapter import Line, vwap
from mcp_binance_server.charts.studies.study import (
    Band,
    Inputs,
    Lines,
    Plot,
    Scalar,
    Study,
    exponential,
    recursive,
    shifted,
    window,
)  # fmt: skip
from mcp_binance_server.domain.periods import Candle

BLUE, ORANGE, GREEN, RED, PINK = "#2196f3", "#ff6d00", "#43a047", "#f23645", "#e91e63"
CHANNEL = (Plot("Upper", BLUE), Plot("Middle", ORANGE), Plot("Lower", BLUE))
SHADE = ("rgba(33,150,243,0.09)",)
FULL = ("source", "offset")
SMOOTHING = ("smoothingLine", "smoothingLength")

Average = Callable[[Sequence[float], int], Line]


def _average(
    name: str,
    title: str,
    average: Average,
    length: int,
    *,
    more: tuple[str, ...] = (),
    plot: str = "Plot",
    warm_up: Callable[[Inputs], int] | None = None,
) -> Study:
    def lines(candles: Sequence[Candle], given: Inputs) -> Lines:
        line = average(given.source(candles), given.whole("length"))
        return {plot: shifted(line, given.whole("offset")) if "offset" in more else line}

    defaults: dict[str, Scalar] = {"length": length, "source": "close", "offset": 0}
    return Study(
        name=name,
        title=title,
        plots=(Plot(plot),),
        lines=lines,
        warm_up=warm_up or recursive("length"),
        inputs={key: value for key, value in defaults.items() if key in ("length", *more)},
        overlay=True,
        unit="price",
        undrawn=SMOOTHING,
    )


def _hull_window(given: Inputs) -> int:
    return given.whole("length") + isqrt(given.whole("length"))


def _bollinger(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = bollinger(given.source(candles), given.whole("length"), given.number("stdDev"))
    return {"Upper": got.upper, "Median": got.middle, "Lower": got.lower}


def _keltner(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = averages.keltner(candles, given.whole("length"), given.number("mult"), true_range=given.flag("trueRange"))
    return {"Upper": got.upper, "Middle": got.middle, "Lower": got.lower}


def _donchian(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = averages.donchian(candles, given.whole("length"))
    return {"Upper": got.upper, "Basis": got.middle, "Lower": got.lower}


def _envelopes(candles: Sequence[Candle], given: Inputs) -> Lines:
    middle = averages.by_name(given.text("method"))(given.source(candles), given.whole("length"))
    above, below = 1 + given.number("upperPercent") / 100, 1 - given.number("lowerPercent") / 100
    return {
        "Upper": [None if value is None else value * above for value in middle],
        "Average": middle,
        "Lower": [None if value is None else value * below for value in middle],
    }


def _ichimoku(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = averages.ichimoku(candles, given.whole("conversion"), given.whole("base"), given.whole("spanB"))
    ahead = given.whole("lagging") - 1
    closes: Line = [float(each.close) for each in candles]
    return {
        "ConversionLine": got.conversion,
        "BaseLine": got.baseline,
        "LaggingSpan": shifted(closes, -ahead),
        "LeadingSpanA": shifted(got.span_a, ahead),
        "LeadingSpanB": shifted(got.span_b, ahead),
    }


def _super_trend(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = averages.super_trend(candles, given.whole("length"), given.number("factor"))
    return {"SuperTrend.0": got.rising, "SuperTrend.1": got.falling}


def _sar(candles: Sequence[Candle], given: Inputs) -> Lines:
    return {
        "Plot": averages.parabolic_sar(candles, given.number("start"), given.number("increment"), given.number("max"))
    }


def _cross(candles: Sequence[Candle], given: Inputs) -> Lines:
    closes = given.source(candles)
    return {"PlotShort": sma(closes, given.whole("fast")), "PlotLong": sma(closes, given.whole("slow"))}


def _alligator(candles: Sequence[Candle], given: Inputs) -> Lines:
    middles = [float(each.high + each.low) / 2 for each in candles]
    return {
        part.capitalize(): shifted(averages.smma(middles, given.whole(part)), given.whole(f"{part}Offset"))
        for part in ("jaw", "teeth", "lips")
    }


def _vwma(candles: Sequence[Candle], given: Inputs) -> Lines:
    volumes = [float(each.volume) for each in candles]
    return {"Plot": averages.vwma(given.source(candles), volumes, given.whole("length"))}


def _alma(candles: Sequence[Candle], given: Inputs) -> Lines:
    closes = given.source(candles)
    return {"Plot": averages.alma(closes, given.whole("length"), given.number("offset"), given.number("sigma"))}


OVERLAYS = (
    _average("Moving Average", "SMA", sma, 9, more=FULL, warm_up=window("length")),
    _average("Moving Average Exponential", "EMA", ema, 9, more=FULL, warm_up=exponential),
    _average("Moving Average Weighted", "WMA", averages.wma, 9, more=FULL, warm_up=window("length")),
    _average("Hull Moving Average", "HMA", averages.hma, 9, warm_up=_hull_window),
    _average("Smoothed Moving Average", "SMMA", averages.smma, 7, more=("source",)),
    _average("Double EMA", "DEMA", averages.dema, 9),
    _average("Triple EMA", "TEMA", averages.tema, 9),
    _average("Moving Average Adaptive", "KAMA", averages.kama, 10, plot="Plot 1"),
    Study(
        "VWMA", "VWMA", (Plot("Plot"),), _vwma, window("length"), {"length": 20}, overlay=True, unit="price",
    ),
    Study(
        "Arnaud Legoux Moving Average", "ALMA", (Plot("Plot"),), _alma, window("length"),
        {"length": 9, "offset": 0.85, "sigma": 6.0}, overlay=True, unit="price",
    ),
    Study(
        "VWAP", "VWAP", (Plot("VWAP", anchored=True, width=1.6),),
        lambda candles, _: {"VWAP": vwap(candles)}, lambda _: 1,
        overlay=True, unit="price", anchored=True,
    ),
    # The profile is drawn as rows, not as lines: see render/series/volume_profile.py.
    Study(
        "Volume Profile Visible Range", "VPVR", (), lambda _, __: {}, lambda _: 0,
        {"rows": 24, "volume": "Up/Down", "valueArea": 70}, overlay=True, unit="price",
    ),
    Study(
        "Bollinger Bands", "BB", (Plot("Upper", BLUE), Plot("Median", ORANGE), Plot("Lower", BLUE)), _bollinger,
        window("length"), {"length": 20, "stdDev": 2.0}, overlay=True, unit="price",
        bands=(Band("Upper", "Lower", SHADE),),
    ),
    Study(
        "Keltner Channels", "KC", CHANNEL, _keltner, recursive("length"),
        {"length": 20, "mult": 1.0, "trueRange": True}, overlay=True, unit="price",
        bands=(Band("Upper", "Lower", SHADE),),
    ),
    Study(
        "Donchian Channels", "DC", (Plot("Upper", BLUE), Plot("Basis", ORANGE), Plot("Lower", BLUE)), _donchian,
        window("length"), {"length": 20}, overlay=True, unit="price", bands=(Band("Upper", "Lower", SHADE),),
    ),
    Study(
        "Envelopes", "Env", (Plot("Upper", BLUE), Plot("Average", ORANGE), Plot("Lower", BLUE)), _envelopes,
        window("length"),
        {"length": 20, "upperPercent": 2.0, "lowerPercent": 2.0, "method": "Simple", "source": "close"},
        overlay=True, unit="price", bands=(Band("Upper", "Lower", SHADE),),
    ),
    Study(
        "Ichimoku Cloud", "Ichimoku",
        (
            Plot("ConversionLine", BLUE), Plot("BaseLine", "#e53935"),
            Plot("LaggingSpan", GREEN, width=1, looks_ahead=True),
            Plot("LeadingSpanA", "#81c784", width=1), Plot("LeadingSpanB", "#e57373", width=1),
        ),
        _ichimoku, window("spanB", "lagging"), {"conversion": 9, "base": 26, "spanB": 52, "lagging": 26},
        overlay=True, unit="price",
        bands=(Band("LeadingSpanA", "LeadingSpanB", ("rgba(67,160,71,0.14)", "rgba(244,67,54,0.14)")),),
    ),
    Study(
        "Super Trend", "SuperTrend", (Plot("SuperTrend.0", "#089981", width=2), Plot("SuperTrend.1", RED, width=2)),
        _super_trend, recursive("length"), {"length": 10, "factor": 3.0}, overlay=True, unit="price",
    ),
    Study(
        "Parabolic SAR", "SAR", (Plot("Plot", BLUE, kind="dots", width=1.6),), _sar, lambda _: 250,
        {"start": 0.02, "increment": 0.02, "max": 0.2}, overlay=True, unit="price",
    ),
    Study(
        "MA Cross", "MA Cross", (Plot("PlotShort", GREEN), Plot("PlotLong", ORANGE)), _cross, window("slow"),
        {"fast": 9, "slow": 26}, overlay=True, unit="price",
    ),
    Study(
        "Williams Alligator", "Alligator", (Plot("Jaw", BLUE), Plot("Teeth", PINK), Plot("Lips", "#66bb6a")),
        _alligator, recursive("jaw"),
        {"jaw": 21, "teeth": 13, "lips": 8, "jawOffset": 8, "teethOffset": 5, "lipsOffset": 3},
        overlay=True, unit="price",
    ),
)  # fmt: skip
