"""Classes of markets alike in tick and trading: their usual scores, for a symbol whose own past is still short.

A class only suppresses. A score that it calls usual stays not judged. It never makes a finding, and it has no effect on
ranks or base rates.
"""

from bisect import bisect_right
from dataclasses import dataclass

from mcp_binance_server.analytics.market.class_scores import HIGH_SCORES, SCORES_VERSION
from mcp_binance_server.analytics.market.pasts import VERSION
from mcp_binance_server.analytics.own_past import Judgement

# Boundaries between classes.
TICK_BPS = (0.1, 1.0, 5.0)
TRADES_PER_MINUTE = (60, 600)
_TICKS = ("under 0.1 bps", "0.1 to 1 bps", "1 to 5 bps", "5 bps or more")
_TRADES = ("under 60", "60 to 600", "600 or more")


@dataclass(frozen=True, slots=True)
class ReferenceClass:
    """A class of markets, and per judgement the score that they do not exceed in 99 of 100 calm minutes."""

    name: str

    @classmethod
    def of(cls, tick_bps: float, trades_per_minute: float) -> "ReferenceClass":
        """Return the class of a market by the size of its tick and its number of trades."""
        tick = _TICKS[bisect_right(TICK_BPS, tick_bps)]
        return cls(f"tick {tick}, {_TRADES[bisect_right(TRADES_PER_MINUTE, trades_per_minute)]} trades a minute")

    def calls_usual(self, judgement: Judgement) -> bool:
        """Return True if a score that is not judged yet is usual for this class; False for an unknown class."""
        if judgement.not_judged is None or not judgement.has_score or SCORES_VERSION != VERSION:
            return False
        high = HIGH_SCORES.get(self.name, {}).get(judgement.criterion.name)
        return high is not None and judgement.score <= high
