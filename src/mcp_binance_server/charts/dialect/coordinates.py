"""Coordinates: points as people write them, and the flat inputs of the service."""

from collections.abc import Mapping
from typing import Final

from mcp_binance_server.charts.catalogue import Drawing
from mcp_binance_server.charts.config import Findings, is_list, is_object, shown

# Where a point's time and price go.
_ENDS: Final = {"start": ("startDatetime", "startPrice"), "end": ("endDatetime", "endPrice")}
_POSITION: Final = {"entry": "entryPrice", "target": "targetPrice", "stop": "stopPrice"}
_TIMES: Final = {"start": "startDatetime", "end": "endDatetime"}


def flatten(value: object, drawing: Drawing, where: str, findings: Findings) -> dict[str, object] | None:
    """Return coordinates by the service's keys; None after saying that they cannot be read at all."""
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
    """Return the service's flat inputs as coordinates."""
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
    """Return how coordinates write an input of the service."""
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
    # A retracement is between two prices; without times it spans the chart.
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
