"""Conversion of a chart between the tools' dialect and the service's dialect: one pure function for each direction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue, Rule
from mcp_binance_server.charts.config import CHART_KEYS, DEFAULT_SIZE, MY_ORDERS, Finding, Findings, is_object, shown
from mcp_binance_server.charts.dialect.drawings import ChartMoments, read_drawings, write_drawings
from mcp_binance_server.charts.dialect.studies import read_studies, write_studies
from mcp_binance_server.charts.dialect.symbol import read_compare, read_symbol
from mcp_binance_server.charts.dialect.times import read_instant, read_interval, read_range
from mcp_binance_server.charts.dialect.values import LOCAL, read_chart_override, read_value

DEFAULT_FORMAT: Final = "png"
_DEFAULT_STYLE: Final = "candle"
_PLAIN: Final = (
    "style", "theme", "scale", "session", "timezone", "shiftLeft", "shiftRight",
    "watermark", "watermarkSize", "watermarkOpacity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartWire:
    """The JSON body to send, and notes for the user. Each note has the form "code: sentence"."""

    body: dict[str, object]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadChart:
    """The valid part of a body, and all findings."""

    body: dict[str, object]
    findings: tuple[Finding, ...]


def to_wire(
    config: Mapping[str, object],
    *,
    catalogue: ChartCatalogue,
    now: datetime,
    image_format: str | None = None,
    default_size: tuple[int, int] = DEFAULT_SIZE,
) -> ChartWire:
    """Convert a configuration to the service's dialect. The configuration can be in either dialect or a mixture.

    Raises:
        InvalidChartConfig: lists every problem; a partial body is never returned.
    """
    reading = read_chart(config, catalogue=catalogue, now=now, image_format=image_format, default_size=default_size)
    findings = Findings(list(reading.findings))
    findings.raise_errors()
    return ChartWire(_sendable(reading.body), findings.notes)


def from_wire(body: Mapping[str, object], *, catalogue: ChartCatalogue) -> dict[str, object]:
    """Convert a body in the service's dialect to the tools' dialect."""
    written = {key: body[key] for key in CHART_KEYS if key in body}
    if "studies" in body:
        written["studies"] = write_studies(body["studies"], catalogue)
    if "drawings" in body:
        written["drawings"] = write_drawings(body["drawings"])
    return written


def read_chart(
    config: Mapping[str, object],
    *,
    catalogue: ChartCatalogue,
    now: datetime,
    image_format: str | None = None,
    default_size: tuple[int, int] = DEFAULT_SIZE,
) -> ReadChart:
    """Read a whole configuration despite errors. The callers `to_wire` and the validator handle the findings."""
    findings = Findings()
    findings.unknown_keys(config, CHART_KEYS)
    symbol = read_symbol(config.get("symbol"), catalogue, findings)
    interval = read_interval(config.get("interval"), catalogue, findings)
    read: dict[str, object] = {"symbol": symbol, "interval": interval}
    if config.get("range") is not None:
        read["range"] = read_range(config["range"], interval, now, findings)
    for key, usual in zip(("width", "height"), default_size, strict=True):
        given = config.get(key)
        read[key] = _parameter(key, usual if given is None else given, catalogue, findings)
    for key in _PLAIN:
        read[key] = _parameter(key, config.get(key), catalogue, findings)
    read["format"] = _format(image_format or config.get("format"), catalogue, findings)
    style = str(read["style"] or _DEFAULT_STYLE)
    read["override"] = read_chart_override(config.get("override"), style, catalogue, findings) or None
    read["studies"] = read_studies(config.get("studies"), catalogue, findings) or None
    read["drawings"] = (
        read_drawings(config.get("drawings"), catalogue, _moment(read.get("range"), now, interval), findings) or None
    )
    read["compare"] = read_compare(config.get("compare"), findings)
    read[MY_ORDERS] = _my_orders(config.get(MY_ORDERS), findings)
    body = {key: read[key] for key in CHART_KEYS if read.get(key) is not None}
    return ReadChart(body, tuple(findings.items))


def _my_orders(value: object, findings: Findings) -> bool | None:
    if value is None or value is False:
        return None
    if value is not True:
        findings.error(MY_ORDERS, f"{MY_ORDERS} must be true or false, not {shown(value)}")
        return None
    findings.error(MY_ORDERS, f"{MY_ORDERS} is drawn locally only: orders are not sent to others", remote_only=True)
    return True


def _sendable(body: dict[str, object]) -> dict[str, object]:
    looks = body.get("override")
    if not is_object(looks):
        return body
    kept = {key: value for key, value in looks.items() if key not in LOCAL}
    return {key: kept if key == "override" else value for key, value in body.items() if key != "override" or kept}


def _moment(span: object, now: datetime, interval: str | None) -> ChartMoments:
    if not is_object(span):
        return ChartMoments(None, now, interval)
    begin, end = (read_instant(span[key], f"range.{key}", Findings()) for key in ("from", "to"))
    # A range ends before the bar that opens at its end.
    last = now if end is None or end >= now else end - timedelta(milliseconds=1)
    return ChartMoments(begin, last, interval)


def _parameter(key: str, value: object, catalogue: ChartCatalogue, findings: Findings) -> object:
    rule: Rule | None = catalogue.parameters.get(key)
    return None if value is None or rule is None else read_value(value, rule, key, findings)


def _format(value: object, catalogue: ChartCatalogue, findings: Findings) -> object:
    if value is None:
        return DEFAULT_FORMAT
    folded = value.casefold() if isinstance(value, str) else value
    return _parameter("format", "jpeg" if folded == "jpg" else folded, catalogue, findings)
