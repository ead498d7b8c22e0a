"""Drawings and their coordinates in both dialects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue, Drawing, Rule
from mcp_binance_server.charts.config import DRAWING_KEYS, Findings, is_list, is_object, shown
from mcp_binance_server.charts.dialect.times import bar_open, bars_before, write_instant
from mcp_binance_server.charts.dialect.values import object_of, read_overrides, read_value

# The service's keys for the time and price of a point.
_ENDS: Final = {"start": ("startDatetime", "startPrice"), "end": ("endDatetime", "endPrice")}
_POSITION: Final = {"entry": "entryPrice", "target": "targetPrice", "stop": "stopPrice"}
_TIMES: Final = {"start": "startDatetime", "end": "endDatetime"}

# Common names of each drawing, letters only. The service's own names are accepted as well.
_CALLED: Final = {
    "Horizontal Line": "hline level support resistance",
    "Vertical Line": "vline",
    "Trend Line": "trend",
    "Rectangle": "box zone",
    "Arrow Marker": "arrow",
    "Fib Retracement": "fib fibonacci fibonacciretracement",
    "Arrow Mark Up": "arrowup buy",
    "Arrow Mark Down": "arrowdown sell",
    "Text": "label",
    "Long Position": "long",
    "Short Position": "short",
}
_BY_WORD: Final = {word: name for name, words in _CALLED.items() for word in words.split()}
RETRACEMENT: Final = "Fib Retracement"
USUAL_BARS: Final = 200  # bars in a chart without a range
POSITIONS: Final = frozenset({"Long Position", "Short Position"})
LAST_SWING: Final[Mapping[str, object]] = {"swing": "last"}
_COLOUR: Final = {
    "Arrow Marker": "arrowColor",
    "Arrow Mark Up": "arrowColor",
    "Arrow Mark Down": "arrowColor",
    "Text": "textColor",
    "Callout": "backgroundColor",
}
# Assumed numbers: the documentation gives only their minimum and maximum.
_DASHES: Final = {"solid": 0, "dotted": 1, "dashed": 2}


def is_last_swing(value: object) -> bool:
    """Return True if coordinates ask for the last swing instead of two points."""
    return is_object(value) and dict(value) == LAST_SWING


def flatten(value: object, drawing: Drawing, where: str, findings: Findings) -> dict[str, object] | None:
    """Convert coordinates to the service's keys. Report an error and return None if they are invalid."""
    if value is None:
        return {}
    if isinstance(value, int | float) and not isinstance(value, bool) and "price" in drawing.input:
        return {"price": value}
    if is_list(value):
        value = _of_points(value, drawing)
    if not is_object(value):
        findings.error(where, f"{where} must be {_wanted(drawing)}")
        return None
    flat: dict[str, object] = {}
    for key, each in value.items():
        for name, part in _parts(key, each, drawing, where, findings).items():
            if name in flat:
                findings.error(f"{where}.{key}", f"{name} is given twice: write it once")
            flat[name] = part
    return flat


def unflatten(given: Mapping[str, object]) -> dict[str, object]:
    """Convert the service's flat inputs to nested coordinates."""
    names = {wire: ours for ours, wire in (*_POSITION.items(), ("time", "datetime"))}
    has_points = "startPrice" in given
    coordinates: dict[str, object] = {}
    for end, (time, price) in _ENDS.items():
        if has_points:
            point = {"time": given.get(time), "price": given.get(price)}
            coordinates[end] = {key: each for key, each in point.items() if each is not None}
        elif time in given:
            coordinates[end] = given[time]
    points = {wire for pair in _ENDS.values() for wire in pair}
    return {**coordinates, **{names.get(key, key): each for key, each in given.items() if key not in points}}


def spoken(wire: str, drawing: Drawing) -> str:
    """Return the coordinate key of a service input, such as `start.price`."""
    for end, (time, price) in _ENDS.items():
        if wire in {time, price} and "startPrice" in drawing.input:
            return f"{end}.{'time' if wire == time else 'price'}"
    names = {wire: ours for ours, wire in (*_POSITION.items(), *_TIMES.items(), ("time", "datetime"))}
    return names.get(wire, wire)


def _of_points(value: object, drawing: Drawing) -> object:
    points = value if is_list(value) else ()
    if "startPrice" in drawing.input and len(points) == 2:
        return {"start": points[0], "end": points[1]}
    return points[0] if "datetime" in drawing.input and len(points) == 1 else value


