"""Specification of a chart, and the number of candles to load for it."""

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
_MOST_OF_A_DAY = 1440  # bars of a minute; a day in seconds is out of reach


@dataclass(frozen=True, slots=True)
class StudySpec:
    """One study by its catalogue name on the wire. Inputs left out have the catalogue's defaults."""

    name: str  # "Bollinger Bands"
    inputs: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # public keys: {"length": 20, "stdDev": 2}
    override: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # {"Upper.color": "rgb(33,150,243)"}
    force_overlay: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point of a drawing; a horizontal line has no time, a vertical line no price."""

    time_ms: int | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class DrawingSpec:
    """One drawing by its catalogue name, on one or two points.

    A position starts at its first point, whose price is the entry; a second point is its end.
    """

    name: str  # "Trend Line"
    points: tuple[Anchor, ...] = ()
    text: str = ""
    target: float | None = None
    stop: float | None = None
    override: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])  # {"lineColor": "rgb(41,98,255)"}
    on_top: bool = True


class PriceRange(msgspec.Struct, frozen=True):
    """The prices that the scale must show, with a margin as a share of their distance."""

    low: float = msgspec.field(name="from")
    high: float = msgspec.field(name="to")
    margin: float = 0.0025


class Looks(msgspec.Struct, frozen=True):
    """The switches and colours of the whole chart, parsed with chart-img.com's names; the theme provides the rest."""

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
    """Another market: the opening times of its bars, and their closes."""

    symbol: str
    times: tuple[int, ...]
    closes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """One chart. Candles beyond the last `bars` are warm-up for the studies and are not shown."""

    symbol: str  # "BTCUSDT"
    interval: str  # "1h", as shown in the legend
    venue: str = "BINANCE"
    style: Style = "candle"
    theme: Theme = "dark"
    scale: Scale = "regular"
    width: int = 1200
    height: int = 675
    bars: int = USUAL_BARS
    decimals: int | None = None  # of the tick size; None: as many as the candles' prices have
    timezone: str = "Etc/UTC"
    as_of_ms: int | None = None  # a last bar that closes later is unfinished
    studies: tuple[StudySpec, ...] = ()
    drawings: tuple[DrawingSpec, ...] = ()
    looks: Looks = field(default_factory=Looks)
    compared: tuple[ComparedSeries, ...] = ()


@dataclass(frozen=True, slots=True)
class LegendRow:
    """The legend of one series: "RSI 14", "33.12"."""

    name: str
    values: str

    @property
    def said(self) -> str:
        return f"{self.name}: {self.values}" if self.values else self.name


@dataclass(frozen=True, slots=True)
class ChartMeta:
    """The content of the picture; the legend is complete even if the picture has no room for it."""

    width: int
    height: int
    bars: int
    first_open_ms: int
    last_open_ms: int
    last_bar_closed: bool
    panes: int
    studies: tuple[str, ...]  # as the legend names them: "BB 20 2"
    legend: tuple[LegendRow, ...]
    as_of_ms: int | None  # the time when the candles were read, if given


@dataclass(frozen=True, slots=True)
class Rendered:
    """The picture as SVG and PNG, its content, and warnings for parts that are missing ("code: sentence")."""

    svg: str
    png: bytes
    meta: ChartMeta
    warnings: tuple[str, ...]


def bars_to_load(spec: ChartSpec) -> int:
    """Return the number of bars to load. A study that never forgets gets the whole window, as everywhere else.

    If more bars are shown than that window can warm up, it gets two windows.
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
