"""Market health in words and as measures: what is missing is said, never scored."""

from typing import Any

from mcp_binance_server.analytics.envelope import Confidence, Metric
from mcp_binance_server.analytics.market.microstructure import HealthReport
from mcp_binance_server.analytics.thresholds import Component
from mcp_binance_server.surface.views.anomalies import not_assessed
from mcp_binance_server.surface.views.markdown import plain
from mcp_binance_server.surface.views.measures import collecting, metric_member, why

OWN_INDEX = (
    "_An index of this project, 0-100, with no external validity: each part compares with the symbol's own past_"
)


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
        line += f". Missing: {'; '.join(_lacking(report))}"
    return f"{line}."


def _lacking(report: HealthReport) -> list[str]:
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
