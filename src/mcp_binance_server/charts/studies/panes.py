"""Studies in panes of their own: momentum, strength, volatility, volume."""

from collections.abc import Callable, Sequence

from mcp_binance_server.analytics.indicators import oscillators
from mcp_binance_server.analytics.indicators.basic import adx, atr, bollinger, macd, obv, rsi
from mcp_binance_server.analytics.indicators.talipp_adapter import Line, bars_of, library
from mcp_binance_server.charts.studies.overlays import BLUE, ORANGE, SMOOTHING
from mcp_binance_server.charts.studies.study import Inputs, Level, Lines, Plot, Study, recursive, window
from mcp_binance_server.domain.periods import Candle

PURPLE = "#8e6bd8"
# Shrinking columns are translucent. Pastel colours would glare on a dark background.
HISTOGRAM = ("#22ab94", "rgba(34,171,148,0.45)", "rgba(255,82,82,0.45)", "#ff5252")
UP_DOWN = ("#22ab94", "#f7525f")
ZERO = (Level("Zero", 0.0),)

Rule = Callable[[Sequence[Candle], Inputs], Line]


def _one(key: str, rule: Rule) -> Callable[[Sequence[Candle], Inputs], Lines]:
    return lambda candles, given: {key: rule(candles, given)}


def _limits(upper: float, lower: float) -> tuple[Level, ...]:
    return Level("UpperLimit", upper), Level("LowerLimit", lower)


def _stochastic(candles: Sequence[Candle], given: Inputs) -> Lines:
    smooth, d = given.whole("smooth"), given.whole("d")
    # The catalogue swaps the labels of TradingView's two defaults. Taken literally, %D would hide %K.
    if (d, smooth) == (1, 3):
        smooth, d = 1, 3
    got = oscillators.smoothed_stochastic(candles, given.whole("k"), smooth, d)
    return {"%K": got.k, "%D": got.d}


