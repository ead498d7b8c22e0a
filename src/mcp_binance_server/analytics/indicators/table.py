"""Table of the indicators that callers can request: parameters, lines, and required bars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.indicators.basic import Line, closes
from mcp_binance_server.analytics.indicators.talipp_adapter import vwap
from mcp_binance_server.domain.periods import Candle, Interval

# Seeds with less weight than this are not reported.
SETTLED = 0.01

Arguments = Mapping[str, float]
Lines = dict[str, Line]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A numeric parameter of an indicator, with its default and range."""

    name: str
    default: float
    low: float
    high: float
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Seed:
    """The seed of a recursive average: its decay rate, and the bar at which it was the only value."""

    alpha: float
    bar: int

    def weight(self, bar: int) -> float:
        """Return the remaining weight of the seed at a bar. The first bar is 1."""
        return (1 - self.alpha) ** max(0, bar - self.bar) if self.alpha < 1 else 0.0


@dataclass(frozen=True, slots=True)
class Indicator:
    """One indicator. `compute` and `minimum_bars` take all parameters by name."""

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    lines: tuple[str, ...]
    minimum_bars: Callable[[Arguments], int]
    compute: Callable[[Sequence[Candle], Arguments], Lines]
    anchored: bool = False  # restarts in each period; callers can choose the period
    running: bool = False  # a running sum, from the first bar shown or from the chosen anchor
    # by line; lines without a lasting seed are left out
    seeds: Callable[[Arguments], Mapping[str, Seed]] = lambda _: {}

    @property
    def defaults(self) -> dict[str, float]:
        return {each.name: each.default for each in self.parameters}


def _period(default: int, low: int = 2) -> Parameter:
    return Parameter("n", default, low, 200)


def _n(arguments: Arguments) -> int:
    return int(arguments["n"])


def _exponential(n: float, bar: float) -> Seed:
    return Seed(2 / (n + 1), int(bar))


def _macd_seeds(given: Arguments) -> dict[str, Seed]:
    longest, signal = max(given["fast"], given["slow"]), given["signal"]
    # The signal is an average of an average. Report the seed of the slower one, because it lasts longer.
    later = _exponential(max(longest, signal), longest + signal - 1)
    return {"macd": _exponential(longest, longest), "signal": later, "histogram": later}


def _adx_seeds(given: Arguments) -> dict[str, Seed]:
    n = _n(given)
    directions = dict.fromkeys(("plus_di", "minus_di"), Seed(1 / n, n + 1))
    return {"adx": Seed(1 / n, 2 * n), **directions}


def _macd(candles: Sequence[Candle], arguments: Arguments) -> Lines:
    got = indicators.macd(closes(candles), int(arguments["fast"]), int(arguments["slow"]), int(arguments["signal"]))
    return {"macd": got.macd, "signal": got.signal, "histogram": got.histogram}


def _bollinger(candles: Sequence[Candle], arguments: Arguments) -> Lines:
    got = indicators.bollinger(closes(candles), _n(arguments), arguments["deviations"])
    return {"lower": got.lower, "middle": got.middle, "upper": got.upper}


def _stochastic(candles: Sequence[Candle], arguments: Arguments) -> Lines:
    got = indicators.stochastic(candles, _n(arguments), int(arguments["smooth"]))
    return {"k": got.k, "d": got.d}


def _adx(candles: Sequence[Candle], arguments: Arguments) -> Lines:
    got = indicators.adx(candles, _n(arguments))
    return {"adx": got.adx, "plus_di": got.plus_di, "minus_di": got.minus_di}


_ENTRIES = (
    Indicator(
        "sma", "Simple moving average", (_period(20, 1),), ("sma",), _n,
        lambda candles, given: {"sma": indicators.sma(closes(candles), _n(given))},
    ),
    Indicator(
        "ema", "Exponential moving average", (_period(20, 1),), ("ema",), _n,
        lambda candles, given: {"ema": indicators.ema(closes(candles), _n(given))},
        seeds=lambda given: {"ema": _exponential(_n(given), _n(given))},
    ),
    Indicator(
        "rsi", "Relative strength index (Wilder)", (_period(14),), ("rsi",), lambda given: _n(given) + 1,
        lambda candles, given: {"rsi": indicators.rsi(closes(candles), _n(given))},
        seeds=lambda given: {"rsi": Seed(1 / _n(given), _n(given) + 1)},
    ),
    Indicator(
        "atr", "Average true range (Wilder)", (_period(14, 1),), ("atr",), lambda given: _n(given) + 1,
        lambda candles, given: {"atr": indicators.atr(candles, _n(given))},
        seeds=lambda given: {"atr": Seed(1 / _n(given), _n(given) + 1)},
    ),
    Indicator(
        "macd", "Moving average convergence divergence",
        (Parameter("fast", 12, 2, 100), Parameter("slow", 26, 3, 200), Parameter("signal", 9, 1, 100)),
        ("macd", "signal", "histogram"),
        lambda given: int(max(given["fast"], given["slow"]) + given["signal"]) - 1, _macd,
        seeds=_macd_seeds,
    ),
    Indicator(
        "bollinger", "Bollinger bands (population deviation)",
        (_period(20), Parameter("deviations", 2.0, 0.5, 5.0, whole=False)), ("lower", "middle", "upper"), _n,
        _bollinger,
    ),
    Indicator(
        "stochastic", "Fast stochastic", (_period(14), Parameter("smooth", 3, 1, 50)), ("k", "d"),
        lambda given: _n(given) + int(given["smooth"]) - 1, _stochastic,
    ),
    Indicator(
        "adx", "Average directional index (Wilder)", (_period(14),), ("adx", "plus_di", "minus_di"),
        lambda given: 2 * _n(given), _adx, seeds=_adx_seeds,
    ),
    Indicator(
        "obv", "On-balance volume since the first bar shown", (), ("obv",), lambda _: 1,
        lambda candles, _: {"obv": indicators.obv(candles)}, running=True,
    ),
    Indicator(
        "vwap", "Volume-weighted average price since the day or month began", (), ("vwap",), lambda _: 1,
        lambda candles, _: {"vwap": vwap(candles)}, anchored=True,
    ),
)  # fmt: skip

INDICATORS: Mapping[str, Indicator] = MappingProxyType({each.name: each for each in _ENTRIES})


@dataclass(frozen=True, slots=True)
class IndicatorReading:
    """The last values of each line, their bars, the number of bars used, and the remaining weights of the seeds."""

    interval: Interval
    bars_used: int
    first_open_ms: int | None
    bars: tuple[Candle, ...]
    lines: Mapping[str, tuple[float | None, ...]]
    seed_weights: Mapping[str, tuple[float, ...]]
