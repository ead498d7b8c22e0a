"""Anomalies in the last minutes of a market, with the frequency of each kind in this market (base rate)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.market.microstructure import AnomalyReport
from mcp_binance_server.analytics.market.stress import StressReading
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, EVENTS, LEAST, EventName, EventVerdict
from mcp_binance_server.analytics.metric import Metric, NotJudged, Unknown
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.flow import NO_STREAM
from mcp_binance_server.surface.views.markdown import exact, instant, plain, price, share, time_of_day
from mcp_binance_server.surface.views.measures import (
    P_PLACES,
    base_rate_member,
    base_rate_words,
    basis_points,
    changed_words,
    not_judged_member,
    not_judged_words,
    number,
    why,
    written,
)

NAMES: dict[EventName, str] = {
    "hidden_size": "Hidden size",
    "absorption": "Absorption",
    "came_and_went": "Size that came and went",
    "flood": "Flood of changes",
    "standing_size": "Large standing size",
}
# Smaller events are ignored, even if they are rare.
FLOORS: dict[EventName, str] = {
    "hidden_size": "3 equal refills",
    "absorption": "2 deviations below the usual move",
    "came_and_went": "10% of its side",
    "flood": "twice the usual",
    "standing_size": "5% of its side",
}
TAKERS = {"bid": "selling", "ask": "buying"}


def anomaly_rows(report: AnomalyReport) -> list[str]:
    """Return the table of events with the number expected by chance, and a line on kinds without enough history."""
    lines = list[str]()
    if report.judged:
        lines += ["| Event | Last minutes | Measured | How often here |", "|-|-|-|-|"]
        lines += [f"| {' | '.join(_cells(report, each))} |" for each in report.judged]
        lines += ["", _counted(report)]
    if waiting := not_judged_line(report):
        lines += [*([""] if lines else []), f"_{waiting}_"]
    for name in EVENTS:
        if name in report.changed:
            lines += ["", f"_{NAMES[name]}: {changed_words(report.changed[name])}_"]
    return lines


def stress_line(report: AnomalyReport) -> str:
    """Return how the market differs from its last hour.

    This is `usual`, or depth, spread and move against their medians.
    """
    now = report.stress
    if now is None:
        return f"not judged: {_no_stream(report)}"
    judgement = now.judgement
    if (waiting := report.waiting(judgement)) is not None:
        alike = "" if waiting.usual_of is None else " (usual for similar markets)"
        return f"{not_judged_words(waiting)}{alike}"
    if "stress" in report.changed:
        return changed_words(report.changed["stress"])
    if now.reading is None or not report.is_stressed or judgement.p is None:
        return "usual"
    return f"{', '.join(_stressed(now.reading))} (rarer than 1 in {round(1 / judgement.p) - 1} minutes)"


def not_judged_line(report: AnomalyReport) -> str:
    """Return the kinds of events without enough history: `Hidden size, Absorption: not judged: 12 of 49 minutes`."""
    if report.unknown is not None:
        return f"Not judged: {_no_stream(report)}"
    if not report.minutes:
        waiting = NotJudged(min(report.past_minutes, LEAST), LEAST)
        done = report.past_minutes >= LEAST
        return "Not judged: waiting for the first whole minute" if done else not_judged_words(waiting).capitalize()
    alike: dict[NotJudged, list[str]] = {}
    usual = list[str]()
    for each in report.verdicts:
        if (waiting := report.waiting(each.judgement)) is not None:
            alike.setdefault(replace(waiting, usual_of=None), []).append(NAMES[each.name])
            usual += [NAMES[each.name]] if waiting.usual_of is not None else []
    said = "; ".join(f"{', '.join(names)}: {not_judged_words(waiting)}" for waiting, names in alike.items())
    if report.reference is None or not usual:
        return said
    seen = "All values are" if len(usual) == sum(map(len, alike.values())) else f"Values of {', '.join(usual)} are"
    return f"{said}. {seen} usual for similar markets ({report.reference.name})"


def anomalies_line(report: AnomalyReport) -> str:
    """Return the anomalies of the last minutes in one line."""
    opening = f"{plain(report.rules.symbol)}, {minutes_words(report)}:"
    found = [
        f"{NAMES[each.name]} {_kind(report, each)}, {_seen(report.rules, each)}, {_rate(each)}"
        for each in report.unusual
    ]
    said = "; ".join(found) if found else f"nothing unusual ({_past(report)})" if report.judged else ""
    waiting = not_judged_line(report)
    parts = [each for each in (said, waiting, f"Stress: {stress_line(report)}") if each]
    return f"{opening} {'. '.join(parts)}."


def anomaly_metrics(report: AnomalyReport) -> dict[str, Metric]:
    """Return every event with its rank and base rate, the kinds without enough history, and the current stress."""
    waiting = [
        {"event": each.name, **not_judged_member(lacking)}
        for each in report.verdicts
        if (lacking := report.waiting(each.judgement)) is not None
    ]
    if not report.minutes:
        reason = {"why": report.unknown.why_null} if report.unknown else {}
        short = not_judged_member(NotJudged(min(report.past_minutes, LEAST), LEAST))
        waiting = [{"event": name, **short, **reason} for name in EVENTS]
    changed = [{"event": name, **base_rate_member(seen)} for name, seen in report.changed.items()]
    return {
        "events": _events_metric(report),
        "not_judged": Metric(value=waiting),
        "unusual": Metric(value=len(report.unusual) if report.judged else None, method=_counted(report)),
        "changed": Metric(value=changed),
        "stress": _stress_metric(report),
    }


def _events_metric(report: AnomalyReport) -> Metric:
    """Return the judged events. An empty list would look like a quiet market, so without any the value is missing."""
    if report.judged:
        return Metric(value=[_member(report, each) for each in report.judged])
    reason = report.unknown.why_null if report.unknown else "insufficient_history"
    return Metric(value=None, why_null=reason, method="none_judged")


def _cells(report: AnomalyReport, verdict: EventVerdict) -> tuple[str, str, str, str]:
    name, measured = NAMES[verdict.name], _measured(report.rules, verdict)
    if verdict not in report.unusual:
        return (
            name,
            f"nothing unusual ({_past(report)})",
            measured,
            f"at least {FLOORS[verdict.name]}: {_rate(verdict)}",
        )
    return name, f"{_kind(report, verdict)}: {_seen(report.rules, verdict)}", measured, _rate(verdict)


def _kind(report: AnomalyReport, verdict: EventVerdict) -> str:
    return "finding" if verdict in report.findings else "unusual"


def _counted(report: AnomalyReport) -> str:
    judged, minutes = len(report.judged), len(report.minutes)
    if not judged:
        return "none judged"
    of = "minutes" if minutes == 1 else f"periods of {minutes} minutes"
    chance = f"by chance alone, about {share(report.chance_of_any, 0)} of {of} have at least one"
    return f"{len(report.unusual)} of {judged} judged unusual; {chance}"


def minutes_words(report: AnomalyReport) -> str:
    """Return the period that was examined: `the minute to 14:24:00 UTC`."""
    if not report.minutes:
        return "no whole minute yet"
    count = "the minute" if len(report.minutes) == 1 else f"{len(report.minutes)} minutes"
    return f"{count} to {time_of_day(report.minutes[-1].end_ms)} UTC"


def _past(report: AnomalyReport) -> str:
    return f"{report.past_minutes} min of own past"


def _rate(verdict: EventVerdict) -> str:
    seen = verdict.judgement.base_rate
    return "" if seen is None else base_rate_words(seen)


def _seen(rules: SymbolRules, verdict: EventVerdict) -> str:
    """Return the pattern that fits a minute's data.

    The text claims nothing about orders and traders, which an order book does not show.
    """
    place = "" if verdict.price is None else f" at {_price(rules, verdict.price)} ({verdict.side})"
    if verdict.name == "hidden_size":
        return f"consistent with hidden size{place}"
    if verdict.name == "absorption":
        near = "" if verdict.price is None else f", most of it at {_price(rules, verdict.price)}"
        return f"the price hardly moved despite the {TAKERS[verdict.side or 'bid']}{near}"
    if verdict.name == "came_and_went":
        return f"size that came and went, the largest{place}"
    return f"{'flood of changes' if verdict.name == 'flood' else 'large standing size'}{place}"


def _measured(rules: SymbolRules, verdict: EventVerdict) -> str:
    words = {
        "hidden_size": _refills,
        "absorption": _answer,
        "came_and_went": _withdrawn,
        "flood": _changes,
        "standing_size": standing_words,
    }
    return words[verdict.name](rules, verdict.measured)


def _refills(rules: SymbolRules, found: Mapping[str, float]) -> str:
    if not found["equal_refills"]:
        return "no equal refills"
    base = plain(rules.base)
    refills = f"{found['equal_refills']:.0f} equal refills of {_size(rules, found['refill_size'])} {base}"
    return f"{refills}, {_size(rules, found['executed_beyond_displayed'])} {base} executed beyond the displayed size"


def _answer(rules: SymbolRules, found: Mapping[str, float]) -> str:
    flow = f"net {_size(rules, found['flow'])} {plain(rules.base)}"
    if "usual_move" not in found:
        return flow
    moved, usual = (PriceGrid.of(rules).ticks(found[name]) for name in ("move", "usual_move"))
    return f"{flow} moved the mid {moved:+,} ticks; the usual move is {usual:+,}"


def _withdrawn(rules: SymbolRules, found: Mapping[str, float]) -> str:
    del rules  # unused, because only shares are shown
    return f"{share(found['share_of_side'])} of its side, the largest excluded ({found['times']:.0f} counted)"


def _changes(rules: SymbolRules, found: Mapping[str, float]) -> str:
    del rules  # unused, because only a ratio is shown
    return f"{found['times_usual']:.1f}x the usual number of changes, beyond the effect of trades" if found else ""


def standing_words(rules: SymbolRules, found: Mapping[str, float]) -> str:
    """Describe a large standing size, and how often trades reached similar sizes."""
    if "size" not in found:
        return "none large enough to matter"
    minutes = found.get("minutes_of_volume")
    worth = "" if minutes is None else f", ≈ {minutes:.1f} minutes of usual volume"
    size = f"{_size(rules, found['size'])} {plain(rules.base)}"
    like = ""
    if "like_it_left" in found:
        counted = f"{found['like_it_traded_into']:.0f} of {found['like_it_left']:.0f}"
        shrunk = f"{100 * found['like_it_traded_into_shrunk']:.0f} %"
        like = f"; similar sizes: traded into {counted} (adjusted {shrunk})"
    return f"{size}, {share(found['share_of_side'])} of its side, for 30 s or longer{worth}{like}"


def _member(report: AnomalyReport, verdict: EventVerdict) -> dict[str, Any]:
    judgement, rules = verdict.judgement, report.rules
    is_unusual = verdict in report.unusual
    member: dict[str, Any] = {
        "event": verdict.name,
        "unusual": is_unusual,
        "finding": verdict in report.findings,
        "confidence": judgement.confidence,
        "score": number(judgement.score),
        "floor": number(CRITERIA[verdict.name].floor),
        "p": None if judgement.p is None else round(judgement.p, P_PLACES),
        "base_rate": None if judgement.base_rate is None else base_rate_member(judgement.base_rate),
        "minute": _minute_of(report, verdict),
        "measured": measured_numbers(rules, verdict),
    }
    if verdict.price is not None:
        member |= {"side": verdict.side, "price": exact(Decimal(repr(verdict.price)), rules.tick)}
    return {**member, "text": _seen(rules, verdict)} if is_unusual else member


def _minute_of(report: AnomalyReport, verdict: EventVerdict) -> str:
    return next(instant(each.end_ms) for each in report.minutes if verdict in each.verdicts)


def measured_numbers(rules: SymbolRules, verdict: EventVerdict) -> dict[str, Any]:
    """Return the measurements of an event: sizes and prices as decimal text, the rest as numbers."""
    sizes = ("refill_size", "executed", "executed_beyond_displayed", "flow", "size")
    counts = ("like_it_left", "like_it_traded_into")
    grid = PriceGrid.of(rules)
    measured: dict[str, Any] = {}
    for name, value in verdict.measured.items():
        if name in sizes:
            measured[name] = written(value, rules.step)
        elif name in ("move", "usual_move"):
            measured[f"{name}_ticks"] = grid.ticks(value)
        elif name in counts:
            measured[name] = int(value)
        else:
            measured[name] = number(value)
    return measured


def _stress_metric(report: AnomalyReport) -> Metric:
    now = report.stress
    if now is None:
        return Metric(value=None, why_null=report.unknown.why_null if report.unknown else "collecting")
    reading, judgement = now.reading, now.judgement
    value = None
    if reading is not None:
        value = {
            "score": number(reading.score),
            "floor": judgement.criterion.floor,
            "depth_over_usual": number(reading.depth_share),
            "spread_over_usual": number(reading.spread_times),
            "move_10s_bps": basis_points(reading.move_bps),
            "unusual": report.is_stressed,
        }
    return Metric(
        value=value,
        confidence=judgement.confidence,
        why_null=None if reading is not None else "insufficient_history",
        p=judgement.p,
        base_rate=judgement.base_rate,
        not_judged=report.waiting(judgement),
    )


def _stressed(reading: StressReading) -> Iterable[str]:
    if "depth" in reading.high:
        yield f"depth {share(1 - reading.depth_share, 0)} below its median"
    if "spread" in reading.high:
        yield f"spread {reading.spread_times:.1f}x its median"
    if "move" in reading.high:
        yield f"price moved {reading.move_bps:.1f} bps in 10 s"


def _no_stream(report: AnomalyReport) -> str:
    return no_stream(report.unknown)


def no_stream(unknown: Unknown | None) -> str:
    """Return the reason for missing live data of a market."""
    reason = unknown.why_null if unknown else "collecting"
    return NO_STREAM if reason == "upstream_unavailable" else why(reason)


def _size(rules: SymbolRules, value: float) -> str:
    return written(value, rules.step) or "0"


def _price(rules: SymbolRules, value: float) -> str:
    return price(Decimal(repr(value)), rules.quote, rules.tick)
