"""The pictures that are kept: every style, theme and study, prices from 0.00001 to 100,000, and the odd cases."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from charts.render.market import DAY_MS, END_MS, HOUR_MS, candle, market
from mcp_binance_server.charts.render.spec import (
    Anchor,
    ChartSpec,
    ComparedSeries,
    DrawingSpec,
    Looks,
    Scalar,
    StudySpec,
)
from mcp_binance_server.domain.periods import Candle

SMALL = ChartSpec("BTCUSDT", "1h", width=800, height=450, bars=120)
LIGHT = replace(SMALL, theme="light")
WIDE = ChartSpec("BTCUSDT", "1h", bars=160)


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: what it shows and of which market."""

    spec: ChartSpec
    candles: Callable[[], list[Candle]] = market


def study(name: str, **inputs: Scalar) -> StudySpec:
    return StudySpec(name, inputs)


def ago(bars: float, step_ms: int = HOUR_MS) -> int:
    return END_MS - int(bars * step_ms)


def at(bars: float, price: float, step_ms: int = HOUR_MS) -> Anchor:
    return Anchor(ago(bars, step_ms), price)


def pepe() -> list[Candle]:
    return market(price=0.00001234, decimals=8, seed=3, volatility=0.012)


def dust() -> list[Candle]:
    return market(price=0.00001, decimals=8, seed=5, volatility=0.02)


def solana() -> list[Candle]:
    return market(price=184.5, decimals=2, seed=11, step_ms=4 * HOUR_MS, volatility=0.01)


def doge() -> list[Candle]:
    return market(price=0.38125, decimals=5, seed=21, volatility=0.009)


def hundred_thousand() -> list[Candle]:
    return market(price=100_000, decimals=2, seed=13, step_ms=DAY_MS, bars=900, volatility=0.018)


def rally() -> list[Candle]:
    return market(price=3_120, decimals=2, seed=17, step_ms=DAY_MS, bars=900, volatility=0.03, drift=0.008)


