"""How much of a market rises: the share of pairs that are up, and where the middle half of them is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from mcp_binance_server.analytics.ranks import Quartiles, quartiles


@dataclass(frozen=True, slots=True)
class Breadth:
    """Pairs that rose, fell and stood still, and the quartiles of their changes in %; n counts those with a value."""

    up: int
    down: int
    flat: int
    changes: Quartiles

    @property
    def n(self) -> int:
        return self.changes.n

    @property
    def share_up(self) -> float | None:
        """Which share rose, from 0 to 1; one that stood still did not."""
        return self.up / self.n if self.n else None


def breadth(changes: Sequence[float | None]) -> Breadth:
    """Count a market's changes; pairs without one do not count."""
    known = [change for change in changes if change is not None and isfinite(change)]
    cut = quartiles(known)
    up, down = sum(change > 0 for change in known), sum(change < 0 for change in known)
    return Breadth(up, down, cut.n - up - down, cut)
