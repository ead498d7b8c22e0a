"""Conversion of a configuration to the input of the local renderer. Unsupported parts become warnings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

import msgspec

from mcp_binance_server.charts.catalogue import ChartCatalogue, Scalar
from mcp_binance_server.charts.config import DEFAULT_SIZE, Findings, is_object
from mcp_binance_server.charts.dialect.symbol import BinancePair, binance_pair
from mcp_binance_server.charts.dialect.times import bars_opened
from mcp_binance_server.charts.plans import check_local, usage_of
from mcp_binance_server.charts.render.spec import (
    MOST_BARS,
    USUAL_BARS,
    Anchor,
    ChartSpec,
    DrawingSpec,
    Looks,
    Scale,
    StudySpec,
    Style,
    Theme,
)
from mcp_binance_server.charts.studies.table import STUDIES
from mcp_binance_server.charts.wire import read_chart
from mcp_binance_server.domain.periods import Interval, epoch_ms

# Binance's intervals; it has no candles for the others.
_CANDLES: Final[Mapping[str, Interval]] = {
    **{each: each for each in get_args(Interval) if each[-1] in "smhM"},
    "1D": "1d",
    "3D": "3d",
    "1W": "1w",
}
VOLUME: Final = "Volume"
_NOT_LOCAL: Final = ("shiftLeft", "shiftRight", "watermark", "watermarkSize", "watermarkOpacity")
_NOT_LOCAL_LOOKS: Final = ("showStudyPlotNamesAction", "showSymbolLabelsAction", "showInvertScaleStudies")


class Between(msgspec.Struct, frozen=True):
    """A range between two times."""

    start: datetime = msgspec.field(name="from")
    end: datetime = msgspec.field(name="to")


class BodyStudy(msgspec.Struct, frozen=True, rename="camel"):
    """One study. Missing inputs have their defaults."""

    name: str
    input: Mapping[str, Scalar] = {}
    override: Mapping[str, Scalar] = {}
    force_overlay: bool = False


class Coordinates(msgspec.Struct, frozen=True, rename="camel"):
    """The inputs of all kinds of drawings. Each kind uses some of them."""

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
    swing: str = ""


class BodyDrawing(msgspec.Struct, frozen=True, rename="camel"):
    """One drawing. The levels of a Fib Retracement are objects among its overrides."""

    name: str
    input: Coordinates
    override: Mapping[str, Scalar | Mapping[str, Scalar]] = {}
    z_order: str = "top"


class ChartBody(msgspec.Struct, frozen=True, rename="camel"):
    """One chart. Missing keys have the service's defaults."""

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


@dataclass(frozen=True, slots=True)
class LocalChart:
    """A chart to draw, and the candles to load for it.

    The candles of `pair` are those that opened by `until_ms`. None means the newest candles.
    """

    pair: str
    interval: Interval
    until_ms: int | None
    spec: ChartSpec
    warnings: tuple[str, ...]
    compare: tuple[str, ...] = ()  # other pairs whose candles are needed for comparison


def to_spec(config: Mapping[str, object], *, catalogue: ChartCatalogue, now: datetime) -> LocalChart:
    """Convert a configuration in either dialect to a chart of the local renderer.

    Raises:
        InvalidChartConfig: the configuration is invalid, or Binance spot does not have its symbol or interval.
    """
    reading = read_chart(config, catalogue=catalogue, now=now)
    findings = Findings([each for each in reading.findings if not each.remote_only])
    check_local(usage_of(config, DEFAULT_SIZE), findings)
    pair = _pair(reading.body.get("symbol"), findings)
    interval = _interval(reading.body.get("interval"), findings)
    findings.raise_errors()
    body = msgspec.convert(reading.body, ChartBody)
    warnings = [each for each in findings.notes if not each.startswith("interval_assumed")]
    warnings += _not_local(reading.body, _NOT_LOCAL)
    bars, until_ms = _bars(body, now, warnings)
    scale = _scale(body, config.get("scale"), warnings)
    spec = ChartSpec(
        symbol=pair.symbol,
        interval=body.interval,
        style=body.style,
        theme=body.theme,
        scale=scale,
        width=body.width,
        height=body.height,
        bars=bars,
        timezone=body.timezone,
        as_of_ms=epoch_ms(now),
        studies=_with_volume(_studies(body.studies, catalogue, warnings), body.override),
        drawings=tuple(_drawing(each, warnings) for each in body.drawings),
        looks=body.override,
    )
    warnings += _not_local(reading.body.get("override"), _NOT_LOCAL_LOOKS, "override.")
    compare = tuple(other for each in body.compare if (other := each.partition(":")[2]) != pair.symbol)
    return LocalChart(pair.symbol, interval, until_ms, spec, tuple(warnings), compare)


