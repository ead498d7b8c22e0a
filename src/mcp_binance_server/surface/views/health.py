"""A market's health and what is unusual in it, as Markdown."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.book.behaviour import BookSide
from mcp_binance_server.analytics.book.level_history import MOST_PASSING, MOST_PRICES
from mcp_binance_server.analytics.envelope import Confidence, Metric, Unknown
from mcp_binance_server.analytics.market.anomalies import Anomaly, AnomalyType, AnomalyVerdict
from mcp_binance_server.analytics.market.microstructure import AnomalyReport, HealthReport
from mcp_binance_server.analytics.thresholds import Component, Thresholds
from mcp_binance_server.analytics.tuning import plain_number
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.flow import NO_STREAM
from mcp_binance_server.surface.views.markdown import exact, plain, price, share, span
from mcp_binance_server.surface.views.measures import collecting, in_percent, metric_member, why

NAMES: dict[AnomalyType, str] = {
    "quote_stuffing": "Quote stuffing",
    "iceberg": "Iceberg",
    "absorption": "Absorption",
    "spoof_like": "Spoof-like",
    "flash_crash_flags": "Flash-crash flags",
}
FLAGS = {
    "thin_depth": "thin depth",
    "wide_spread": "wide spread",
    "volatile": "high volatility",
    "one_sided_flow": "one-sided quotes",
}
ALL_FLAGS = len(FLAGS)
LIKENESS: dict[BookSide, str] = {"bid": "accumulation-like", "ask": "distribution-like"}
LIMITS = f"at most {MOST_PRICES} traded prices and {MOST_PASSING} passing levels are examined"

OWN_INDEX = (
    "_An index of this project, 0-100, with no external validity: each part compares with the symbol's own past_"
)


def rule_of(kind: AnomalyType, thresholds: Thresholds) -> str:
    """Say the rule of a pattern with the numbers in force."""
    t, number = thresholds, plain_number
    rules: dict[AnomalyType, str] = {
        "quote_stuffing": f">{number(t.stuffing_per_s)}/s and z>={number(t.stuffing_z)}",
        "iceberg": (
            f"executed/displayed >={number(t.iceberg_ratio)}, >={t.iceberg_refills} refills "
            f"within {number(t.refill_ms / 1000)} s"
        ),
        "absorption": f">{in_percent(t.absorption_drop)} traded off and refilled >={t.absorption_times} times",
        "spoof_like": (
            f"z>={number(t.spoof_z)}, >={in_percent(t.wall_share)} of side, "
            f"gone in <{number(t.spoof_life_ms / 1000)} s, <{in_percent(t.spoof_traded)} traded, other side traded"
        ),
        "flash_crash_flags": (
            f"depth <p{t.crash_depth_percentile}, spread >p{t.crash_spread_percentile}, "
            f"volatility >{number(t.crash_volatility_ratio)}x, OFI z>{number(t.crash_ofi_z)}"
        ),
    }
    return rules[kind]


def finding(rules: SymbolRules, found: Anomaly) -> str:
    """Say what a finding is consistent with."""
    place = "" if found.price is None else f" at {_price(rules, found.price)}"
    if found.type == "iceberg":
        return f"consistent with hidden size{place}"
    if found.type == "absorption":
        return f"consistent with {LIKENESS[found.side or 'bid']} absorption{place}"
    if found.type == "spoof_like":
        return f"consistent with a large {found.side} withdrawn nearly untraded{place}"
    if found.type == "quote_stuffing":
        return "consistent with a flood of quotes"
    raised = [words for name, words in FLAGS.items() if found.measured.get(name)]
    return f"{_flags(found.measured)}: consistent with a fragile market ({', '.join(raised)})"


def measured_words(kind: AnomalyType, measured: Mapping[str, float]) -> str:
    """Say what was measured, as the page's table does."""
    if kind == "iceberg" and "refills" in measured:
        return f"executed/displayed {measured['executed_over_displayed']:.1f}, {measured['refills']:.0f} refills"
    if kind == "absorption" and "times" in measured:
        value = measured.get("value_over_median")
        return f"{measured['times']:.0f} times" + (f", {value:.1f}x the median traded value" if value else "")
    if kind == "spoof_like" and "life_ms" in measured:
        size, traded = share(measured["share_of_side"], 0), share(measured["traded_share"], 0)
        return f"{size} of side, gone in {measured['life_ms'] / 1000:.1f} s, {traded} traded, z {measured['z']:.1f}"
    if kind == "quote_stuffing" and "per_second" in measured:
        z = f", z {measured['z']:.1f}" if "z" in measured else ""
        return f"{measured['per_second']:.0f}/s{z}"
    if "levels" in measured:
        return f"{measured['levels']:.0f} {'passing levels' if kind == 'spoof_like' else 'traded prices'}"
    return ""


