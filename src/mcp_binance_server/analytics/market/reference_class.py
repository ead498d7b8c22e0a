"""Markets alike in tick and trading: what is usual among them, for a symbol whose own past is still short.

A class only silences. What it calls usual stays not judged, it never makes a finding, and neither a rank nor a base
rate knows of it.
"""

from bisect import bisect_right
from dataclasses import dataclass

from mcp_binance_server.analytics.market.class_scores import HIGH_SCORES, SCORES_VERSION
from mcp_binance_server.analytics.market.pasts import VERSION
from mcp_binance_server.analytics.own_past import Judgement

# Where one class ends and the next begins.
TICK_BPS = (0.1, 1.0, 5.0)
TRADES_PER_MINUTE = (60, 600)
_TICKS = ("under 0.1 bps", "0.1 to 1 bps", "1 to 5 bps", "5 bps or more")
_TRADES = ("under 60", "60 to 600", "600 or more")


@dataclass(frozen=True, slots=True)
class ReferenceClass:
    """A class of markets, and of each judgement the score that they do not exceed in 99 of 100 calm minutes."""

    name: str

    @classmethod
    def of(cls, tick_bps: float, trades_per_minute: float) -> "ReferenceClass":
        """Return the class of a market by what its tick is worth and how often it trades."""
        tick = _TICKS[bisect_right(TICK_BPS, tick_bps)]
        return cls(f"tick {tick}, {_TRADES[bisect_right(TRADES_PER_MINUTE, trades_per_minute)]} trades a minute")

    def calls_usual(self, judgement: Judgement) -> bool:
        """Say whether a score that cannot be judged yet is one as markets like it have; of unknown classes nothing."""
        if judgement.not_judged is None or not judgement.has_score or SCORES_VERSION != VERSION:
            return False
        high = HIGH_SCORES.get(self.name, {}).get(judgement.criterion.name)
        return high is not None and judgement.score <= high