def quarter_hours() -> list[Candle]:
    return market(price=2_480, decimals=2, seed=29, step_ms=HOUR_MS // 4, bars=600, volatility=0.0025)


def flat() -> list[Candle]:
    still = market(bars=200, price=1.0001, decimals=4, volatility=0.0001)[0].open
    return [candle(ago(199 - bar), HOUR_MS, (still, still, still, still), still * 0) for bar in range(200)]


VOLUME = study("Volume")
BB, RSI, MACD = study("Bollinger Bands"), study("Relative Strength Index"), study("MACD")


def ema(length: int) -> StudySpec:
    return study("Moving Average Exponential", length=length)


def sma(length: int) -> StudySpec:
    return study("Moving Average", length=length)


def other() -> ComparedSeries:
    bars = market(price=3_480, seed=9, volatility=0.008)
    return ComparedSeries(
        "ETHUSDT", tuple(each.open_time_ms for each in bars), tuple(float(each.close) for each in bars)
    )


SCENES: dict[str, Scene] = {
    "volume-profile-dark": Scene(replace(SMALL, studies=(study("Volume Profile Visible Range"), VOLUME))),
    "three-bands-light": Scene(
        replace(LIGHT, studies=(BB, study("Keltner Channels"), study("Donchian Channels"), sma(50), VOLUME))
    ),
    "compared-dark": Scene(replace(SMALL, scale="percent", studies=(VOLUME,), compared=(other(),))),
    "position-ahead-light": Scene(
        replace(LIGHT, studies=(VOLUME,), drawings=(
            DrawingSpec("Short Position", (Anchor(price=68_000),), target=65_000, stop=69_200),
        )),
    ),
    "candle-dark": Scene(replace(WIDE, studies=(BB, VOLUME, RSI))),
    "candle-light": Scene(replace(WIDE, theme="light", studies=(ema(21), ema(55), sma(200), VOLUME, MACD))),
    "hollow-dark": Scene(replace(SMALL, style="hollowCandle", studies=(VOLUME,))),
    "hollow-light": Scene(replace(LIGHT, symbol="SOLUSDT", interval="4h", style="hollowCandle", bars=80), solana),
    "heikin-ashi-dark": Scene(replace(SMALL, style="heikinAshi", studies=(study("Super Trend"),))),
    "heikin-ashi-light": Scene(
        replace(LIGHT, symbol="DOGEUSDT", style="heikinAshi", bars=90, studies=(VOLUME, study("Stochastic"))), doge
    ),
    "bar-dark": Scene(replace(SMALL, style="bar", bars=70, studies=(study("Donchian Channels"),))),
    "bar-light": Scene(replace(LIGHT, style="bar", bars=100, studies=(study("Hull Moving Average", length=21),))),
    "line-dark": Scene(replace(SMALL, style="line", bars=200, studies=(sma(50), study("Rate Of Change")))),
    "line-light": Scene(replace(LIGHT, symbol="PEPEUSDT", style="line", bars=150), pepe),
    "area-dark": Scene(replace(SMALL, symbol="DOGEUSDT", style="area", bars=150, studies=(VOLUME,)), doge),
    "area-light": Scene(
        replace(LIGHT, interval="1D", style="area", bars=200, studies=(study("Average True Range"),)), hundred_thousand
    ),
    "baseline-dark": Scene(replace(SMALL, style="baseline", bars=150)),
    "baseline-light": Scene(replace(LIGHT, style="baseline", bars=150, studies=(study("Money Flow Index"),))),
    "ichimoku-dark": Scene(replace(SMALL, width=1000, height=560, studies=(study("Ichimoku Cloud"),))),
    "trailing-stops-light": Scene(
        replace(LIGHT, symbol="SOLUSDT", interval="4h", bars=90,
                studies=(study("Parabolic SAR"), study("Super Trend", factor=2))), solana,
    ),
    "vwap-dark": Scene(
        replace(SMALL, symbol="ETHUSDT", interval="15m", bars=240, studies=(study("VWAP"), VOLUME)), quarter_hours
    ),
    "channels-light": Scene(
        replace(LIGHT, studies=(study("Keltner Channels", mult=2), study("Moving Average Weighted", length=30)))
    ),
    "four-panes-dark": Scene(
        replace(SMALL, width=1000, height=760, studies=(
            VOLUME, RSI, MACD, study("Stochastic RSI"), study("Average Directional Index"))),
    ),
    "volumes-light": Scene(
        replace(LIGHT, height=560, studies=(
            study("On Balance Volume"), study("Commodity Channel Index"), study("Williams %R"))),
    ),
    "price-0.00001234-dark": Scene(
        replace(SMALL, symbol="PEPEUSDT", studies=(BB, VOLUME, MACD)), pepe
    ),
    "price-0.00001-light": Scene(replace(LIGHT, symbol="DUSTUSDT", bars=60, studies=(ema(20),)), dust),
    "price-100000-dark": Scene(
        replace(SMALL, interval="1D", bars=160, studies=(sma(50), sma(200), VOLUME, RSI)), hundred_thousand
    ),
    "logarithmic-dark": Scene(
        replace(SMALL, symbol="ETHUSDT", interval="1D", bars=600, style="line", scale="logarithmic"), rally
    ),
    "percent-light": Scene(replace(LIGHT, scale="percent", studies=(ema(21), VOLUME))),
    "indexed-dark": Scene(replace(SMALL, symbol="SOLUSDT", interval="4h", scale="indexedTo100", style="area"), solana),
    "long-position-dark": Scene(
        replace(SMALL, bars=100, studies=(VOLUME,), drawings=(
            DrawingSpec("Long Position", (at(24, 66_200),), target=71_500, stop=64_800),
            DrawingSpec("Horizontal Line", (Anchor(price=64_200),), text="Support", override={"lineColor": "#089981"}),
            DrawingSpec("Arrow Mark Up", (at(43, 64_150),), text="Buy"),
        )),
    ),
    "short-position-light": Scene(
        replace(LIGHT, bars=100, drawings=(
            DrawingSpec("Short Position", (at(30, 66_300), at(6, 66_300)), target=63_000, stop=68_600),
            DrawingSpec("Vertical Line", (Anchor(ago(60)),), text="CPI", override={"lineStyle": 2}),
            DrawingSpec("Arrow Mark Down", (at(83, 71_800),), text="Sell"),
        )),
    ),
    "drawings-dark": Scene(
        replace(SMALL, drawings=(
            DrawingSpec("Trend Line", (at(105, 71_900), at(55, 68_300)), text="Falling resistance"),
            DrawingSpec("Rectangle", (at(52, 65_400), at(20, 63_900)), text="Demand zone", on_top=False),
            DrawingSpec("Text", (at(80, 66_500),), text="Distribution ends here"),
            DrawingSpec("Arrow Marker", (at(80, 67_000), at(68, 69_500))),
            DrawingSpec("Horizontal Line", (Anchor(price=69_500),), text="Resistance",
                        override={"lineColor": "#f23645", "lineStyle": 2, "lineWidth": 1}),
        )),
    ),
    "fibonacci-light": Scene(
        replace(LIGHT, width=1000, height=560, drawings=(
            DrawingSpec("Fib Retracement", (at(103, 73_300), at(38, 64_100))),
        )),
    ),
    "own-colours-dark": Scene(
        replace(SMALL, studies=(StudySpec("Bollinger Bands", override={
                    "Upper.color": "rgb(255,213,79)", "Lower.color": "rgb(255,213,79)", "Median.visible": False,
                    "Plots Background.color": "rgba(255,213,79,0.07)"}),),
                looks=Looks(vertical_grid=False, horizontal_grid=False, style={
                    "candleStyle.upColor": "rgb(240,243,250)", "candleStyle.downColor": "rgb(41,98,255)"})),
    ),
    "bare-light": Scene(
        replace(LIGHT, looks=Looks(legend=False, vertical_grid=False, price_line=False, series_last_value=False)),
    ),
    "smallest-dark": Scene(replace(SMALL, width=400, height=300, bars=60, studies=(BB, RSI))),
    "thousand-bars-light": Scene(
        replace(LIGHT, width=1200, interval="15m", bars=1000, symbol="ETHUSDT"),
        lambda: market(price=2_480, seed=29, step_ms=HOUR_MS // 4, bars=1200, volatility=0.0025),
    ),
    "flat-price-dark": Scene(replace(SMALL, symbol="FDUSDUSDT", studies=(BB, VOLUME, RSI)), flat),
    "one-bar-light": Scene(replace(LIGHT, studies=(VOLUME,)), lambda: market(bars=1)),
    "new-york-time-dark": Scene(
        replace(SMALL, symbol="ETHUSDT", interval="15m", bars=96, timezone="America/New_York",
                studies=(study("Aroon"),)), quarter_hours,
    ),
}  # fmt: skip