def _parts(key: str, value: object, drawing: Drawing, where: str, findings: Findings) -> dict[str, object]:
    if key in drawing.input:
        return {key: value}
    # A retracement needs two prices. Without times it spans the chart.
    if key in _ENDS and drawing.api_name == "Fib Retracement" and isinstance(value, int | float):
        return {_ENDS[key][1]: value}
    if key in _ENDS and "startPrice" in drawing.input:
        return _point(value, _ENDS[key], f"{where}.{key}", findings)
    if key in _TIMES:
        return {_TIMES[key]: value}
    if key == "time":
        return {"datetime": value}
    return {_POSITION.get(key, key): value}


def _point(value: object, keys: tuple[str, str], where: str, findings: Findings) -> dict[str, object]:
    if is_list(value) and len(value) == 2:
        value = {"time": value[0], "price": value[1]}
    if not is_object(value):
        findings.error(where, f"{where} must be a point with time and price, not {shown(value)}")
        return {keys[0]: None, keys[1]: None}
    findings.unknown_keys(value, ("time", "price"), f"{where}.")
    return {keys[0]: value.get("time"), keys[1]: value.get("price")}


def _wanted(drawing: Drawing) -> str:
    if "startPrice" in drawing.input:
        return "an object with start and end, each with time and price"
    if drawing.api_name == "Horizontal Line":
        return "a price, or an object with a price"
    return f"an object with {', '.join(key for key, rule in drawing.input.items() if rule.required)}"


@dataclass(frozen=True, slots=True)
class ChartMoments:
    """First and last time of a chart, and its interval if known: the default times of drawings.

    A position starts at the last bar. A retracement spans the chart.
    """

    first: datetime | None
    last: datetime
    interval: str | None

    def time(self, drawing: Drawing, name: str) -> datetime | None:
        """Return the default time of an input, or None if it has none."""
        if self.interval is None:
            return None
        if drawing.api_name in POSITIONS and name == "startDatetime":
            return bar_open(self.last, self.interval)
        if drawing.api_name == RETRACEMENT and name == "endDatetime":
            return bar_open(self.last, self.interval)
        if drawing.api_name == RETRACEMENT and name == "startDatetime":
            begin = self.first or bars_before(self.last, self.interval, USUAL_BARS - 1)
            return bar_open(begin, self.interval)
        return None


def drawing_named(name: object, catalogue: ChartCatalogue) -> Drawing | None:
    """Return the drawing with this type or name, ignoring case, spaces and dashes."""
    letters = "".join(letter for letter in name.casefold() if letter.isalpha()) if isinstance(name, str) else ""
    by_letters = {each.api_name.replace(" ", "").casefold(): each for each in catalogue.drawings}
    return by_letters.get(letters) or catalogue.drawing(_BY_WORD.get(letters, ""))


def read_drawings(
    value: object, catalogue: ChartCatalogue, moment: ChartMoments, findings: Findings
) -> list[dict[str, object]]:
    """Convert the list of drawings to the service's dialect."""
    listed = findings.listed(value, "drawings")
    read = [_drawing(each, catalogue, moment, f"drawings[{place}]", findings) for place, each in enumerate(listed)]
    return [each for each in read if each is not None]


def write_drawings(drawings: object) -> list[dict[str, object]]:
    """Convert the service's drawings to the tools' dialect."""
    return [_public(each) for each in drawings if is_object(each)] if is_list(drawings) else []


def _drawing(
    value: object, catalogue: ChartCatalogue, moment: ChartMoments, where: str, findings: Findings
) -> dict[str, object] | None:
    if not is_object(value):
        findings.error(where, f"{where} must be an object with a type and coordinates, not {shown(value)}")
        return None
    findings.unknown_keys(value, DRAWING_KEYS, f"{where}.")
    for ours, theirs in (("type", "name"), ("coordinates", "input"), ("style", "override")):
        if value.get(ours) is not None and value.get(theirs) is not None:
            findings.error(f"{where}.{ours}", f"{where} has both {ours} and {theirs}: write one of them")
            return None
    drawing = _named(value, catalogue, where, findings)
    if drawing is None:
        return None
    read = _input(value, drawing, moment, where, findings)
    if value.get("override") is not None:
        looks = read_overrides(value["override"], drawing.override, f"{where}.override", findings, drawing.levels)
    else:
        looks = _style(value.get("style"), drawing, f"{where}.style", findings)
    order = value.get("zOrder")
    level = None if order is None else read_value(order, _order(drawing), f"{where}.zOrder", findings)
    parts: dict[str, object] = {"override": looks or None, "zOrder": level}
    return {
        "name": drawing.api_name,
        "input": read,
        **{name: part for name, part in parts.items() if part is not None},
    }


