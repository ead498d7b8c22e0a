"""Measures as text and tables, with the thresholds that were used."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, cast

from mcp_binance_server.analytics.metric import BaseRate, Basis, Metric, NotJudged, Progress
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.analytics.tuning import changes, plain_number
from mcp_binance_server.domain.money import decimals_of, round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import (
    bps_places,
    exact,
    exact_average,
    instant,
    plain,
    share,
    time_of_day,
)

UNCHANGED = "project defaults"

Members = Mapping[str, Mapping[str, Any]]

COLUMNS = ("Measure", "Value", "Unit", "Confidence", "P", "Base rate", "Not judged", "Method")
P_PLACES = 4
UNITS = {"percent": "%", "per_second": "per second", "score_0_100": "0 to 100"}
SHORT = frozenset({"cvd", "ofi", "poc", "vah", "val", "vpin", "vwap", "z"})
NOTHING = "none"
UNKNOWN = "unknown"


WHY: dict[str, str] = {
    "one_sided_book": "one side of the book is empty",
    "crossed_book": "the book is crossed and cannot be trusted",
    "busier_than_any": "busier than any kept minute",
    "stale_book": "the book has not changed for too long",
    "no_events": "nothing has happened yet",
    "no_trades": "nothing was traded",
    "insufficient_events": "too few events",
    "insufficient_buckets": "too few full volume buckets",
    "insufficient_bars": "too few bars",
    "contradiction": "the book and the candles contradict each other",
    "insufficient_history": "too little history",
    "no_support": "no support below the price",
    "gap_in_window": "events are missing in the window",
    "degenerate": "all values are equal",
    "zero_variance": "all values are equal",
    "no_flow_variance": "the flow does not vary",
    "not_fitted": "not fitted",
    "no_gain": "no better than the mid",
    "collecting": "collecting",
    "upstream_unavailable": "the exchange did not answer",
    "stream_late": "the live stream lags",
}


def context_member(basis: Basis, rules: SymbolRules) -> dict[str, Any]:
    """Return the `context` of an answer: the period, sources and age of the data behind its measures."""
    window = basis.window
    context: dict[str, Any] = {
        "window": {
            "from": instant(window.from_ms),
            "to": instant(window.to_ms),
            "ms": window.to_ms - window.from_ms,
            "requested_ms": basis.requested_ms,
        },
        "n": dict(basis.n),
        "coverage": round(basis.coverage, 4),
        "source": list(basis.source),
        "as_of": instant(basis.as_of_ms),
        "age_ms": basis.age_ms,
        "truncated": basis.truncated,
        "gaps": basis.gaps,
        "base": rules.base,
        "quote": rules.quote,
    }
    if basis.stale:
        context |= {"stale": True, "unchanged_for_ms": basis.age_ms}
    if basis.depth_levels is not None:
        bids, asks = basis.depth_levels
        context["depth_levels"] = {"bids": bids, "asks": asks}
    return context


def metric_member(metric: Metric) -> dict[str, Any]:
    """Return a measure as structured data. Empty members are left out, but a missing value is null."""
    member: dict[str, Any] = {"value": metric.value}
    said = {
        "unit": metric.unit,
        "confidence": metric.confidence,
        "why_null": metric.why_null,
        "method": metric.method,
        "progress": None if metric.progress is None else _progress(metric.progress),
        "p": None if metric.p is None else round(metric.p, P_PLACES),
        "base_rate": None if metric.base_rate is None else base_rate_member(metric.base_rate),
        "not_judged": None if metric.not_judged is None else not_judged_member(metric.not_judged),
    }
    return member | {name: value for name, value in said.items() if value is not None}


def base_rate_member(seen: BaseRate) -> dict[str, Any]:
    """Return the frequency of similar events, with Wilson's confidence interval."""
    return {"k": seen.k, "n": seen.n, "low": round(seen.low, P_PLACES), "high": round(seen.high, P_PLACES)}


def not_judged_member(waiting: NotJudged) -> dict[str, Any]:
    """Return the available and the required length of the symbol's history."""
    said: dict[str, Any] = {"have": waiting.have, "need": waiting.need, "unit": waiting.unit}
    if waiting.why is not None:
        said["why"] = waiting.why
    if waiting.usual_of is not None:
        said |= {"usual_of_class": True, "reference_class": waiting.usual_of}
    return said


def base_rate_words(seen: BaseRate, unit: str = "minutes") -> str:
    """Format how often similar events occurred: `seen in 3 of 240 minutes as busy (1.3 %)`."""
    percent = Decimal(100 * seen.k) / seen.n if seen.n else Decimal(0)
    among = f"{seen.n} minutes as busy" if unit == "minutes" else f"the last {seen.n} {unit}"
    return f"seen in {seen.k} of {among} ({percent.quantize(Decimal('0.1'), ROUND_HALF_UP)} %)"


def changed_words(seen: BaseRate) -> str:
    """Return the text for an event that was too frequent in the last hour to be unusual."""
    return f"unusual in {seen.k} of the last {seen.n} minutes: compare with the hours before"


