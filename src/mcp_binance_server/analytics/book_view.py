"""A book of one moment as an analysis gets it: its levels, where they come from, and how old they are."""

from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.book import BookSnapshot
from mcp_binance_server.domain.symbols import SymbolRules

# Why a stream is not used: there are none, as many symbols are in use as may be watched, or what it tells is old.
NoFeed = Literal["off", "full", "late"]


@dataclass(frozen=True, slots=True)
class BookView:
    """A book of one moment: the live one, or one that was asked for, and then whether a live one will follow."""

    rules: SymbolRules
    snapshot: BookSnapshot
    is_live: bool
    as_of_ms: int
    age_ms: int
    gaps: int
    no_feed: NoFeed | None = None
    lag_ms: int = 0
    thresholds: Thresholds = DEFAULTS

    @property
    def is_stale(self) -> bool:
        return self.age_ms > self.thresholds.stale_ms
