"""Charts that would be drawn and please nobody: too few bars, too many panes, the same study twice."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import Findings, is_list, is_object
from mcp_binance_server.charts.dialect.instants import span_of

FEWEST_BARS: Final = 10
MOST_BARS: Final = 1000
GOOD_BARS: Final = 50
MOST_PANES: Final = 3
LEAST_HEIGHT: Final = 400


def check_practice(body: Mapping[str, object], catalogue: ChartCatalogue, findings: Findings) -> None:
    """Add a warning for everything in a readable body that could be better."""
    _check_bars(body, catalogue, findings)
    _check_panes(body, catalogue, findings)
    _check_twins(body, findings)
    _check_positions(body, findings)


def bar_count(body: Mapping[str, object]) -> float | None:
    """Return how many bars the range holds, or None where the service decides."""
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
        findings.warning("range", f"few_bars: the range holds {bars:.0f} bars of {body['interval']}", advice)
    elif bars > MOST_BARS:
        better = [each for each, count in held if count <= MOST_BARS]
        advice = f"Use interval {better[0]} or a shorter range" if better else "Use a shorter range"
        findings.warning(
            "range",
            f"too_many_bars: the range holds {bars:.0f} bars of {body['interval']}; about {MOST_BARS} are drawn",
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
            f"many_panes: {panes} studies have a pane of their own; more than {MOST_PANES} leave little for the price",
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
                f"duplicate_study: {name} is there {count} times with the same inputs",
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