def _stochastic_rsi(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = oscillators.stochastic_rsi(
        given.source(candles), given.whole("rsi"), given.whole("stoch"), given.whole("k"), given.whole("d")
    )
    return {"%K": got.k, "%D": got.d}


def _macd(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = macd(given.source(candles), given.whole("fast"), given.whole("slow"), given.whole("signal"))
    return {"Histogram": got.histogram, "MACD": got.macd, "Signal": got.signal}


def _directions(candles: Sequence[Candle], given: Inputs) -> Lines:
    got = adx(candles, given.whole("di"))
    return {"+DI": got.plus_di, "-DI": got.minus_di, "ADX": got.adx}


def _adx(candles: Sequence[Candle], given: Inputs) -> Line:
    rows = library().ADX(given.whole("di"), given.whole("smoothing"), bars_of(candles)).output_values
    return [None if row is None else row.adx for row in rows]


def _place_in_bands(candles: Sequence[Candle], given: Inputs) -> Line:
    closes = given.source(candles)
    got = bollinger(closes, given.whole("length"), given.number("stdDev"))
    return [
        None if low is None or high is None else (close - low) / (high - low) if high > low else 0.5
        for close, low, high in zip(closes, got.lower, got.upper, strict=True)
    ]


def _width_of_bands(candles: Sequence[Candle], given: Inputs) -> Line:
    got = bollinger(given.source(candles), given.whole("length"), given.number("stdDev"))
    return [
        None if low is None or high is None or not middle else (high - low) / middle
        for low, middle, high in zip(got.lower, got.middle, got.upper, strict=True)
    ]


def _aroon(candles: Sequence[Candle], given: Inputs) -> Lines:
    up, down = oscillators.aroon(candles, given.whole("length"))
    return {"Upper": up, "Lower": down}


PANES = (
    Study(
        "Volume", "Vol", (Plot("Volume", kind="columns", colours=UP_DOWN),),
        _one("Volume", lambda candles, _: [float(each.volume) for each in candles]), lambda _: 0,
        unit="volume", centred=True,
    ),
    Study(
        "Relative Strength Index", "RSI", (Plot("Plot", PURPLE),),
        _one("Plot", lambda candles, given: rsi(given.source(candles), given.whole("length"))), recursive("length"),
        {"length": 14}, levels=_limits(70, 30), bounds=(0, 100), undrawn=SMOOTHING,
    ),
    Study(
        "Stochastic", "Stoch", (Plot("%K", BLUE), Plot("%D", ORANGE)), _stochastic, window("k", "d", "smooth"),
        {"k": 14, "d": 1, "smooth": 3}, levels=_limits(80, 20), bounds=(0, 100),
    ),
    Study(
        "Stochastic RSI", "Stoch RSI", (Plot("%K", BLUE), Plot("%D", ORANGE)), _stochastic_rsi,
        recursive("rsi", "stoch"), {"rsi": 14, "stoch": 14, "k": 3, "d": 3}, levels=_limits(80, 20), bounds=(0, 100),
    ),
    Study(
        "MACD", "MACD",
        (Plot("Histogram", kind="columns", colours=HISTOGRAM), Plot("MACD", BLUE), Plot("Signal", ORANGE)), _macd,
        recursive("slow"), {"fast": 12, "slow": 26, "signal": 9, "source": "close"}, unit="price", centred=True,
    ),
    Study(
        "Average True Range", "ATR", (Plot("Plot", "#ef5350"),),
        _one("Plot", lambda candles, given: atr(candles, given.whole("length"))), recursive("length"),
        {"length": 14}, unit="price",
    ),
    Study(
        "Average Directional Index", "ADX", (Plot("ADX", "#ff5252"),), _one("ADX", _adx),
        recursive("smoothing", "di"), {"smoothing": 14, "di": 14}, bounds=(0, 100), levels=(Level("Trend", 25.0),),
    ),
    Study(
        "Directional Movement", "DMI", (Plot("+DI", BLUE), Plot("-DI", "#f50057"), Plot("ADX", "#ffa726")),
        _directions, recursive("di"), {"di": 14, "smoothing": 14}, bounds=(0, 100),
    ),
    Study(
        "Commodity Channel Index", "CCI", (Plot("Plot", BLUE),),
        _one("Plot", lambda candles, given: oscillators.cci(candles, given.whole("length"))), window("length"),
        {"length": 20}, levels=_limits(100, -100), undrawn=SMOOTHING,
    ),
    Study(
        "On Balance Volume", "OBV", (Plot("Plot", BLUE),), _one("Plot", lambda candles, _: obv(candles)),
        lambda _: 1, unit="volume", undrawn=SMOOTHING, running=True,
    ),
    Study(
        "Money Flow Index", "MFI", (Plot("Plot", PURPLE),),
        _one("Plot", lambda candles, given: oscillators.money_flow(candles, given.whole("length"))),
        window("length"), {"length": 14}, levels=_limits(80, 20), bounds=(0, 100),
    ),
    Study(
        "Williams %R", "%R", (Plot("Plot", PURPLE),),
        _one("Plot", lambda candles, given: oscillators.williams_r(candles, given.whole("length"))),
        window("length"), {"length": 14}, levels=_limits(-20, -80), bounds=(-100, 0),
    ),
    Study(
        "Rate Of Change", "ROC", (Plot("ROC", BLUE),),
        _one("ROC", lambda candles, given: oscillators.rate_of_change(given.source(candles), given.whole("length"))),
        window("length"), {"length": 9}, levels=(Level("Zero Line", 0.0),), centred=True,
    ),
    Study(
        "Momentum", "Mom", (Plot("Mom", BLUE),),
        _one("Mom", lambda candles, given: oscillators.momentum(given.source(candles), given.whole("length"))),
        window("length"), {"length": 10, "source": "close"}, levels=ZERO, unit="price", centred=True,
    ),
    Study(
        "Awesome Oscillator", "AO", (Plot("Plot", kind="columns", colours=UP_DOWN),),
        _one("Plot", lambda candles, _: oscillators.awesome(candles)), lambda _: 34, unit="price", centred=True,
    ),
    Study(
        "Aroon", "Aroon", (Plot("Upper", "#fb8c00"), Plot("Lower", BLUE)), _aroon, window("length"), {"length": 14},
        bounds=(0, 100),
    ),
    Study(
        "Chaikin Money Flow", "CMF", (Plot("Plot", "#43a047"),),
        _one("Plot", lambda candles, given: oscillators.chaikin_money_flow(candles, given.whole("length"))),
        window("length"), {"length": 20}, levels=ZERO, centred=True,
    ),
    Study(
        "Bollinger Bands %B", "BB %B", (Plot("Plot", "#22ab94"),), _one("Plot", _place_in_bands), window("length"),
        {"length": 20, "stdDev": 2.0}, levels=_limits(1.0, 0.0),
    ),
    Study(
        "Bollinger Bands Width", "BBW", (Plot("Plot", ORANGE),), _one("Plot", _width_of_bands), window("length"),
        {"length": 20, "stdDev": 2.0},
    ),
)  # fmt: skip
