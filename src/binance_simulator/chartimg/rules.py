"""Validation of request bodies by the simulated chart-img.com."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from binance_simulator.chartimg.facts import DrawingFact, Fact, Facts, StudyFact, is_list, is_object

TICKER = r"[A-Z0-9_]+:[A-Z0-9_.!]+"
SYMBOL = re.compile(rf"{TICKER}|[-+*/(). 0-9]*(?:{TICKER}[-+*/(). 0-9]*)+")
COLOR = re.compile(r"rgba?\((\d{1,3}),\s*(\d{1,3}),\s*(\d{1,3})(?:,\s*(0|1|0?\.\d+|1\.0+))?\)")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?")
LEVEL = re.compile(r"level[1-9]\d?")
UNKNOWN_KEY = "must be a supported parameter"
UNKNOWN_NAME = "must be a supported name"


class Problem(msgspec.Struct, frozen=True):
    """One problem of an invalid body, as listed in the answer."""

    value: object
    msg: str
    param: str
    location: str = "body"


def problems_of(body: Mapping[str, object], facts: Facts) -> list[Problem]:
    """Return all problems of a body."""
    return [
        *_unknown(body, facts.parameters, ""),
        *(
            problem
            for key, value in body.items()
            if key in facts.parameters
            for problem in _parameter(key, value, body, facts)
        ),
    ]


def _parameter(key: str, value: object, body: Mapping[str, object], facts: Facts) -> Iterator[Problem]:
    if key == "symbol":
        if not isinstance(value, str) or not SYMBOL.fullmatch(value):
            yield Problem(value, "must be a valid tradingview EXCHANGE:SYMBOL", key)
    elif key == "range":
        yield from _range(value, facts.parameters[key])
    elif key == "override":
        style = facts.style.get(str(body.get("style", "candle")))
        yield from _chart_override(value, facts.parameters[key].fields, style.override if style else {})
    elif key == "studies":
        for at, item in _listed(value, key):
            yield from item if isinstance(item, list) else _study(item, at, facts)
    elif key == "drawings":
        for at, item in _listed(value, key):
            yield from item if isinstance(item, list) else _drawing(item, at, facts)
    else:
        yield from _value(value, facts.parameters[key], key)


def _range(value: object, fact: Fact) -> Iterator[Problem]:
    if isinstance(value, str):
        if value not in fact.options:
            yield Problem(value, "must be a supported range", "range")
        return
    fields = {"from": Fact(type="DateTime", required=True), "to": Fact(type="DateTime", required=True)}
    found = list(_keys(value, fields, "range"))
    yield from found
    if not found and is_object(value) and str(value["from"]) >= str(value["to"]):
        yield Problem(value, "from must be before to", "range")


def _chart_override(value: object, fields: Mapping[str, Fact], style: Mapping[str, Fact]) -> Iterator[Problem]:
    if not is_object(value):
        yield Problem(value, "must be an object", "override")
        return
    yield from _unknown(value, fields, "override.")
    for key, each in value.items():
        if key == "style":
            yield from _keys(each, style, "override.style")
        elif key in fields and fields[key].fields:
            yield from _keys(each, fields[key].fields, f"override.{key}")
        elif key in fields:
            yield from _value(each, fields[key], f"override.{key}")


def _listed(value: object, key: str) -> Iterator[tuple[str, Mapping[str, object] | list[Problem]]]:
    if not is_list(value):
        yield key, [Problem(value, "must be a list", key)]
        return
    for place, item in enumerate(value):
        at = f"{key}[{place}]"
        yield at, item if is_object(item) else [Problem(item, "must be an object", at)]


def _study(item: Mapping[str, object], at: str, facts: Facts) -> Iterator[Problem]:
    yield from _unknown(item, facts.parameters["studies"].fields, f"{at}.")
    study: StudyFact | None = facts.study.get(str(item.get("name")))
    if study is None:
        yield Problem(item.get("name"), UNKNOWN_NAME, f"{at}.name")
        return
    if "forceOverlay" in item:
        yield from _value(item["forceOverlay"], Fact(type="Boolean"), f"{at}.forceOverlay")
    yield from _keys(item.get("input", {}), study.input, f"{at}.input")
    yield from _keys(item.get("override", {}), study.override, f"{at}.override")


def _drawing(item: Mapping[str, object], at: str, facts: Facts) -> Iterator[Problem]:
    yield from _unknown(item, facts.parameters["drawings"].fields, f"{at}.")
    drawing: DrawingFact | None = facts.drawing.get(str(item.get("name")))
    if drawing is None:
        yield Problem(item.get("name"), UNKNOWN_NAME, f"{at}.name")
        return
    yield from _keys(item.get("input"), drawing.input, f"{at}.input")
    override = item.get("override", {})
    if drawing.levels and is_object(override):
        fields = {name: Fact(type=kind) for name, kind in drawing.levels.fields.items()}
        for key in filter(LEVEL.fullmatch, override):
            yield from _keys(override[key], fields, f"{at}.override.{key}")
        override = {key: each for key, each in override.items() if not LEVEL.fullmatch(key)}
    yield from _keys(override, drawing.override, f"{at}.override")
    if "zOrder" in item and item["zOrder"] not in drawing.z_order:
        yield Problem(item["zOrder"], "must be a supported zOrder", f"{at}.zOrder")


def _keys(value: object, facts: Mapping[str, Fact], at: str) -> Iterator[Problem]:
    if not is_object(value):
        yield Problem(value, "must be an object", at)
        return
    yield from _unknown(value, facts, f"{at}.")
    for key, fact in facts.items():
        if key in value:
            yield from _value(value[key], fact, f"{at}.{key}")
        elif fact.required:
            yield Problem(None, "is required", f"{at}.{key}")


def _unknown(given: Mapping[str, object], known: Mapping[str, Fact], at: str) -> Iterator[Problem]:
    return (Problem(given[key], UNKNOWN_KEY, f"{at}{key}") for key in given if key not in known)


def _value(value: object, fact: Fact, at: str) -> Iterator[Problem]:
    if not _has_type(value, fact.type):
        yield Problem(value, f"must be of type {fact.type}", at)
    elif fact.options and value not in fact.options:
        yield Problem(value, f"must be a supported {at.rpartition('.')[2]}", at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if fact.min is not None and value < fact.min:
            yield Problem(value, f"must be at least {fact.min}", at)
        if fact.max is not None and value > fact.max:
            yield Problem(value, f"must be at most {fact.max}", at)


def _has_type(value: object, kind: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    checks = {
        "Boolean": isinstance(value, bool),
        "Integer": is_number and isinstance(value, int),
        "Float": is_number,
        "String": isinstance(value, str),
        "Color": isinstance(value, str) and _is_color(value),
        "DateTime": isinstance(value, str) and _is_moment(value),
    }
    return checks.get(kind, False)


def _is_color(text: str) -> bool:
    found = COLOR.fullmatch(text)
    return found is not None and all(int(part) <= 255 for part in found.groups()[:3])


def _is_moment(text: str) -> bool:
    if not MOMENT.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
