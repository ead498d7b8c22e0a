"""Market breadth: the share of pairs that are up, and the quartiles of their changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from mcp_binance_server.analytics.ranks import Quartiles, quartiles


@dataclass(frozen=True, slots=True)
class Breadth:
    """Numbers of pairs up, down and unchanged, and quartiles of their changes in %. `n` counts pairs with a value."""

    up: int
    down: int
    flat: int
    changes: Quartiles

    @property
    def n(self) -> int:
        return self.changes.n

    @property
    def share_up(self) -> float | None:
        """Share of the pairs that rose, from 0 to 1. An unchanged pair did not rise."""
        return self.up / self.n if self.n else None


def breadth(changes: Sequence[float | None]) -> Breadth:
    """Count the changes of a market. Pairs without a value are left out."""
    known = [change for change in changes if change is not None and isfinite(change)]
    cut = quartiles(known)
    up, down = sum(change > 0 for change in known), sum(change < 0 for change in known)
    return Breadth(up, down, cut.n - up - down, cut)
