"""Health of a market, and with it all that is known of its microstructure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.metrics import BandImbalance, BookState, Depth, TopOfBook
from mcp_binance_server.analytics.envelope import Basis, Unknown, WhyNull
from mcp_binance_server.analytics.market.anomalies import AnomalyVerdict
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.thresholds import DEFAULTS, Component, Thresholds
from mcp_binance_server.domain.symbols import SymbolRules

HealthLevel = Literal["Excellent", "Good", "Fair", "Poor", "Critical", "Unknown"]
HealthState = BookState | Literal["stale"]

_EDGES: tuple[tuple[float, HealthLevel], ...] = ((80, "Excellent"), (60, "Good"), (40, "Fair"), (20, "Poor"))
_NO_SCORE: Mapping[HealthState, WhyNull] = {
    "stale": "stale_book", "crossed": "crossed_book", "one_sided": "one_sided_book"
}  # fmt: skip

AnalysisDepth = Literal["quick", "standard", "deep"]


class DepthSample(NamedTuple):
    """What one side held near the mid at one moment."""

    time_ms: int
    depth: float


class Recoveries(NamedTuple):
    """How many sudden losses of depth there were, and how many were soon made good."""

    recovered: int
    depletions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BookHealth:
    """The score, its word, and the components it was made of."""

    score: float | None
    level: HealthLevel
    components: Mapping[Component, float | None]
    available_weight: float
    missing: tuple[Component, ...]
    method: Literal["weighted_geometric_mean"] = "weighted_geometric_mean"
    why_null: WhyNull | None = None


def spread_score(current_bps: float, median_bps: float | None) -> float | None:
    """Return 1 while the spread is no wider than usual."""
    if median_bps is None:
        return None
    return min(1.0, median_bps / current_bps) if current_bps else 1.0


def depth_score(current: float, median_depth: float | None) -> float | None:
    """Return 1 while there is no less depth than usual."""
    return min(1.0, current / median_depth) if median_depth else None


def balance_score(imbalance: float | None) -> float | None:
    """Return 1 for sides of equal weight."""
    return None if imbalance is None else 1 - abs(imbalance)


def freshness_score(age_ms: float, *, thresholds: Thresholds = DEFAULTS) -> float:
    """Return 1 for a fresh book, falling to 0 for a dead one."""
    span = thresholds.dead_ms - thresholds.fresh_ms
    return max(0.0, min(1.0, 1 - (age_ms - thresholds.fresh_ms) / span))


def resilience_score(recoveries: Recoveries, *, thresholds: Thresholds = DEFAULTS) -> float | None:
    """Return the share of losses that were made good, once there were enough to speak of."""
    if recoveries.depletions < thresholds.min_depletions:
        return None
    return recoveries.recovered / recoveries.depletions


def count_recoveries(samples: Sequence[DepthSample], *, thresholds: Thresholds = DEFAULTS) -> Recoveries:
    """Count sudden losses of depth on one side; one whose time to recover is not over yet is not counted."""
    recovered = depletions = at = 0
    while at < len(samples):
        peak = _peak_before(samples, at, thresholds.depletion_ms)
        if not peak or samples[at].depth > (1 - thresholds.depletion_drop) * peak:
            at += 1
            continue
        until = samples[at].time_ms + thresholds.recovery_ms
        after = at + 1
        while after < len(samples) and samples[after].time_ms <= until:
            if samples[after].depth >= thresholds.recovery_share * peak:
                break
            after += 1
        else:
            if after == len(samples) and samples[-1].time_ms < until:
                break
            depletions += 1
            at = after
            continue
        recovered, depletions, at = recovered + 1, depletions + 1, after + 1
    return Recoveries(recovered, depletions)


def geometric_mean(scores: Sequence[float], weights: Sequence[float], *, floor: float = DEFAULTS.health_floor) -> float:
    """Return the weighted geometric mean of scores from 0 to 1, each raised to the floor."""
    total = sum(weights)
    logs = (weight * log(max(score, floor)) for score, weight in zip(scores, weights, strict=True))
    return exp(sum(logs) / total)


def health(
    components: Mapping[Component, float | None], state: HealthState = "normal", *, thresholds: Thresholds = DEFAULTS
) -> BookHealth:
    """Score what is known, with the weights of what is missing shared out; a broken book has no score."""
    weights = thresholds.health_weights
    known: dict[Component, float] = {}
    missing = list[Component]()
    for name in weights:
        each = components.get(name)
        if each is None:
            missing.append(name)
        else:
            known[name] = each
    available = round(sum(weights[name] for name in known), 9)  # 0.6 is enough, whatever order made it
    why = _NO_SCORE.get(state)
    if why is None and available < thresholds.health_min_weight:
        why = "insufficient_components"
    score = None
    if why is None:
        used = [weights[name] for name in known]
        score = 100 * geometric_mean(list(known.values()), used, floor=thresholds.health_floor)
    return BookHealth(
        score=score, level=health_level(score), components=components, available_weight=available,
        missing=tuple(missing), why_null=why,
    )  # fmt: skip


def health_level(score: float | None) -> HealthLevel:
    """Name a score; no score is Unknown, never Critical."""
    if score is None:
        return "Unknown"
    for edge, word in _EDGES:
        if score >= edge:
            return word
    return "Critical"


def _peak_before(samples: Sequence[DepthSample], at: int, within_ms: int) -> float:
    peak, earlier = samples[at].depth, at
    while earlier >= 0 and samples[at].time_ms - samples[earlier].time_ms <= within_ms:
        peak = max(peak, samples[earlier].depth)
        earlier -= 1
    return peak


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyReport:
    """Every rule's verdict on one window."""

    rules: SymbolRules
    basis: Basis
    verdicts: tuple[AnomalyVerdict, ...]
    thresholds: Thresholds = DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The index, why each missing component is missing, and what resilience was counted from."""

    rules: SymbolRules
    basis: Basis
    health: BookHealth
    unknown: Mapping[Component, Unknown]
    recoveries: Recoveries
    baseline_ms: int
    thresholds: Thresholds = DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchReport:
    """One book: its touch, what it holds within 10 bps, and what a market order may take within 2 bps of the mid."""

    top: TopOfBook
    band: BandImbalance
    buy: Depth | None
    sell: Depth | None
    is_live: bool
    age_ms: int
    levels: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketPart:
    """What the page says of the book; `day_volatility`, per minute, is only asked for by the deepest analysis."""

    book: TouchReport
    anomalies: AnomalyReport
    health: HealthReport
    day_volatility: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrostructureReport:
    """The parts of the page; a part that is missing has its reason."""

    rules: SymbolRules
    hours: int
    depth: AnalysisDepth
    profile: ProfileReport | None
    no_profile: str
    market: MarketPart | None
    no_market: str
    now_ms: int
    thresholds: Thresholds = DEFAULTS
