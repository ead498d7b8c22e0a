"""A configuration back in words: what this says, the reader of words understands as the same configuration."""

from collections.abc import Mapping
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import is_list, is_object

_STYLES: Final = {
    "candle": "candles", "line": "line chart", "bar": "bar chart", "area": "area chart", "heikinAshi": "heikin ashi",
    "hollowCandle": "hollow candles", "baseline": "baseline chart", "hiLo": "high-low chart", "column": "columns",
}  # fmt: skip
_SCALES: Final = {
    "logarithmic": "log scale",
    "percent": "percent scale",
    "indexedTo100": "indexed to 100",
    "regular": "linear scale",
}
_RANGES: Final = {
    "YTD": "year to date", "MTD": "month to date", "WTD": "week to date", "DTD": "day to date", "ALL": "all time",
    "1D": "last 24 hours",
}  # fmt: skip
_UNITS: Final = {"D": "days", "W": "weeks", "M": "months", "Y": "years"}
_OFF: Final = {
    "showVertGrid": "no vertical grid", "showHorzGrid": "no horizontal grid", "showLegend": "no legend",
    "showPriceLine": "no price line",
    "showVolume": "no volume",
}  # fmt: skip
_ON: Final = {"showSymbolWatermark": "symbol watermark", "showInvertScale": "inverted scale"}


def sentence_of(config: Mapping[str, object], catalogue: ChartCatalogue) -> str:
    """Say a configuration in one sentence; parts joined by commas, each as a person could have typed it."""
    parts = [
        f"{' vs '.join([str(config['symbol']), *_pairs(config.get('compare'))])} interval {config['interval']}",
        "my orders" if config.get("myOrders") else "",
        _range(config.get("range")),
        *(_study(each, catalogue) for each in _objects(config.get("studies"))),
        *(_drawing(each) for each in _objects(config.get("drawings"))),
        _STYLES.get(str(config.get("style")), ""),
        f"{config['theme']} theme" if config.get("theme") else "",
        _SCALES.get(str(config.get("scale")), ""),
        f"{config['session']} hours" if config.get("session") else "",
        f"timezone {config['timezone']}" if config.get("timezone") else "",
        f"size {config['width']}x{config['height']}" if config.get("width") else "",
        f"{config['format']} format" if config.get("format") else "",
        *_switches(config.get("override")),
    ]
    return ", ".join(part for part in parts if part)


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if is_object(each)] if is_list(value) else []


def _pairs(value: object) -> list[str]:
    return [str(each) for each in value] if is_list(value) else []


def _range(value: object) -> str:
    if is_object(value):
        return f"from {value['from']} to {value['to']}" if value.get("to") else f"since {value['from']}"
    if not isinstance(value, str):
        return ""
    return _RANGES.get(value) or f"last {value[:-1]} {_UNITS[value[-1]]}"


def _study(study: Mapping[str, object], catalogue: ChartCatalogue) -> str:
    indicator = catalogue.indicator(str(study["name"]))
    name = indicator.api_name if indicator else str(study["name"])
    inputs, override = study.get("inputs"), study.get("override")
    numbers = f" ({', '.join(_number(each) for each in inputs.values())})" if is_object(inputs) and inputs else ""
    levels = ""
    if is_object(override) and "UpperLimit.value" in override:
        levels = f" levels {_number(override['UpperLimit.value'])}/{_number(override['LowerLimit.value'])}"
    return f"{name}{numbers}{levels}"


def _drawing(drawing: Mapping[str, object]) -> str:
    at = drawing["coordinates"]
    if not is_object(at):
        return ""
    if drawing["type"] == "verticalLine":
        return f"vertical line at {at['time']}"
    if drawing["type"] in {"longPosition", "shortPosition"}:
        side = str(drawing["type"]).removesuffix("Position")
        return f"{side} entry {_number(at['entry'])} target {_number(at['target'])} stop {_number(at['stop'])}"
    if drawing["type"] == "fibRetracement" and "swing" in at:
        return "fib of the last swing"
    if drawing["type"] == "fibRetracement":
        return f"fib from {_number(at['start'])} to {_number(at['end'])}"
    return f"{at.get('text', 'line')} at {_number(at['price'])}"


def _switches(override: object) -> list[str]:
    if not is_object(override):
        return []
    off = [words for key, words in _OFF.items() if override.get(key) is False]
    return [*off, *(words for key, words in _ON.items() if override.get(key) is True)]


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0").rstrip(".")
    return str(value)
