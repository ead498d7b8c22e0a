"""Volume-synchronised imbalance of trades: equal volumes in place of equal times."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.market import Trade

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Vpin:
    """The mean share by which one side led in the last buckets; a number, not a verdict on who traded."""

    value: float | None
    buckets: int
    bucket_volume: float
    leftover: float
    method: Literal["vpin_true_flags"] = "vpin_true_flags"
    why_null: WhyNull | None = None


def vpin(trades: Iterable[Trade], bucket_volume: float, buckets: int = DEFAULTS.vpin_buckets) -> Vpin:
    """Fill buckets of equal volume in order of time, splitting trades at their edges, and average the last ones.

    Every trade carries its true side. Bulk classification guesses it from prices and is worse than a tick rule
    (Andersen and Bondarenko 2013).
    """
    if bucket_volume <= 0:
        return Vpin(None, 0, bucket_volume, 0.0, why_null="insufficient_history")
    leads = deque[float](maxlen=buckets)
    room, lead, full = bucket_volume, 0.0, 0
    for trade in trades:
        sign = -1.0 if trade.buyer_is_maker else 1.0
        left = float(trade.quantity)
        while left > 0:
            taken = min(left, room)
            lead += sign * taken
            left -= taken
            room -= taken
            if room <= bucket_volume * _ROUNDING:
                leads.append(abs(lead))
                room, lead, full = bucket_volume, 0.0, full + 1
    leftover = bucket_volume - room
    if full < buckets:
        return Vpin(None, full, bucket_volume, leftover, why_null="insufficient_buckets")
    return Vpin(sum(leads) / (buckets * bucket_volume), full, bucket_volume, leftover)


def bulk_shares(moves: Sequence[float], deviation: float) -> tuple[float, ...]:
    """Guess the bought share of each bucket from its price move: for comparison only, every trade here has a side."""
    return tuple(map(NormalDist(0.0, deviation).cdf, moves))


def vpin_of_shares(shares: Sequence[float]) -> float:
    """Average by how much one side led in buckets of equal volume."""
    return fmean(abs(2 * share - 1) for share in shares)