def _order(drawing: Drawing) -> Rule:
    return Rule(type="String", options=drawing.z_order)


def _named(value: Mapping[str, object], catalogue: ChartCatalogue, where: str, findings: Findings) -> Drawing | None:
    key = "type" if value.get("type") is not None else "name"
    name = value.get(key)
    if name is None:
        findings.error(f"{where}.type", f"{where}.type is required, such as Horizontal Line")
        return None
    drawing = drawing_named(name, catalogue)
    if drawing is None:
        names = [each.api_name for each in catalogue.drawings]
        likely = findings.guess(name, names) if isinstance(name, str) else None
        advice = f"Set {where}.{key} to {likely}" if likely else None
        findings.error(f"{where}.{key}", f"Unknown drawing {shown(name)}; known drawings: {', '.join(names)}", advice)
    return drawing


def _input(
    value: Mapping[str, object], drawing: Drawing, moment: ChartMoments, where: str, findings: Findings
) -> dict[str, object]:
    key = "input" if value.get("input") is not None else "coordinates"
    at = f"{where}.{key}"
    if drawing.api_name == RETRACEMENT and is_last_swing(value.get(key)):
        findings.error(at, "the last swing is found locally only; chart-img.com needs two points", remote_only=True)
        return dict(LAST_SWING)
    given = flatten(value.get(key), drawing, at, findings)
    if given is None:
        return {}
    names = {wire: wire if key == "input" else spoken(wire, drawing) for wire in drawing.input}
    unknown = {name: each for name, each in given.items() if name not in names}
    findings.unknown_keys(unknown, tuple(dict.fromkeys(name.partition(".")[0] for name in names.values())), f"{at}.")
    read: dict[str, object] = {}
    missing: list[str] = []
    for name, rule in drawing.input.items():
        each = _filled(name, given.get(name), drawing, moment)
        if each is None:
            missing += [names[name]] if rule.required else []
            continue
        if name == "quantity" and isinstance(each, int | float) and not isinstance(each, bool):
            each = str(each)
        known = read_value(each, rule, f"{at}.{name}", findings)
        if known is not None:
            read[name] = known
    if missing:
        where = f"{at}.{missing[0]}" if len(missing) == 1 else at
        findings.error(where, f"{drawing.api_name} needs {', '.join(missing)}")
    return read


def _filled(name: str, given: object, drawing: Drawing, moment: ChartMoments) -> object:
    if given is not None or (assumed := moment.time(drawing, name)) is None:
        return given
    return write_instant(assumed)


def _style(value: object, drawing: Drawing, where: str, findings: Findings) -> dict[str, object]:
    given = dict(object_of(value, where, findings))
    dash = given.get("dash")
    if isinstance(dash, str) and dash.casefold() in _DASHES:
        given["dash"] = _DASHES[dash.casefold()]
    elif dash is not None:
        findings.error(f"{where}.dash", f"{where}.dash must be solid, dotted or dashed, not {shown(dash)}")
        del given["dash"]
    colour = _COLOUR.get(drawing.api_name, "lineColor")
    for short, key in (("color", colour), ("width", "lineWidth"), ("dash", "lineStyle")):
        if short in given:
            each = given.pop(short)
            if key not in drawing.override:
                findings.error(f"{where}.{short}", f"{drawing.api_name} has no setting for {short}")
            elif key in given:
                findings.error(f"{where}.{short}", f"`{short}` and `{key}` are the same: write one of them")
            else:
                given[key] = each
    return read_overrides(given, drawing.override, where, findings, drawing.levels)


def _public(drawing: Mapping[str, object]) -> dict[str, object]:
    name, given = str(drawing.get("name")), drawing.get("input")
    parts = {"style": drawing.get("override"), "zOrder": drawing.get("zOrder")}
    return {
        "type": name,
        "coordinates": unflatten(given) if is_object(given) else {},
        **{key: part for key, part in parts.items() if part is not None},
    }
