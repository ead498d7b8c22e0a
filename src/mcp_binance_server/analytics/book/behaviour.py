"""Patterns at one price that are consistent with hidden, absorbing or fleeting orders; nothing here knows intent."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.envelope import Severity, WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

BookSide = Literal["bid", "ask"]
Likeness = Literal["accumulation-like", "distribution-like"]

# Traded value over the window's median, from which an absorption is Medium or High.
_ABSORPTION_EDGES = (2.0, 5.0)


class LevelState(NamedTuple):
    """What one price displays, and what was traded at it since the state before."""

    time_ms: int
    displayed: float
    traded: float


@dataclass(frozen=True, slots=True)
class Iceberg:
    """What was executed at a price over the most it ever displayed, and how often it was filled up again."""

    ratio: float | None
    refills: int
    flag: bool
    severity: Severity | None = None
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Absorption:
    """How often trades took a good part of a level and it came back while the price stayed."""

    times: int
    traded: float
    flag: bool
    likeness: Likeness | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class FleetingLevel:
    """A level that came and went: the share of it that was withdrawn untraded, and how long it stood."""

    cancel_share: float | None
    life_ms: int
    flag: bool
    severity: Severity | None = None
    why_null: WhyNull | None = None


def refills(states: Sequence[LevelState], *, within_ms: int = DEFAULTS.refill_ms) -> int:
    """Count the times a level that trades had reduced grew again soon after."""
    count = 0
    depleted_at: int | None = None
    for before, after in pairwise(states):
        if after.displayed > before.displayed and depleted_at is not None:
            count += after.time_ms - depleted_at <= within_ms
            depleted_at = None
        elif after.traded > 0 and after.displayed < before.displayed:
            depleted_at = after.time_ms
    return count


def iceberg(displayed: float, executed: float, refilled: int, *, thresholds: Thresholds = DEFAULTS) -> Iceberg:
    """Judge the most a price displayed, what was executed at it, and its refills."""
    if displayed <= 0:
        return Iceberg(None, refilled, flag=False, why_null="no_events")
    ratio = executed / displayed
    if ratio < thresholds.iceberg_ratio or refilled < thresholds.iceberg_refills:
        return Iceberg(ratio, refilled, flag=False)
    return Iceberg(ratio, refilled, flag=True, severity="High" if ratio >= thresholds.iceberg_high_ratio else "Medium")


def iceberg_at(states: Sequence[LevelState], *, thresholds: Thresholds = DEFAULTS) -> Iceberg:
    """Judge the history of one price."""
    most = max((each.displayed for each in states), default=0.0)
    executed = sum(each.traded for each in states)
    return iceberg(most, executed, refills(states, within_ms=thresholds.refill_ms), thresholds=thresholds)


def absorption(
    states: Sequence[LevelState],
    side: BookSide,
    *,
    price_held: bool,
    traded_over_median: float | None = None,
    thresholds: Thresholds = DEFAULTS,
) -> Absorption:
    """Count drops by trades that were made good; severity needs the level's traded value over the window's median."""
    times, wanted = 0, None
    for before, after in pairwise(states):
        by_trades = min(before.displayed - after.displayed, after.traded)
        if wanted is not None and after.displayed >= wanted:
            times, wanted = times + 1, None
        elif wanted is None and before.displayed > 0 and by_trades > thresholds.absorption_drop * before.displayed:
            wanted = (1 - thresholds.absorption_drop) * before.displayed
    traded = sum(each.traded for each in states)
    if times < thresholds.absorption_times or not price_held:
        return Absorption(times, traded, flag=False)
    likeness: Likeness = "accumulation-like" if side == "bid" else "distribution-like"
    return Absorption(times, traded, flag=True, likeness=likeness, severity=_severity(traded_over_median))


def fleeting_level(
    added: float,
    traded: float,
    life_ms: int,
    *,
    z: float | None = None,
    opposite_traded: float = 0.0,
    thresholds: Thresholds = DEFAULTS,
) -> FleetingLevel:
    """Judge a level that is gone: large, short-lived, hardly traded, and others traded on the opposite side meanwhile.

    Needs every change of the book: from sampled books the life of a level is not known.
    """
    if added <= 0:
        return FleetingLevel(None, life_ms, flag=False, why_null="no_events")
    share = traded / added
    flag = (
        z is not None
        and z >= thresholds.spoof_z
        and life_ms < thresholds.spoof_life_ms
        and share < thresholds.spoof_traded
        and opposite_traded > 0
    )
    return FleetingLevel(max(0.0, 1 - share), life_ms, flag, "Medium" if flag else None)


def _severity(traded_over_median: float | None) -> Severity | None:
    if traded_over_median is None:
        return None
    medium, high = _ABSORPTION_EDGES
    return "High" if traded_over_median >= high else "Medium" if traded_over_median >= medium else "Low"
