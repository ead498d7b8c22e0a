"""Health of a market compared with its own last hour, as Markdown."""

from typing import Any

from mcp_binance_server.analytics.market.health import WEIGHTS, HealthPart
from mcp_binance_server.analytics.market.microstructure import HealthReport
from mcp_binance_server.analytics.metric import Confidence, Metric
from mcp_binance_server.surface.views.flow import NO_STREAM
from mcp_binance_server.surface.views.markdown import plain, share
from mcp_binance_server.surface.views.measures import basis_points, not_judged_words, number, why

OWN_INDEX = (
    "_An index of this server, 0-100: it compares the book with its own last hour. It does not rate quality and "
    "cannot compare symbols_"
)
PARTS: dict[HealthPart, str] = {"spread": "spread", "depth": "depth of the thinner side"}


def health_title(report: HealthReport) -> str:
    """Return the grade and the score: `Thin (71)`. Without enough history, return `not judged`."""
    now = report.now
    return "not judged" if now is None else f"{now.word} ({now.score:.0f})"


def health_words(report: HealthReport) -> str:
    """Return the grade and the score. Without enough history, return the progress."""
    return _lacking(report) if report.now is None else health_title(report)


def health_rows(report: HealthReport) -> list[str]:
    """Return the components of the score, and the cause of a low score. Without a score, return the reason."""
    made_good = _resilience(report)
    if report.now is None:
        lines = [f"_{pulled_words(report)}_"]
        return lines if made_good is None else [*lines, f"Losses of depth that recovered: {made_good}"]
    scores = (f"{report.now.parts[name]:.2f}" for name in WEIGHTS)
    return [
        "| Spread score | Depth score | Losses of depth that recovered |",
        "|-|-|-|",
        f"| {' | '.join(scores)} | {made_good or 'n/a'} |",
        "",
        f"_{pulled_words(report)}_",
        OWN_INDEX,
    ]


def pulled_words(report: HealthReport) -> str:
    """Return the component that lowered the score, or the reason why there is no score."""
    now = report.now
    if now is None:
        return _lacking(report).capitalize()
    if now.pulled_by is None:
        return (
            f"Both parts are in the usual {share(0.96, 0)} of the symbol's own last hour ({report.past_minutes} min "
            "known)"
        )
    other: list[HealthPart] = [name for name in WEIGHTS if name != now.pulled_by and now.parts[name] < 1]
    also = f", and by {PARTS[other[0]]} ({now.parts[other[0]]:.2f})" if other else ""
    return f"Lowered by {PARTS[now.pulled_by]} ({now.parts[now.pulled_by]:.2f}){also}"


def health_line(report: HealthReport) -> str:
    """Return a market's health in one line."""
    opening = f"{plain(report.rules.symbol)} market health:"
    pulled = "" if report.now is None else f" {pulled_words(report)}."
    return f"{opening} {health_words(report)}.{pulled}"


def health_metrics(report: HealthReport) -> dict[str, Metric]:
    """Return the score, its grade and components, and values that do not influence the score."""
    now, top = report.now, report.top
    ticks = None if top.spread is None else report.grid.ticks(top.spread)
    return {
        "score": Metric(
            value=None if now is None else round(now.score, 1),
            unit="score_0_100",
            confidence=_confidence(report),
            why_null=_why_null(report),
            method="weighted_geometric_mean",
            not_judged=report.not_judged,
        ),
        "word": Metric(value=None if now is None else now.word),
        "parts": Metric(value=None if now is None else {name: number(now.parts[name], 3) for name in WEIGHTS}),
        "pulled_down_by": Metric(value=None if now is None else now.pulled_by),
        "spread_bps": Metric(value=basis_points(top.spread_bps), unit="bps"),
        "spread_ticks": Metric(value=ticks, unit="ticks"),
        "spread_at_minimum": Metric(value=None if ticks is None else ticks <= 1),
        "imbalance": Metric(value=number(report.imbalance), unit="ratio"),
        "resilience": _resilience_metric(report),
    }


def _why_null(report: HealthReport) -> Any:  # noqa: ANN401 - one of the reasons, or none
    if report.now is not None:
        return None
    return report.unknown.why_null if report.unknown is not None else "insufficient_history"


def _confidence(report: HealthReport) -> Confidence:
    if report.now is None or report.basis.stale:
        return "none"
    return "medium"


def _resilience_metric(report: HealthReport) -> Metric:
    value, seen, hour = report.resilience, report.recoveries, report.hour_recoveries
    if value is None:
        return Metric(value=None, unit="ratio", why_null="insufficient_events")
    counted = {"recovered": seen.recovered, "depletions": seen.depletions}
    of_hour = {"hour_recovered": hour.recovered, "hour_depletions": hour.depletions}
    return Metric(value={"share": number(value, 3), **counted, **of_hour}, unit="ratio", method="shrunk_to_own_hour")


def _lacking(report: HealthReport) -> str:
    if report.unknown is not None:
        reason = report.unknown.why_null
        return f"not judged: {NO_STREAM if reason == 'upstream_unavailable' else why(reason)}"
    return not_judged_words(report.not_judged) if report.not_judged is not None else "not judged"


def _resilience(report: HealthReport) -> str | None:
    value, seen = report.resilience, report.recoveries
    if value is None:
        return None
    return f"{share(value, 0)} ({seen.recovered} of {seen.depletions} in 5 min, adjusted to the hour)"
