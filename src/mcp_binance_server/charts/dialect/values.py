"""Values of inputs and overrides in both dialects."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_binance_server.charts.catalogue import BodyParameter, ChartCatalogue, Levels, Rule, Scalar
from mcp_binance_server.charts.config import LARGEST_NUMBER, Findings, is_object, shown
from mcp_binance_server.charts.dialect.times import read_instant, write_instant

LONGEST_TEXT: Final = 500
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEX: Final = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_RGB: Final = re.compile(
    r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(0|1|0?\.\d{1,6}|1\.0{1,6})\s*)?\)"
)

MOST_LEVELS: Final = 24
# Overrides that only the local renderer supports.
LOCAL: Final[Mapping[str, BodyParameter]] = {"showVolume": BodyParameter(type="Boolean", default=True)}
_LEVEL: Final = re.compile(r"level([1-9][0-9]?)")


def read_value(value: object, rule: Rule, where: str, findings: Findings) -> Scalar | None:
    """Convert a value to the service's form. Report an error and return None if it is invalid."""
    match rule.type:
        case "Integer":
            return _in_bounds(_whole(value, where, findings), rule, where, findings)
        case "Float":
            return _in_bounds(read_number(value, where, findings), rule, where, findings)
        case "Boolean":
            return value if isinstance(value, bool) else _refuse(value, "true or false", where, findings)
        case "Color":
            return read_colour(value, where, findings)
        case "DateTime":
            moment = read_instant(value, where, findings)
            return None if moment is None else write_instant(moment)
        case _:
            return _text(value, rule, where, findings)


def read_number(value: object, where: str, findings: Findings) -> int | float | None:
    """Return a finite number. Text, booleans, infinity and NaN are reported as errors."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        return value
    return _refuse(value, "a number", where, findings)


def read_colour(value: object, where: str, findings: Findings) -> str | None:
    """Return a colour as `rgb()` or `rgba()`. The service accepts no other form, so `#rrggbb` is converted."""
    text = value.strip() if isinstance(value, str) else ""
    if found := _HEX.fullmatch(text):
        digits = found[1] if len(found[1]) > 3 else "".join(2 * digit for digit in found[1])
        parts = [int(digits[place : place + 2], 16) for place in range(0, len(digits), 2)]
        return _colour(parts[:3], f"{parts[3] / 255:.3g}" if len(parts) == 4 else None)
    if (found := _RGB.fullmatch(text.lower())) and all(int(part) <= 255 for part in found.groups()[:3]):
        return _colour([int(part) for part in found.groups()[:3]], found[4])
    return _refuse(value, "a colour such as rgb(33,150,243), rgba(33,150,243,0.5) or #2196f3", where, findings)


def _colour(parts: list[int], alpha: str | None) -> str:
    inner = ",".join(map(str, parts))
    return f"rgb({inner})" if alpha is None else f"rgba({inner},{float(alpha):g})"


def _whole(value: object, where: str, findings: Findings) -> int | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        if isinstance(value, int):
            return value
        if value.is_integer():
            return int(value)
    return _refuse(value, "a whole number", where, findings)


def _in_bounds(value: int | float | None, rule: Rule, where: str, findings: Findings) -> int | float | None:
    if value is None:
        return None
    if rule.options and value not in rule.options:
        return _refuse(value, f"one of {', '.join(map(str, rule.options))}", where, findings)
    if rule.min is not None and value < rule.min:
        return _refuse(value, f"{rule.min} or more", where, findings)
    if rule.max is not None and value > rule.max:
        return _refuse(value, f"{rule.max} or less", where, findings)
    return value


def _text(value: object, rule: Rule, where: str, findings: Findings) -> str | None:
    # A lone surrogate is not a character: it can be neither sent nor drawn.
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or _SURROGATE.search(value):
        return _refuse(value, f"text of at most {LONGEST_TEXT} characters", where, findings)
    if not rule.options or value in rule.options:
        return value
    known = [str(option) for option in rule.options]
    likely = findings.guess(value, known)
    listed = ", ".join(known) if len(known) <= 25 else f"one of {len(known)} names such as {', '.join(known[:3])}"
    findings.error(where, f"{where} {shown(value)} is not known; it must be {listed}", _use(where, likely))
    return None


def _use(where: str, likely: str | None) -> str | None:
    return f"Set {where} to {likely}" if likely else None


def _refuse(value: object, wanted: str, where: str, findings: Findings) -> None:
    findings.error(where, f"{where} must be {wanted}, not {shown(value)}")


def read_overrides(
    value: object, rules: Mapping[str, Rule], where: str, findings: Findings, levels: Levels | None = None
) -> dict[str, object]:
    """Read an object of overrides. Unknown keys are errors."""
    given = object_of(value, where, findings)
    numbered = {key: _level(each, levels, f"{where}.{key}", findings) for key, each in _levels(given, levels).items()}
    plain = {key: each for key, each in given.items() if key not in numbered}
    return {**read_fields(plain, rules, where, findings), **{key: each for key, each in numbered.items() if each}}


def read_fields(
    given: Mapping[str, object], rules: Mapping[str, Rule], where: str, findings: Findings
) -> dict[str, object]:
    """Read each value of an object by the rule of its key. Null means that the key is missing."""
    findings.unknown_keys(given, tuple(rules), f"{where}.")
    read: dict[str, object] = {}
    for key, rule in rules.items():
        if (each := given.get(key)) is not None:
            known = read_value(each, rule, f"{where}.{key}", findings)
            if known is not None:
                read[key] = known
    return read


def read_chart_override(value: object, style: str, catalogue: ChartCatalogue, findings: Findings) -> dict[str, object]:
    """Read the overrides of the whole chart.

    The object `style` accepts the override keys of the chart's own style.
    """
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
    """Return an object. Report an error and return an empty one for any other value except null."""
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
