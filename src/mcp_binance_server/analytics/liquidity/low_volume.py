"""Bins of a volume profile with the least volume. It is a plain query without a statistical test."""

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from mcp_binance_server.analytics.market.profile import VolumeProfile
from mcp_binance_server.domain.money import Price


class LowVolumeRange(NamedTuple):
    """Adjacent bins with little volume. `of_median` is their mean volume relative to the median bin."""

    low: Price
    high: Price
    of_median: float | None


def low_volume_ranges(profile: VolumeProfile, percentile: int) -> tuple[LowVolumeRange, ...]:
    """Return the runs of bins below a percentile of all bins, from low to high. Every profile has such runs."""
    volumes = [float(each.volume) for each in profile.bins]
    if not volumes:
        return ()
    cut = _percentile(volumes, percentile)
    middle = median(volumes)
    runs = list[list[int]]()
    for at, volume in enumerate(volumes):
        if volume and volume >= cut:  # a bin without volume is always thin
            continue
        if runs and runs[-1][-1] == at - 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return tuple(
        LowVolumeRange(
            profile.bins[run[0]].low,
            profile.bins[run[-1]].high,
            fmean(volumes[at] for at in run) / middle if middle else None,
        )
        for run in runs
    )


def _percentile(volumes: Sequence[float], percentile: int) -> float:
    rank = max(1, -(-len(volumes) * percentile // 100))
    return sorted(volumes)[rank - 1]