def _pair(symbol: object, findings: Findings) -> BinancePair:
    pair = binance_pair(symbol) if isinstance(symbol, str) else None
    if isinstance(symbol, str) and (pair is None or pair.perpetual):
        findings.error("symbol", f"{symbol} is drawn by chart-img.com only; spot pairs of Binance are drawn locally")
    return pair or BinancePair("", perpetual=False)


def _interval(interval: object, findings: Findings) -> Interval:
    if isinstance(interval, str) and interval not in _CANDLES:
        findings.error("interval", f"interval {interval} is drawn by chart-img.com only: Binance has no such candles")
    return _CANDLES.get(str(interval), "1h")


def _bars(body: ChartBody, now: datetime, warnings: list[str]) -> tuple[int, int | None]:
    if body.range is None:
        return USUAL_BARS, None
    if not isinstance(body.range, Between):
        warnings.append(f"too_many_bars: only the newest {MOST_BARS} bars of the whole history are drawn")
        return MOST_BARS, None
    bars = bars_opened(body.range.start, min(body.range.end, now), body.interval)
    if bars > MOST_BARS:
        warnings.append(f"too_many_bars: the range has {bars} bars; the newest {MOST_BARS} are drawn")
    until_ms = None if body.range.end >= now else epoch_ms(body.range.end) - 1
    return min(bars, MOST_BARS), until_ms


def _scale(body: ChartBody, asked: object, warnings: list[str]) -> Scale:
    """Return a relative scale if markets are compared: their prices differ too much for one axis."""
    if not body.compare or body.scale in {"percent", "indexedTo100"}:
        return body.scale
    if asked is not None:
        warnings.append("scale_percent: markets are compared in percent, whatever the scale")
    return "percent"


def _studies(studies: tuple[BodyStudy, ...], catalogue: ChartCatalogue, warnings: list[str]) -> tuple[StudySpec, ...]:
    drawn: list[StudySpec] = []
    for study in studies:
        indicator = catalogue.indicator(study.name)
        known = STUDIES.get(study.name)
        if indicator is None or known is None:
            warnings.append(f"study_not_local: {study.name} is drawn by chart-img.com only; it was left out")
            continue
        given: dict[str, Scalar] = {indicator.input[wire].public: value for wire, value in study.input.items()}
        defaults = {key: value for key, value in indicator.defaults().items() if key in known.inputs}
        inputs = {**defaults, **given}
        drawn.append(StudySpec(study.name, inputs, study.override, force_overlay=study.force_overlay))
    return tuple(drawn)


def _with_volume(studies: tuple[StudySpec, ...], looks: Looks) -> tuple[StudySpec, ...]:
    """Add the volume if nothing else is below the price. Skip it if the chart has it or switches it off."""
    if not looks.volume or any(each.name == VOLUME or not STUDIES[each.name].overlay for each in studies):
        return studies
    return (*studies, StudySpec(VOLUME))


def _drawing(drawing: BodyDrawing, warnings: list[str]) -> DrawingSpec:
    given = drawing.input
    if given.swing:
        points: list[Anchor] = []
    elif given.entry_price is not None:
        points = [Anchor(_ms(given.start_datetime), given.entry_price)]
        points += [] if given.end_datetime is None else [Anchor(_ms(given.end_datetime))]
    elif given.start_datetime is not None:
        points = [
            Anchor(_ms(given.start_datetime), given.start_price),
            Anchor(_ms(given.end_datetime), given.end_price),
        ]
    else:
        points = [Anchor(_ms(given.moment), given.price)]
    looks = {key: value for key, value in drawing.override.items() if not isinstance(value, Mapping)}
    if len(looks) < len(drawing.override):
        warnings.append(f"not_local: a locally drawn {drawing.name} has its default levels")
    return DrawingSpec(
        name=drawing.name,
        points=tuple(points),
        text=" ".join(part for part in (given.text, given.quantity) if part),
        target=given.target_price,
        stop=given.stop_price,
        override=looks,
        on_top=drawing.z_order != "bottom",
    )


def _not_local(given: object, keys: tuple[str, ...], path: str = "") -> list[str]:
    asked = [key for key in keys if given.get(key, False) is not False] if is_object(given) else []
    return [f"not_local: {path}{key} is drawn by chart-img.com only; it was left out" for key in asked]


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else epoch_ms(moment)