def anomaly_rows(report: AnomalyReport) -> list[str]:
    """Return the table of a window's verdicts: a row for each finding, or one that says why there is none."""
    rows = ["| Pattern | Finding | Measured | Rule | Severity |", "|-|-|-|-|-|"]
    for verdict in report.verdicts:
        rule = rule_of(verdict.type, report.thresholds)
        for found, measured, severity in _cells(report, verdict):
            rows.append(f"| {NAMES[verdict.type]} | {found} | {measured} | {rule} | {severity} |")
            rule = ""  # once for each pattern is enough
    return rows


def anomalies_line(report: AnomalyReport) -> str:
    """Say a window's anomalies in one line."""
    opening = f"{plain(report.rules.symbol)} anomalies, last {report.basis.requested_ms // 1000} s:"
    found = [each for verdict in report.verdicts for each in verdict.found]
    waiting = [verdict for verdict in report.verdicts if verdict.unknown is not None]
    said = "; ".join(f"{NAMES[each.type]} {finding(report.rules, each)} ({each.severity})" for each in found)
    if not found and len(waiting) == len(report.verdicts):
        said = "none could be assessed"
    elif not found:
        said = "none of the assessed patterns"
    lacking = ", ".join(f"{NAMES[each.type]} ({not_assessed(each.unknown)})" for each in waiting if each.unknown)
    return f"{opening} {said}.{f' Not assessed: {lacking}.' if lacking else ''}"


def anomaly_metrics(report: AnomalyReport) -> dict[str, Metric]:
    """Return the anomalies as measures: what was found, and what could not be assessed."""
    found = [_member(report.rules, each, report.thresholds) for verdict in report.verdicts for each in verdict.found]
    lacking = [_lacking(verdict.type, verdict.unknown) for verdict in report.verdicts if verdict.unknown is not None]
    counts = {verdict.type: verdict.total for verdict in report.verdicts if verdict.unknown is None}
    return {
        "anomalies": Metric(value=found),
        "not_assessed": Metric(value=lacking),
        "found": Metric(value=counts, method=LIMITS),
    }


def not_assessed(unknown: Unknown) -> str:
    """Say briefly why a rule could not be applied: `needs 1 h baseline, have 12 min`."""
    progress = unknown.progress
    if progress is None:
        return NO_STREAM if unknown.why_null == "upstream_unavailable" else why(unknown.why_null)
    what = " baseline" if unknown.why_null == "insufficient_baseline" else ""
    return f"needs {span(progress.need_ms)}{what}, have {span(progress.have_ms)}"


def _cells(report: AnomalyReport, verdict: AnomalyVerdict) -> list[tuple[str, str, str]]:
    kind, measured = verdict.type, measured_words(verdict.type, verdict.measured)
    if verdict.unknown is not None:
        return [("not assessed", measured, not_assessed(verdict.unknown))]
    if not verdict.found:
        return [(_flags(verdict.measured) if kind == "flash_crash_flags" else "none found", measured, "none")]
    cells = [
        (finding(report.rules, each), measured_words(kind, each.measured), each.severity or "not ranked")
        for each in verdict.found
    ]
    more = verdict.total - len(cells)
    return [*cells, (f"{more} more like these", "", "")] if more else cells


def _flags(measured: Mapping[str, float]) -> str:
    assessed = int(measured["assessed"])
    unknown = f" ({assessed} assessed)" if assessed < ALL_FLAGS else ""
    return f"{measured['raised']:.0f} of {ALL_FLAGS}{unknown}"


def _price(rules: SymbolRules, value: float) -> str:
    return price(Decimal(repr(value)), rules.quote, rules.tick)


