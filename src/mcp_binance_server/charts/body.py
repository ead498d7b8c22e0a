"""The body of a chart as chart-img.com takes it, typed; made from what `read_chart` found sound."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from mcp_binance_server.charts.catalogue import Scalar

Style = Literal["candle", "hollowCandle", "heikinAshi", "bar", "line", "area", "baseline", "hiLo", "column"]


class Between(msgspec.Struct, frozen=True):
    """A range of two moments."""

    start: datetime = msgspec.field(name="from")
    end: datetime = msgspec.field(name="to")


class BodyStudy(msgspec.Struct, frozen=True, rename="camel"):
    """One study; inputs left out have their defaults."""

    name: str
    input: Mapping[str, Scalar] = {}
    override: Mapping[str, Scalar] = {}
    force_overlay: bool = False


class Coordinates(msgspec.Struct, frozen=True, rename="camel"):
    """The inputs of every kind of drawing; each kind has some of them."""

    moment: datetime | None = msgspec.field(name="datetime", default=None)
    price: float | None = None
    start_datetime: datetime | None = None
    start_price: float | None = None
    end_datetime: datetime | None = None
    end_price: float | None = None
    entry_price: float | None = None
    target_price: float | None = None
    stop_price: float | None = None
    text: str = ""
    quantity: str = ""


class BodyDrawing(msgspec.Struct, frozen=True, rename="camel"):
    """One drawing; the levels of a Fib Retracement are objects among its overrides."""

    name: str
    input: Coordinates
    override: Mapping[str, Scalar | Mapping[str, Scalar]] = {}
    z_order: str = "top"


class Prices(msgspec.Struct, frozen=True):
    """The prices that the scale must show."""

    low: float = msgspec.field(name="from")
    high: float = msgspec.field(name="to")
    margin: float = 0.0025


class BodyOverride(msgspec.Struct, frozen=True, rename="camel"):
    """The looks of the whole chart."""

    style: Mapping[str, Scalar] = {}
    price_range: Prices | None = None
    main_pane_height: int | None = None
    scales_font_size: int = 12
    show_legend: bool = True
    show_legend_values: bool = True
    show_main_pane: bool = True
    show_price_line: bool = True
    show_vert_grid: bool = True
    show_horz_grid: bool = True
    show_series_last_value: bool = True
    show_series_ohlc: bool = msgspec.field(name="showSeriesOHLC", default=True)
    show_bar_change: bool = True
    show_study_last_value: bool = True
    show_study_plot_names_action: bool = False
    show_symbol_labels_action: bool = False
    show_symbol_watermark: bool = False
    show_invert_scale: bool = False
    show_volume: bool = True
    show_invert_scale_studies: bool = False


class Body(msgspec.Struct, frozen=True, rename="camel"):
    """One chart; what is left out has the service's default."""

    symbol: str
    interval: str
    width: int
    height: int
    range: Between | str | None = None
    compare: tuple[str, ...] = ()
    style: Style = "candle"
    theme: Literal["light", "dark"] = "light"
    scale: Literal["regular", "percent", "indexedTo100", "logarithmic"] = "regular"
    timezone: str = "Etc/UTC"
    override: BodyOverride = BodyOverride()
    studies: tuple[BodyStudy, ...] = ()
    drawings: tuple[BodyDrawing, ...] = ()
