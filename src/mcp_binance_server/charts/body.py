"""The body of a chart as chart-img.com takes it, typed; made from what `read_chart` found sound."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from mcp_binance_server.charts.catalogue import Scalar
from mcp_binance_server.charts.render.spec import Looks, Scale, Style, Theme


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


class ChartBody(msgspec.Struct, frozen=True, rename="camel"):
    """One chart; what is left out has the service's default."""

    symbol: str
    interval: str
    width: int
    height: int
    range: Between | str | None = None
    compare: tuple[str, ...] = ()
    style: Style = "candle"
    theme: Theme = "light"
    scale: Scale = "regular"
    timezone: str = "Etc/UTC"
    override: Looks = Looks()
    studies: tuple[BodyStudy, ...] = ()
    drawings: tuple[BodyDrawing, ...] = ()
