"""A measure in words, and the threshold it was held against."""

from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.envelope import Basis, Metric, Progress
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.analytics.tuning import changes, plain_number
from mcp_binance_server.domain.money import decimals_of, round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import bps_places, exact, exact_average, instant, share, time_of_day

UNCHANGED = "project defaults"


WHY: dict[str, str] = {
    "one_sided_book": "one side of the book is empty",
    "crossed_book": "the book is crossed and cannot be trusted",
    "stale_book": "the book is too old",
    "no_events": "nothing has happened yet",
    "no_trades": "nothing was traded",
    "insufficient_events": "too few events",
    "insufficient_snapshots": "too few snapshots",
    "insufficient_buckets": "too few full volume buckets",
    "insufficient_bars": "too few bars",
    "insufficient_history": "too little history",
    "insufficient_components": "too few components are known",
    "insufficient_baseline": "too little baseline yet",
    "gap_in_window": "events are missing in the window",
    "degenerate": "all values are alike",
    "zero_variance": "all values are alike",
    "no_flow_variance": "the flow does not vary",
    "not_fitted": "not fitted",
    "collecting": "collecting",
    "upstream_unavailable": "the exchange did not answer",
    "stream_late": "the live stream lags",
}


def context_member(basis: Basis, rules: SymbolRules) -> dict[str, Any]:
    """Return what an answer rests on, as its `context`."""
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
        context["stale"] = True
    if basis.depth_levels is not None:
        bids, asks = basis.depth_levels
        context["depth_levels"] = {"bids": bids, "asks": asks}
    return context


def metric_member(metric: Metric) -> dict[str, Any]:
    """Return one measure; members that say nothing are left out, except a value that is not known."""
    member: dict[str, Any] = {"value": metric.value}
    said = {
        "unit": metric.unit,
        "confidence": metric.confidence,
        "why_null": metric.why_null,
        "method": metric.method,
        "progress": None if metric.progress is None else _progress(metric.progress),
    }
    return member | {name: value for name, value in said.items() if value is not None}


def why(metric_or_code: str | None) -> str:
    """Say in words why there is no value."""
    return WHY.get(metric_or_code or "", (metric_or_code or "unknown").replace("_", " "))


def collecting(progress: Progress) -> str:
    """Say how far a measure has come: `Collecting: 12 of 30 s (40 %), ready about 14:24:13 UTC`."""
    have, need = progress.have_ms // 1000, -(-progress.need_ms // 1000)
    done = share(progress.have_ms / progress.need_ms, 0) if progress.need_ms else "0%"
    line = f"Collecting: {have} of {need} s ({done}), ready about {time_of_day(progress.ready_ms)} UTC"
    if progress.need_n is not None:
        line += f"; {progress.have_n or 0} of {progress.need_n} events"
    return line


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
    """Round a ratio or a distance to what can be told from noise."""
    return None if value is None else round(value, places) + 0.0


def basis_points(value: float | None, places: int = 3) -> float | None:
    """Round a distance in basis points; one that is not zero never becomes it."""
    return None if value is None else number(value, bps_places(value, places))


def written(value: float | None, step: Decimal) -> str | None:
    """Write a computed price or quantity as text, to the decimals of its step."""
    return None if value is None else exact(round_to_places(Decimal(repr(value)), decimals_of(step)), step)


def written_average(value: float | None, tick: Decimal) -> str | None:
    """Write a computed mean of prices as text."""
    return None if value is None else exact_average(Decimal(repr(value)), tick)


def threshold_words(thresholds: Thresholds) -> str:
    """Name what differs from the defaults: `wall_z 4 (default 3.5)`."""
    return "; ".join(f"{each.name} {each.value} (default {each.default})" for each in changes(thresholds)) or UNCHANGED


def threshold_line(thresholds: Thresholds) -> str:
    """Return the line that a page of the live market ends with."""
    return f"_Thresholds: {threshold_words(thresholds)}_"


def changed_lines(thresholds: Thresholds) -> list[str]:
    """Return the line for an answer that is silent about the defaults."""
    return [f"Thresholds: {threshold_words(thresholds)}"] if changes(thresholds) else []


def in_percent(share: float) -> str:
    """Write a share with the digits it has: `5%`, `2.5%`."""
    return f"{plain_number(round(share * 100, 6))}%"
