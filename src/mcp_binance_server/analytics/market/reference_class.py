"""Classes of similar markets by tick and number of trades, for a symbol with a short past.

A class can only suppress a finding: a score that is usual for the class is not judged. A class never adds a finding,
and it does not change ranks or base rates.
"""

from bisect import bisect_right
from dataclasses import dataclass

from mcp_binance_server.analytics.market.class_scores import HIGH_SCORES, SCORES_VERSION
from mcp_binance_server.analytics.market.symbol_scores import VERSION
from mcp_binance_server.analytics.score_history import Judgement

# Edges between classes.
TICK_BPS = (0.1, 1.0, 5.0)
TRADES_PER_MINUTE = (60, 600)
_TICKS = ("under 0.1 bps", "0.1 to 1 bps", "1 to 5 bps", "5 bps or more")
_TRADES = ("under 60", "60 to 600", "600 or more")


@dataclass(frozen=True, slots=True)
class ReferenceClass:
    """A class of markets. For each judgement there is a score that 99 of 100 calm minutes do not exceed."""

    name: str

    @classmethod
    def of(cls, tick_bps: float, trades_per_minute: float) -> "ReferenceClass":
        """Return the class of a market by its tick and its number of trades."""
        tick = _TICKS[bisect_right(TICK_BPS, tick_bps)]
        return cls(f"tick {tick}, {_TRADES[bisect_right(TRADES_PER_MINUTE, trades_per_minute)]} trades a minute")

    def calls_usual(self, judgement: Judgement) -> bool:
        """Return True if a score that is not judged yet is usual for this class.

        An unknown class returns False.
        """
        if judgement.not_judged is None or not judgement.has_score or SCORES_VERSION != VERSION:
            return False
        high = HIGH_SCORES.get(self.name, {}).get(judgement.criterion.name)
        return high is not None and judgement.score <= high