def not_judged_words(waiting: NotJudged) -> str:
    """Format the available and the required length of history: `not judged: 12 of 49 minutes`."""
    if waiting.why is not None:
        return f"not judged: {why(waiting.why)}"
    return f"not judged: {waiting.have} of {waiting.need} {waiting.unit}"


def why(metric_or_code: str | None) -> str:
    """Return the reason for a missing value as words."""
    return WHY.get(metric_or_code or "", (metric_or_code or "unknown").replace("_", " "))


def collecting(progress: Progress) -> str:
    """Format the progress of a measure's data: `Collecting: 12 of 30 s (40 %), ready about 14:24:13 UTC`."""
    have, need = progress.have_ms // 1000, -(-progress.need_ms // 1000)
    done = share(progress.have_ms / progress.need_ms, 0) if progress.need_ms else "0%"
    return f"Collecting: {have} of {need} s ({done}), ready about {time_of_day(progress.ready_ms)} UTC"


def _progress(progress: Progress) -> dict[str, Any]:
    member: dict[str, Any] = {
        "have_ms": progress.have_ms,
        "need_ms": progress.need_ms,
        "ready_at": instant(progress.ready_ms),
    }
    if progress.need_n is not None:
        member |= {"have_n": progress.have_n or 0, "need_n": progress.need_n}
    return member


def number(value: float | None, places: int = 4) -> float | None:
    """Round a ratio or distance to its meaningful digits."""
    return None if value is None else round(value, places) + 0.0


def basis_points(value: float | None, places: int = 3) -> float | None:
    """Round a distance in basis points. Only zero is shown as zero."""
    return None if value is None else number(value, bps_places(value, places))


def written(value: float | None, step: Decimal) -> str | None:
    """Format a computed price or quantity with the decimals of its step."""
    return None if value is None else exact(round_to_places(Decimal(repr(value)), decimals_of(step)), step)


def written_average(value: float | None, tick: Decimal) -> str | None:
    """Format a computed average of prices."""
    return None if value is None else exact_average(Decimal(repr(value)), tick)


def threshold_words(thresholds: Thresholds) -> str:
    """Return the thresholds that differ from their defaults: `wall_z 4 (default 3.5)`."""
    return "; ".join(f"{each.name} {each.value} (default {each.default})" for each in changes(thresholds)) or UNCHANGED


def threshold_line(thresholds: Thresholds) -> str:
    """Return the line on thresholds at the end of a live market page."""
    return f"_Thresholds: {threshold_words(thresholds)}_"


def changed_lines(thresholds: Thresholds) -> list[str]:
    """Return the line on thresholds; no line if all thresholds have their defaults."""
    return [f"Thresholds: {threshold_words(thresholds)}"] if changes(thresholds) else []


def in_percent(share: float) -> str:
    """Format a share as a percentage without trailing zeros: `5%`, `2.5%`."""
    return f"{plain_number(round(share * 100, 6))}%"


def measure_lines(measures: Members, rules: SymbolRules) -> list[str]:
    """Return measures as tables: one table for all single values, and one for each list of values."""
    single = {name: each for name, each in measures.items() if not _has_rows(each["value"])}
    units = {**UNITS, "base": plain(rules.base), "quote": plain(rules.quote)}
    lines = table(COLUMNS, [_row(name, each, units) for name, each in single.items()])
    for name, each in measures.items():
        if name not in single:
            lines += ["", f"**{_title(name, each, units)}**", "", *_rows(each["value"])]
    return lines


def basis_line(context: Mapping[str, Any], network: str, thresholds: str) -> str:
    """Format the `context` of an answer in one line: the data behind the measures."""
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
        parts.append(f"stale yes, unchanged for {context['unchanged_for_ms']} ms")
    return f"*{'; '.join([*parts, f'thresholds: {thresholds}'])}*"


def words(name: str) -> str:
    """Replace the underscores of a name by blanks."""
    return name.replace("_", " ")


def titled(name: str) -> str:
    """Format the name of a measure as the start of a line."""
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
        _cell(measure.get("p")),
        _cell(measure.get("base_rate")),
        _cell(measure.get("not_judged")),
        words(measure.get("method", "")),
    ]


def _title(name: str, measure: Mapping[str, Any], units: Mapping[str, str]) -> str:
    _, _, unit, confidence, p, seen, waiting, method = _row(name, {**measure, "value": None}, units)
    judged = [p and f"p {p}", seen and f"base rate {seen}", waiting and f"not judged: {waiting}"]
    said = [unit, confidence and f"confidence {confidence}", *judged, method]
    aside = "; ".join(each for each in said if each)
    return f"{titled(name)} ({aside})" if aside else titled(name)


def _has_rows(value: object) -> bool:
    """Return whether a value is a list of records, or maps names to records."""
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
    """Return a table without empty columns."""
    listed = [*rows]
    kept = [place for place in range(len(head)) if any(row[place] for row in listed)]
    written = [[row[place] for place in kept] for row in [head, *listed]]
    lines = [f"| {' | '.join(row)} |" for row in written]
    return [lines[0], f"|{'-|' * len(kept)}", *lines[1:]]
