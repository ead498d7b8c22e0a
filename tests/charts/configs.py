"""Chart configurations for tests: the smallest one, every study and drawing, and a strategy for sound bodies."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from mcp_binance_server.charts.catalogue import CatalogueStudy, ChartCatalogue, Drawing, Rule, bundled_catalogue
from mcp_binance_server.charts.dialect.studies import LENGTHS
from mcp_binance_server.charts.wire import to_wire

NOW = datetime(2026, 11, 14, 22, tzinfo=UTC)
CATALOGUE: ChartCatalogue = bundled_catalogue()
CHART: Mapping[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}

SAMPLE: Mapping[str, Any] = {
    "symbol": "BINANCE:BTCUSDT",
    "interval": "1h",
    "range": "7D",
    "theme": "dark",
    "style": "candle",
    "width": 1200,
    "height": 675,
    "studies": [
        {"name": "BollingerBands@tv-basicstudies", "inputs": {"length": 20, "stdDev": 2}},
        {"name": "RSI@tv-basicstudies", "inputs": {"length": 14}},
    ],
}


def body_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is posted for a configuration."""
    return to_wire(config, catalogue=CATALOGUE, now=NOW).body


def off_default(rule: Rule) -> Any:  # noqa: ANN401 - a JSON value
    """Return a value that a rule allows and that is not its default."""
    match rule.type:
        case "Boolean":
            return not rule.default
        case "Color":
            return "rgba(1,2,3,0.5)"
        case "DateTime":
            return "2026-10-01T00:00:00.000Z"
        case "Integer" | "Float":
            return _number(rule)
        case _:
            return next((option for option in rule.options if option != rule.default), "words")


def _number(rule: Rule) -> Any:  # noqa: ANN401 - int or float, as the rule says
    default = rule.default if isinstance(rule.default, int | float) else 100
    least = -10_000 if rule.min is None else rule.min
    for candidate in (default + 1, default - 1, default + 0.5):
        if least <= candidate and (rule.max is None or candidate <= rule.max):
            return int(candidate) if rule.type == "Integer" else candidate
    raise AssertionError("no value is off default")


def study_off_default(indicator: CatalogueStudy) -> dict[str, Any]:
    """Return a study of the service's dialect with everything off default."""
    study: dict[str, Any] = {"name": indicator.api_name, "forceOverlay": not indicator.overlay}
    if indicator.input:
        study["input"] = {key: off_default(rule) for key, rule in indicator.input.items()}
    if indicator.override:
        study["override"] = {key: off_default(rule) for key, rule in indicator.override.items()}
    return study


def drawing_in_full(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing of the service's dialect with every input and override."""
    override = {key: off_default(rule) for key, rule in drawing.override.items()}
    if drawing.levels:
        override["level1"] = {key: off_default(Rule(type=kind)) for key, kind in drawing.levels.fields.items()}
    given = {key: off_default(rule) for key, rule in drawing.input.items()}
    return {"name": drawing.api_name, "input": given, "override": override, "zOrder": "bottom"}


def _values(rule: Rule) -> st.SearchStrategy[Any]:
    low, high = -1_000_000 if rule.min is None else rule.min, 1_000_000 if rule.max is None else rule.max
    if getattr(rule, "public", "") in LENGTHS:
        low = max(1, low)
    match rule.type:
        case "Boolean":
            return st.booleans()
        case "Color":
            channel = st.integers(0, 255)
            return st.builds("rgb({},{},{})".format, channel, channel, channel)
        case "DateTime":
            moments = st.datetimes(datetime(2020, 1, 1), datetime(2026, 11, 1))  # noqa: DTZ001 - made UTC by the text
            return moments.map(lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z")
        case "Integer":
            return st.sampled_from(rule.options) if rule.options else st.integers(int(low), int(high))
        case "Float":
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case _:
            return st.sampled_from(rule.options) if rule.options else st.text(max_size=20)


@st.composite
def _some(draw: st.DrawFn, rules: Mapping[str, Rule], *, off_default: bool = False) -> dict[str, Any]:
    keys = draw(st.lists(st.sampled_from(sorted(rules)), max_size=4, unique=True)) if rules else []
    wanted = [key for key, rule in rules.items() if rule.required or key in keys]
    made = {key: draw(_values(rules[key])) for key in wanted}
    return {key: value for key, value in made.items() if not off_default or value != rules[key].default}


def _without_empty(made: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in made.items() if value not in ({}, [])}


def _study(indicator: CatalogueStudy) -> st.SearchStrategy[dict[str, Any]]:
    parts = {"input": _some(indicator.input, off_default=True), "override": _some(indicator.override)}
    optional: dict[str, st.SearchStrategy[Any]] = {"forceOverlay": st.booleans(), **parts}
    return st.fixed_dictionaries({"name": st.just(indicator.api_name)}, optional=optional).map(_without_empty)


def _drawing(drawing: Drawing) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"name": st.just(drawing.api_name), "input": _some(drawing.input)},
        optional={"override": _some(drawing.override), "zOrder": st.sampled_from(drawing.z_order)},
    ).map(_without_empty)


@st.composite
def _chart_override(draw: st.DrawFn, style: str) -> dict[str, Any]:
    fields = CATALOGUE.parameters["override"].fields
    made = draw(_some({key: rule for key, rule in fields.items() if rule.type != "Object"}))
    found = CATALOGUE.style(style)
    made["style"] = draw(_some(found.override if found else {}))
    if draw(st.booleans()):
        made["priceRange"] = {"from": draw(st.floats(1, 10)), "to": draw(st.floats(11, 20))}
    return _without_empty(made)


_RANGES = st.tuples(
    _values(Rule(type="DateTime")), st.sampled_from(["2026-11-05T00:00:00.000Z", "2026-11-14T12:34:56.789Z"])
).map(lambda ends: {"from": ends[0], "to": ends[1]})


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a body that the service takes, written as we write it: two moments for a range, no default inputs."""
    parameters = CATALOGUE.parameters
    style = draw(st.sampled_from(CATALOGUE.options("style")))
    required = {
        "symbol": st.sampled_from(["BINANCE:BTCUSDT", "NASDAQ:AAPL", "(NASDAQ:MARA+NASDAQ:RIOT)/10"]),
        "interval": st.sampled_from(CATALOGUE.options("interval")),
        "width": st.integers(400, 2048),
        "height": st.integers(300, 1920),
        "format": st.sampled_from(["png", "jpeg"]),
    }
    optional = {
        key: _values(parameters[key])
        for key in ("theme", "scale", "session", "timezone", "shiftLeft", "shiftRight", "watermark", "watermarkSize",
                    "watermarkOpacity")
    }  # fmt: skip
    optional |= {
        "range": st.one_of(_RANGES, st.just("ALL")),
        "style": st.just(style),
        "studies": st.lists(st.sampled_from(CATALOGUE.indicators).flatmap(_study), max_size=2),
        "drawings": st.lists(st.sampled_from(CATALOGUE.drawings).flatmap(_drawing), max_size=2),
    }
    made = draw(st.fixed_dictionaries(required, optional=optional))
    if "style" in made:
        made["override"] = draw(_chart_override(style))
    return _without_empty(made)
