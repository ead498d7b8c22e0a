"""Validation of a configuration: errors, plan limits and suggestions."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import DEFAULT_SIZE, Finding, Findings, is_list, is_object
from mcp_binance_server.charts.dialect.symbol import binance_pair, is_binance_spot
from mcp_binance_server.charts.dialect.times import span_of
from mcp_binance_server.charts.pictures import MISSING
from mcp_binance_server.charts.plans import (
    DRAWN_LOCALLY,
    RENDER_LOCALLY,
    Plan,
    Usage,
    check_least,
    check_local,
    check_plan,
    key_needed,
    usage_of,
)
from mcp_binance_server.charts.wire import read_chart

FEWEST_BARS: Final = 10
MOST_BARS: Final = 1000
GOOD_BARS: Final = 50
MOST_PANES: Final = 3
LEAST_HEIGHT: Final = 400


def check_practice(body: Mapping[str, object], catalogue: ChartCatalogue, findings: Findings) -> None:
    """Warn about values that are valid but could be improved."""
    _check_bars(body, catalogue, findings)
    _check_panes(body, catalogue, findings)
    _check_twins(body, findings)
    _check_positions(body, findings)


def bar_count(body: Mapping[str, object]) -> float | None:
    """Return the number of bars in a range with two times, else None."""
    interval, between = body.get("interval"), body.get("range")
    if not isinstance(interval, str) or not is_object(between):
        return None
    return _span(between) / span_of(interval)


def _span(between: Mapping[str, object]) -> timedelta:
    return datetime.fromisoformat(str(between["to"])) - datetime.fromisoformat(str(between["from"]))


def _check_bars(body: Mapping[str, object], catalogue: ChartCatalogue, findings: Findings) -> None:
    bars, between = bar_count(body), body.get("range")
    if bars is None or not is_object(between):
        return
    intervals = sorted(catalogue.options("interval"), key=span_of)
    held = [(each, _span(between) / span_of(each)) for each in intervals]
    if bars < FEWEST_BARS:
        better = [each for each, count in held if count >= GOOD_BARS]
        advice = f"Use interval {better[-1]} or a longer range" if better else "Use a longer range"
        findings.warning("range", f"few_bars: the range has {bars:.0f} bars of {body['interval']}", advice)
    elif bars > MOST_BARS:
        better = [each for each, count in held if count <= MOST_BARS]
        advice = f"Use interval {better[0]} or a shorter range" if better else "Use a shorter range"
        findings.warning(
            "range",
            f"too_many_bars: the range has {bars:.0f} bars of {body['interval']}; about {MOST_BARS} are drawn",
            advice,
        )


def _check_panes(body: Mapping[str, object], catalogue: ChartCatalogue, findings: Findings) -> None:
    panes = 0
    for study in _objects(body.get("studies")):
        indicator = catalogue.indicator(str(study["name"]))
        panes += indicator is not None and not indicator.overlay and study.get("forceOverlay") is not True
    if panes > MOST_PANES:
        findings.warning(
            "studies",
            f"many_panes: {panes} studies need their own pane; more than {MOST_PANES} panes leave little room for the "
            "price",
            "Split the studies over two charts",
        )
    height = body.get("height")
    if panes and isinstance(height, int) and height < LEAST_HEIGHT:
        findings.warning(
            "height",
            f"low_chart: a height of {height} leaves little room for a pane below the price",
            f"Use a height of {LEAST_HEIGHT} or more",
        )


def _check_twins(body: Mapping[str, object], findings: Findings) -> None:
    keys = [
        (str(each["name"]), msgspec.json.encode(each.get("input"), order="deterministic"))
        for each in _objects(body.get("studies"))
    ]
    for (name, _), count in Counter(keys).items():
        if count > 1:
            findings.warning(
                "studies",
                f"duplicate_study: {name} appears {count} times with the same inputs",
                f"Keep one {name}, or change its inputs",
            )


def _check_positions(body: Mapping[str, object], findings: Findings) -> None:
    for place, drawing in enumerate(_objects(body.get("drawings"))):
        given = drawing.get("input")
        sign = {"Long Position": 1, "Short Position": -1}.get(str(drawing["name"]))
        if sign is None or not is_object(given):
            continue
        stop, entry, target = (given.get(f"{part}Price") for part in ("stop", "entry", "target"))
        if not (isinstance(stop, int | float) and isinstance(entry, int | float) and isinstance(target, int | float)):
            continue
        if not sign * stop < sign * entry < sign * target:
            beyond, before = ("above", "below") if sign > 0 else ("below", "above")
            findings.warning(
                f"drawings[{place}]",
                f"drawing_inconsistent: a {str(drawing['name']).lower()} has its target {beyond} and its stop {before} "
                "the entry",
            )


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if is_object(each)] if is_list(value) else []


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions under which a chart is validated.

    `asked`: the caller named the plan.
    `binds`: exceeding the plan is an error, otherwise it is a warning.
    `drawn_here`: the local renderer draws Binance spot pairs, without plan limits.
    `draws_jpeg`: the local renderer can write JPEG.
    `is_listed`: returns whether Binance lists a pair, or None if this is unknown now.
    """

    plan: Plan
    now: datetime
    asked: bool = True
    binds: bool = True
    drawn_here: bool = False
    draws_jpeg: bool = True
    is_listed: Callable[[str], bool | None] = lambda _pair: None


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """All findings, errors first, and suggestions."""

    findings: tuple[Finding, ...]
    suggestions: tuple[str, ...]
    usage: Usage
    plan: Plan

    @property
    def valid(self) -> bool:
        return all(each.severity != "error" for each in self.findings)

    @property
    def within_limits(self) -> bool:
        """Whether the number of studies and drawings is within the plan. The size is checked separately."""
        return self.usage.count <= self.plan.max_studies


