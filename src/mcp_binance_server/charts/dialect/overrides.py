"""Looks: the overrides of a chart, of a study and of a drawing."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_binance_server.charts.catalogue import BodyParameter, ChartCatalogue, Levels, Rule
from mcp_binance_server.charts.config import Findings, is_object, shown
from mcp_binance_server.charts.dialect.values import read_value

MOST_LEVELS: Final = 24
# Looks that only our own renderer has.
LOCAL: Final[Mapping[str, BodyParameter]] = {"showVolume": BodyParameter(type="Boolean", default=True)}
_LEVEL: Final = re.compile(r"level([1-9][0-9]?)")


def read_overrides(
    value: object, rules: Mapping[str, Rule], where: str, findings: Findings, levels: Levels | None = None
) -> dict[str, object]:
    """Read an object of looks whose keys are all known."""
    given = object_of(value, where, findings)
    numbered = {key: _level(each, levels, f"{where}.{key}", findings) for key, each in _levels(given, levels).items()}
    plain = {key: each for key, each in given.items() if key not in numbered}
    return {**read_fields(plain, rules, where, findings), **{key: each for key, each in numbered.items() if each}}


def read_fields(
    given: Mapping[str, object], rules: Mapping[str, Rule], where: str, findings: Findings
) -> dict[str, object]:
    """Read the values of an object by the rule of each key; what is null counts as left out."""
    findings.unknown_keys(given, tuple(rules), f"{where}.")
    read: dict[str, object] = {}
    for key, rule in rules.items():
        if (each := given.get(key)) is not None:
            known = read_value(each, rule, f"{where}.{key}", findings)
            if known is not None:
                read[key] = known
    return read


def read_chart_override(value: object, style: str, catalogue: ChartCatalogue, findings: Findings) -> dict[str, object]:
    """Read the looks of the whole chart; `style` inside has the keys of the chart's own style."""
    given = object_of(value, "override", findings)
    parameter = catalogue.parameters.get("override")
    fields: Mapping[str, BodyParameter] = {**(parameter.fields if parameter else {}), **LOCAL}
    findings.unknown_keys(given, tuple(fields), "override.")
    rules = {key: rule for key, rule in fields.items() if rule.type != "Object"}
    read = read_fields({key: each for key, each in given.items() if key in rules}, rules, "override", findings)
    nested = {
        "style": _style(given.get("style"), style, catalogue, findings),
        "priceRange": _price_range(given.get("priceRange"), fields.get("priceRange"), findings),
    }
    written = {**read, **{key: each for key, each in nested.items() if each}}
    return {key: written[key] for key in fields if key in written}


def object_of(value: object, where: str, findings: Findings) -> Mapping[str, object]:
    """Return an object, or an empty one after saying that this is none; null says nothing."""
    if is_object(value):
        return value
    if value is not None:
        findings.error(where, f"{where} must be an object, not {shown(value)}")
    return {}


def _style(value: object, style: str, catalogue: ChartCatalogue, findings: Findings) -> dict[str, object]:
    given = object_of(value, "override.style", findings)
    own = catalogue.style(style)
    for other in catalogue.styles:
        if other is not own:
            for key in given.keys() & other.override.keys():
                findings.error(
                    f"override.style.{key}", f"`{key}` belongs to style {other.value}; this chart has style {style}"
                )
                given = {each: given[each] for each in given if each != key}
    return read_fields(given, own.override, "override.style", findings) if own else {}


def _price_range(value: object, rule: BodyParameter | None, findings: Findings) -> dict[str, object]:
    given = object_of(value, "override.priceRange", findings)
    if not given or rule is None:
        return {}
    read = read_fields(given, rule.fields, "override.priceRange", findings)
    low, high = read.get("from"), read.get("to")
    for key in ("from", "to"):
        if given.get(key) is None:
            findings.error(f"override.priceRange.{key}", f"override.priceRange.{key} is required")
    if isinstance(low, int | float) and isinstance(high, int | float) and low >= high:
        findings.error("override.priceRange", f"override.priceRange.from {low} must lie below to {high}")
    return read


def _levels(given: Mapping[str, object], levels: Levels | None) -> dict[str, object]:
    if levels is None:
        return {}
    return {
        key: each for key, each in given.items() if (number := _LEVEL.fullmatch(key)) and int(number[1]) <= MOST_LEVELS
    }


def _level(value: object, levels: Levels | None, where: str, findings: Findings) -> dict[str, object]:
    rules = {key: Rule(type=kind) for key, kind in levels.fields.items()} if levels else {}
    return read_fields(object_of(value, where, findings), rules, where, findings)
