"""Every measure of an answer in words: a line for each, a table for each that has rows, and what all rest on."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import plain
from mcp_binance_server.surface.views.measures import why

Members = Mapping[str, Mapping[str, Any]]

COLUMNS = ("Measure", "Value", "Unit", "Confidence", "Method")
UNITS = {"percent": "%", "per_second": "per second", "score_0_100": "0 to 100"}
SHORT = frozenset({"cvd", "ofi", "poc", "vah", "val", "vpin", "vwap", "z"})
NOTHING = "none"
UNKNOWN = "unknown"


def measure_lines(measures: Members, rules: SymbolRules) -> list[str]:
    """Return the measures as tables: what is one value together, what has rows each by itself."""
    single = {name: each for name, each in measures.items() if not _has_rows(each["value"])}
    units = {**UNITS, "base": plain(rules.base), "quote": plain(rules.quote)}
    lines = table(COLUMNS, [_row(name, each, units) for name, each in single.items()])
    for name, each in measures.items():
        if name not in single:
            lines += ["", f"**{_title(name, each, units)}**", "", *_rows(each["value"])]
    return lines


def basis_line(context: Mapping[str, Any], network: str, thresholds: str) -> str:
    """Say what the measures rest on, as the `context` of an answer does."""
    window = context["window"]
    parts = [network]
    if window["ms"] or window["requested_ms"]:
        asked = f"{_seconds(window['ms'])}, {_seconds(window['requested_ms'])} requested"
        parts.append(f"window {window['from']} to {window['to']} ({asked})")
    parts += [f"{words(name)} {count}" for name, count in context["n"].items()]
    parts += [
        f"coverage {context['coverage'] * 100:g}%",
        f"source {', '.join(map(words, context['source']))}",
        f"as of {context['as_of']}, age {context['age_ms']} ms",
        f"gaps {context['gaps']}",
        f"truncated {_yes(context['truncated'])}",
    ]
    if "depth_levels" in context:
        parts.append(f"depth levels {_pairs(context['depth_levels'])}")
    if context.get("stale"):
        parts.append("stale yes")
    return f"*{'; '.join([*parts, f'thresholds: {thresholds}'])}*"


def words(name: str) -> str:
    """Write a name as words."""
    return name.replace("_", " ")


def titled(name: str) -> str:
    """Write the name of a measure as it begins a line."""
    return name.upper() if name in SHORT else words(name).capitalize()


def _row(name: str, measure: Mapping[str, Any], units: Mapping[str, str]) -> list[str]:
    unit = measure.get("unit", "")
    cell = UNKNOWN if measure["value"] is None else _cell(measure["value"])
    if reason := measure.get("why_null"):
        cell = f"{UNKNOWN}: {_why(reason, measure.get('progress'))}"
    return [
        titled(name),
        cell,
        units.get(unit, words(unit)),
        measure.get("confidence", ""),
        words(measure.get("method", "")),
    ]


def _title(name: str, measure: Mapping[str, Any], units: Mapping[str, str]) -> str:
    _, _, unit, confidence, method = _row(name, {**measure, "value": None}, units)
    said = [unit, confidence and f"confidence {confidence}", method]
    aside = "; ".join(each for each in said if each)
    return f"{titled(name)} ({aside})" if aside else titled(name)


def _has_rows(value: object) -> bool:
    """Tell whether a value is a list of records, or records by name."""
    if isinstance(value, Mapping):
        return any(isinstance(each, Mapping) for each in cast("Mapping[str, object]", value).values())
    return isinstance(value, list) and bool(cast("list[object]", value))


def _rows(value: Any) -> list[str]:  # noqa: ANN401 - a measure's value
    if isinstance(value, Mapping):
        named = cast("Mapping[str, Mapping[str, Any]]", value)
        records: list[Mapping[str, Any]] = [{"": words(name), **each} for name, each in named.items()]
    else:
        records = value
    names = [*dict.fromkeys(name for each in records for name in each if name != "progress")]
    rows = [[_record_cell(name, each) for name in names] for each in records]
    return table([titled(name.removesuffix("_null")) for name in names], rows)


def _record_cell(name: str, record: Mapping[str, Any]) -> str:
    value = record.get(name)
    if name == "why_null" and value is not None:
        return _why(value, record.get("progress"))
    return UNKNOWN if value is None and name in record else _cell(value)


def _why(reason: str, progress: Mapping[str, Any] | None) -> str:
    if progress is None:
        return why(reason)
    have, need = _seconds(progress["have_ms"]), _seconds(progress["need_ms"])
    events = f", {progress['have_n']} of {progress['need_n']} events" if "need_n" in progress else ""
    return f"{why(reason)}, have {have} of {need} needed{events}, ready at {progress['ready_at']}"


def _cell(value: Any) -> str:  # noqa: ANN401 - a measure's value
    if value is None:
        return ""
    if isinstance(value, bool):
        return _yes(value)
    if isinstance(value, Mapping):
        return _pairs(cast("Mapping[str, Any]", value)) or NOTHING
    if isinstance(value, list):
        return ", ".join(map(_cell, cast("list[Any]", value))) or NOTHING
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else str(value)


def _pairs(named: Mapping[str, Any]) -> str:
    return ", ".join(f"{words(name)} {UNKNOWN if each is None else _cell(each)}" for name, each in named.items())


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.15g} s"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table without the columns in which nothing stands."""
    listed = [*rows]
    kept = [place for place in range(len(head)) if any(row[place] for row in listed)]
    written = [[row[place] for place in kept] for row in [head, *listed]]
    lines = [f"| {' | '.join(row)} |" for row in written]
    return [lines[0], f"|{'-|' * len(kept)}", *lines[1:]]