def validate_chart(config: Mapping[str, object], *, catalogue: ChartCatalogue, conditions: Conditions) -> ConfigVerdict:
    """Validate a configuration in either dialect. It never raises, whatever the content."""
    plan, is_spot = conditions.plan, is_binance_spot(config.get("symbol"))
    # Without a key no plan applies, unless the caller named one.
    unplanned = is_spot and conditions.drawn_here and not conditions.asked
    size = plan.default_size(DEFAULT_SIZE) if conditions.binds and not unplanned else DEFAULT_SIZE
    reading = read_chart(config, catalogue=catalogue, now=conditions.now, default_size=size)
    findings = Findings(list(reading.findings))
    usage = usage_of(config, size)
    _check_symbol(reading.body.get("symbol"), conditions, findings)
    suggestions: tuple[str, ...] = ()
    if unplanned:
        check_local(usage, findings)
        if reading.body.get("format") == "jpeg" and not conditions.draws_jpeg:
            findings.error("format", MISSING, "Set format to png")
    elif not conditions.binds:
        check_local(usage, findings)
        if not conditions.drawn_here:
            check_least(usage, plan, findings)
    else:
        suggestions = check_plan(config, usage, plan, findings)
    if is_spot and not conditions.asked and plan.exceeded_by(usage):
        suggestions = (*suggestions, DRAWN_LOCALLY if unplanned else RENDER_LOCALLY)
    check_practice(reading.body, catalogue, findings)
    found = [_softened(each) if is_spot and conditions.drawn_here else each for each in findings.items]
    found.sort(key=lambda each: each.severity)  # the sort is stable; "error" sorts before "warning"
    advice = [each.advice for each in found if each.advice]
    return ConfigVerdict(tuple(found), tuple(dict.fromkeys([*suggestions, *advice])), usage, plan)


def _check_symbol(symbol: object, conditions: Conditions, findings: Findings) -> None:
    if not isinstance(symbol, str):
        return
    pair = binance_pair(symbol)
    if pair is not None and not pair.perpetual:
        if conditions.is_listed(pair.symbol) is False:
            findings.warning(
                "symbol",
                f"symbol_unverified: Binance lists no pair {pair.symbol}",
                "search_symbols finds a pair by name",
            )
    elif conditions.drawn_here:
        findings.warning(
            "symbol",
            key_needed(symbol),
            "Set CHART_IMG_API_KEY, or draw a spot pair of Binance",
        )


def _softened(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.remote_only else finding
