"""Ranges of price where hardly anything was traded."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from mcp_binance_server.analytics.envelope import Severity, WhyNull
from mcp_binance_server.analytics.market.profile import VolumeProfile
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import Price


class Vacuum(NamedTuple):
    """A range and how much less was traded in its bins than in the median bin, from 0 to 1."""

    low: Price
    high: Price
    deficit: float
    severity: Severity

    def contains(self, price: Price) -> bool:
        return self.low <= price < self.high

    def distance_percent(self, price: Price) -> float:
        """Return how far the nearer edge lies from a price: negative below it, 0 inside."""
        if self.contains(price):
            return 0.0
        edge = self.low if self.low > price else self.high
        return float((edge - price) / price * 100)


@dataclass(frozen=True, slots=True)
class VacuumMap:
    """The vacuums of a profile, from low to high; none found is an empty tuple, not assessed says why."""

    vacuums: tuple[Vacuum, ...] | None
    median_volume: float | None
    bins: int
    n: int
    why_null: WhyNull | None = None


class _Run(NamedTuple):
    first: int
    last: int


def find_vacuums(
    profile: VolumeProfile, *, percentile: int | None = None, thresholds: Thresholds = DEFAULTS
) -> VacuumMap:
    """Find runs of thin bins: below a fraction of the median bin, or below a percentile of all bins."""
    short = _too_little(profile, thresholds)
    if short is not None:
        return VacuumMap(None, None, len(profile.bins), profile.n, short)
    volumes = [float(each.volume) for each in profile.bins]
    middle = median(volumes)
    if not middle:
        return VacuumMap(None, 0.0, len(volumes), profile.n, "degenerate")
    cut = thresholds.vacuum_fraction * middle if percentile is None else _percentile(volumes, percentile)
    runs = _merged(_runs(volumes, cut), profile, thresholds.vacuum_merge_pct)
    vacuums = tuple(_vacuum(run, profile, volumes, middle, thresholds) for run in runs)
    return VacuumMap(vacuums, middle, len(volumes), profile.n)


def _too_little(profile: VolumeProfile, thresholds: Thresholds) -> WhyNull | None:
    if profile.why_null is not None:
        return profile.why_null
    if profile.source == "trades":
        return "insufficient_events" if profile.n < thresholds.vacuum_min_trades else None
    return "insufficient_bars" if profile.n < thresholds.vacuum_min_bars else None


def _percentile(volumes: Sequence[float], percentile: int) -> float:
    rank = max(1, -(-len(volumes) * percentile // 100))
    return sorted(volumes)[rank - 1]


def _runs(volumes: Sequence[float], cut: float) -> list[_Run]:
    runs = list[_Run]()
    for at, volume in enumerate(volumes):
        if volume and volume >= cut:  # nothing at all is thin by any rule
            continue
        if runs and runs[-1].last == at - 1:
            runs[-1] = _Run(runs[-1].first, at)
        else:
            runs.append(_Run(at, at))
    return runs


def _merged(runs: Sequence[_Run], profile: VolumeProfile, within_percent: float) -> list[_Run]:
    merged = list[_Run]()
    for run in runs:
        if merged:
            below, above = float(profile.bins[merged[-1].last].high), float(profile.bins[run.first].low)
            if (above - below) / below * 100 < within_percent:
                merged[-1] = _Run(merged[-1].first, run.last)
                continue
        merged.append(run)
    return merged


def _vacuum(
    run: _Run, profile: VolumeProfile, volumes: Sequence[float], middle: float, thresholds: Thresholds
) -> Vacuum:
    deficit = max(0.0, 1 - fmean(volumes[run.first : run.last + 1]) / middle)
    medium, high, critical = thresholds.vacuum_edges
    severity: Severity = (
        "Critical" if deficit > critical else "High" if deficit > high else "Medium" if deficit > medium else "Low"
    )
    return Vacuum(profile.bins[run.first].low, profile.bins[run.last].high, deficit, severity)