def _member(rules: SymbolRules, found: Anomaly, thresholds: Thresholds) -> dict[str, Any]:
    member: dict[str, Any] = {
        "type": found.type,
        "severity": found.severity,
        "confidence": found.confidence,
        "measured": dict(found.measured),
        "rule": rule_of(found.type, thresholds),
        "text": finding(rules, found),
    }
    if found.price is not None:
        member |= {"price": exact(Decimal(repr(found.price)), rules.tick), "side": found.side}
    return member


def _lacking(kind: AnomalyType, unknown: Unknown) -> dict[str, Any]:
    said = metric_member(Metric(value=None, why_null=unknown.why_null, progress=unknown.progress))
    del said["value"]
    return {"type": kind, **said}


def health_title(report: HealthReport) -> str:
    """Say the score and its word: `78.6 (Good)`, `82.4 (Excellent, without resilience)` or `Unknown`."""
    health = report.health
    if health.score is None:
        return "Unknown"
    without = f", without {' and '.join(health.missing)}" if health.missing else ""
    return f"{health.score:.1f} ({health.level}{without})"


def health_rows(report: HealthReport) -> list[str]:
    """Return the table of components, and a line for each that is missing."""
    names = list(report.thresholds.health_weights)
    titles, cells = [each.capitalize() for each in names], [_cell(report, each) for each in names]
    reasons = dict.fromkeys(_reason(report, name) for name in report.health.missing)  # several may share one
    lines = [f"| {' | '.join(titles)} |", "|-|-|-|-|-|", f"| {' | '.join(cells)} |", ""]
    return [*lines, *reasons, OWN_INDEX]


def health_line(report: HealthReport) -> str:
    """Say a market's health in one line."""
    line = f"{plain(report.rules.symbol)} market health: {health_title(report)}"
    if report.health.score is None:
        line += f" ({why(report.health.why_null)})"
    if report.health.missing:
        line += f". Missing: {'; '.join(_unmeasured(report))}"
    return f"{line}."


def _unmeasured(report: HealthReport) -> list[str]:
    reasons = {name: not_assessed(report.unknown[name]) for name in report.health.missing}
    return [
        f"{', '.join(name for name, each in reasons.items() if each == reason)} ({reason})"
        for reason in dict.fromkeys(reasons.values())
    ]


def health_metrics(report: HealthReport) -> dict[str, Metric]:
    """Return the score, its word and its parts."""
    health = report.health
    score = None if health.score is None else round(health.score, 1)
    parts = {name: _rounded(health.components.get(name)) for name in report.thresholds.health_weights}
    return {
        "score": Metric(
            value=score,
            unit="score_0_100",
            confidence=_confidence(report),
            why_null=health.why_null,
            method=health.method,
        ),
        "level": Metric(value=health.level),
        "components": Metric(value=parts, unit="ratio"),
        "missing": Metric(value=[_missing(report, name) for name in health.missing]),
        "available_weight": Metric(value=health.available_weight, unit="ratio"),
    }


def _confidence(report: HealthReport) -> Confidence:
    if report.health.score is None or report.basis.age_ms > report.thresholds.stale_ms:
        return "none"
    return "low" if report.health.missing else "medium"


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 3)


def _cell(report: HealthReport, name: Component) -> str:
    score = report.health.components.get(name)
    if score is None:
        return "n/a"
    counted = report.recoveries
    return f"{score:.2f}" + (f" ({counted.recovered} of {counted.depletions})" if name == "resilience" else "")


def _reason(report: HealthReport, name: Component) -> str:
    unknown = report.unknown[name]
    alike = ", ".join(each for each in report.health.missing if report.unknown[each] == unknown)
    if unknown.progress is not None:
        return f"_{alike.capitalize()}: {collecting(unknown.progress)}_"
    if name == "resilience" and unknown.why_null == "insufficient_events":
        seen, need = report.recoveries.depletions, report.thresholds.min_depletions
        return f"_Resilience: {seen} of {need} sudden losses of depth seen_"
    return f"_{alike.capitalize()} unavailable: {not_assessed(unknown)}_"


def _missing(report: HealthReport, name: Component) -> dict[str, Any]:
    unknown = report.unknown[name]
    said = metric_member(Metric(value=None, why_null=unknown.why_null, progress=unknown.progress))
    del said["value"]
    return {"component": name, **said}
