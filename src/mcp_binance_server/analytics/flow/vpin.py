"""VPIN: absolute imbalance in buckets of equal volume (Easley, Lopez de Prado, O'Hara 2012).

VPIN follows volume and volatility by construction. It predicts neither once they are known (Andersen and Bondarenko
2014). So it is reported as a number with its rank in the symbol's own week, without a verdict.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.score_history import ScoreHistory
from mcp_binance_server.analytics.thresholds import DEFAULTS

WEEK_DAYS = 7

_ROUNDING = 1e-12


class SidedVolume(NamedTuple):
    """Taker buys and sells of one bar. A single trade is a bar with one side."""

    bought: float
    sold: float


class Buckets(NamedTuple):
    """Absolute imbalance of each full bucket, oldest first, and the volume in the open bucket."""

    leads: tuple[float, ...]
    leftover: float


@dataclass(frozen=True, slots=True)
class Vpin:
    """Mean imbalance of the last buckets, and the share `p` of the week's values that were at least as high."""

    value: float | None
    p: float | None
    n: int
    buckets: int
    bucket_volume: float
    method: Literal["vpin_true_flags_5m"] = "vpin_true_flags_5m"
    why_null: WhyNull | None = None


def fill_buckets(bars: Iterable[SidedVolume], bucket_volume: float) -> Buckets:
    """Fill buckets with bars in time order.

    A bar that exceeds a bucket is split, with both sides in proportion.
    """
    leads = list[float]()
    room, lead = bucket_volume, 0.0
    for bought, sold in bars:
        left = bought + sold
        lean = (bought - sold) / left if left else 0.0
        while left > 0:
            taken = min(left, room)
            lead += lean * taken
            left -= taken
            room -= taken
            if room <= bucket_volume * _ROUNDING:
                leads.append(abs(lead) / bucket_volume)
                room, lead = bucket_volume, 0.0
    return Buckets(tuple(leads), bucket_volume - room)


def vpin(bars: Sequence[SidedVolume], buckets: int = DEFAULTS.vpin_buckets) -> Vpin:
    """Compute VPIN over a week of bars, and rank its newest value among the earlier ones.

    The mean day of the week fills `buckets` buckets.
    """
    bucket_volume = sum(each.bought + each.sold for each in bars) / WEEK_DAYS / buckets
    if not bucket_volume:
        return Vpin(None, None, 0, 0, 0.0, why_null="insufficient_history")
    leads = fill_buckets(bars, bucket_volume).leads
    if len(leads) < buckets:
        return Vpin(None, None, 0, len(leads), bucket_volume, why_null="insufficient_buckets")
    sums = [sum(leads[:buckets])]
    for at in range(buckets, len(leads)):
        sums.append(sums[-1] + leads[at] - leads[at - buckets])
    *before, now = (each / buckets for each in sums)
    rank = ScoreHistory(before, most=len(sums)).p(now) if before else None
    return Vpin(now, rank, len(before), len(leads), bucket_volume)
