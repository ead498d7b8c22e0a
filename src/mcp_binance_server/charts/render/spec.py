"""Specification of a chart, and the number of candles that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from mcp_binance_server.analytics.indicators.talipp_adapter import ONE_REQUEST, own_values
from mcp_binance_server.charts.studies.study import RECURSIVE
from mcp_binance_server.charts.studies.table import STUDIES, settle

Style = Literal["candle", "hollowCandle", "heikinAshi", "bar", "line", "area", "baseline", "hiLo", "column"]
Theme = Literal["light", "dark"]
Scale = Literal["regular", "logarithmic", "percent", "indexedTo100"]
Scalar = str | float | int | bool

SMALLEST = (400, 300)
LARGEST = (2048, 1920)
FONTS = (8, 50)
MOST_BARS = 1000
USUAL_BARS = 200

HEIKIN_ASHI = 50
MOST = MOST_BARS
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAY_SECONDS = 86_400
_DAYS_OF_A_MONTH = 31
_MOST_OF_A_DAY = 1440  # one-minute bars; one-second bars of a whole day are too many to load


@dataclass(frozen=True, slots=True)
class StudySpec:
    """One study by its API name. Missing inputs have the defaults of the catalogue."""

    name: str  # "Bollinger Bands"
    inputs: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # public keys: {"length": 20, "stdDev": 2}
    override: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # {"Upper.color": "rgb(33,150,243)"}
    force_overlay: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point of a drawing. A horizontal line has no time, and a vertical line has no price."""

    time_ms: int | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class DrawingSpec:
    """One drawing by its API name, with one or two points.

    The first point of a position is its start, and its price is the entry. An optional second point is its end.
    """

    name: str  # "Trend Line"
    points: tuple[Anchor, ...] = ()
    text: str = ""
    target: float | None = None
    stop: float | None = None
    override: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # {"lineColor": "rgb(41,98,255)"}
    on_top: bool = True


class PriceRange(msgspec.Struct, frozen=True):
    """Price range that the scale must show. `margin` is a share of the range."""

    low: float = msgspec.field(name="from")
    high: float = msgspec.field(name="to")
    margin: float = 0.0025


class Looks(msgspec.Struct, frozen=True):
    """Switches and colours of the whole chart, parsed by chart-img.com's names.

    Missing colours come from the theme.
    """

    legend: bool = msgspec.field(name="showLegend", default=True)
    legend_values: bool = msgspec.field(name="showLegendValues", default=True)
    series_ohlc: bool = msgspec.field(name="showSeriesOHLC", default=True)
    bar_change: bool = msgspec.field(name="showBarChange", default=True)
    main_pane: bool = msgspec.field(name="showMainPane", default=True)
    price_line: bool = msgspec.field(name="showPriceLine", default=True)
    vertical_grid: bool = msgspec.field(name="showVertGrid", default=True)
    horizontal_grid: bool = msgspec.field(name="showHorzGrid", default=True)
    series_last_value: bool = msgspec.field(name="showSeriesLastValue", default=True)
    study_last_value: bool = msgspec.field(name="showStudyLastValue", default=True)
    symbol_watermark: bool = msgspec.field(name="showSymbolWatermark", default=False)
    invert_scale: bool = msgspec.field(name="showInvertScale", default=False)
    volume: bool = msgspec.field(name="showVolume", default=True)
    font_size: int = msgspec.field(name="scalesFontSize", default=12)
    main_pane_height: int | None = msgspec.field(name="mainPaneHeight", default=None)
    price_range: PriceRange | None = msgspec.field(name="priceRange", default=None)
    style: Mapping[str, Scalar] = {}  # {"candleStyle.upColor": "rgb(8,153,129)"}


@dataclass(frozen=True, slots=True)
class ComparedSeries:
    """Another market to compare with: opening times and closes of its bars."""

    symbol: str
    times: tuple[int, ...]
    closes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """One chart. The newest `bars` candles are shown; older ones only warm up the studies."""

    symbol: str  # "BTCUSDT"
    interval: str  # "1h", as shown in the legend
    venue: str = "BINANCE"
    style: Style = "candle"
    theme: Theme = "dark"
    scale: Scale = "regular"
    width: int = 1200
    height: int = 675
    bars: int = USUAL_BARS
    decimals: int | None = None  # decimals of the tick size; with None the candles' prices decide
    timezone: str = "Etc/UTC"
    as_of_ms: int | None = None  # a last bar that closes after this time is unfinished
    studies: tuple[StudySpec, ...] = ()
    drawings: tuple[DrawingSpec, ...] = ()
    looks: Looks = field(default_factory=Looks)
    compared: tuple[ComparedSeries, ...] = ()


@dataclass(frozen=True, slots=True)
class LegendRow:
    """The legend of one series, such as "RSI 14" and "33.12"."""

    name: str
    values: str
    words: str = ""
    """The values with the name of each, in the order of `get_indicators`."""

    @property
    def said(self) -> str:
        told = self.words or self.values
        return f"{self.name}: {told}" if told else self.name


@dataclass(frozen=True, slots=True)
class ChartMeta:
    """Description of the picture. The legend is complete even if the picture shows only a part of it."""

    width: int
    height: int
    bars: int
    first_open_ms: int
    last_open_ms: int
    last_bar_closed: bool
    panes: int
    studies: tuple[str, ...]  # names as in the legend, such as "BB 20 2"
    legend: tuple[LegendRow, ...]
    as_of_ms: int | None  # time when the candles were read, if known


@dataclass(frozen=True, slots=True)
class Rendered:
    """The picture as SVG and PNG, its description, and warnings about missing parts.

    Each warning has the form "code: sentence".
    """

    svg: str
    png: bytes
    meta: ChartMeta
    warnings: tuple[str, ...]


def bars_to_load(spec: ChartSpec) -> int:
    """Return the number of bars to load.

    A recursive study, such as an exponential average, gets the whole window of one request, like everywhere else. If
    the window cannot warm up all bars shown, the study gets two windows.
    """
    before = [HEIKIN_ASHI if spec.style == "heikinAshi" else 0]
    anchored, least = 0, 0
    for asked in spec.studies:
        if study := STUDIES.get(asked.name):
            wanted = study.warm_up(settle(study, asked.inputs).inputs)
            before.append(wanted)
            if wanted >= RECURSIVE:
                least = max(least, ONE_REQUEST if spec.bars <= own_values(wanted) else 2 * ONE_REQUEST)
            if study.anchored:
                anchored = min(_bars_of_a_period(spec.interval), _MOST_OF_A_DAY)
    return max(least, spec.bars + max(min(max(before), MOST), anchored))


def _bars_of_a_period(interval: str) -> int:
    count, unit = interval[:-1], interval[-1:]
    if unit not in _UNIT_SECONDS or not count.isdigit() or not int(count):
        return _DAYS_OF_A_MONTH if unit in "dD" else 5 if unit in "wW" else 1
    return -(-_DAY_SECONDS // (int(count) * _UNIT_SECONDS[unit]))
