"""Price tick and lot step of a symbol, and distances derived from them."""

from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.domain.symbols import SymbolRules

BookSide = Literal["bid", "ask"]
SIDES: tuple[BookSide, BookSide] = ("bid", "ask")

_BPS = 10_000
# Minimum width, in ticks, of a band given in basis points. A narrower band would hold only the best price.
BAND_TICKS = 3


@dataclass(frozen=True, slots=True)
class PriceGrid:
    """Tick and lot step as floats."""

    tick: float
    lot: float

    @classmethod
    def of(cls, rules: SymbolRules) -> "PriceGrid":
        """Return the grid from the rules of a symbol."""
        return cls(float(rules.tick), float(rules.step))

    def band(self, mid: float, bps: float, ticks: int = BAND_TICKS) -> float:
        """Return the half width of a band around the mid: `bps` basis points, but at least `ticks` ticks."""
        return max(mid * bps / _BPS, ticks * self.tick)

    def ticks(self, distance: float) -> int:
        """Convert a price or a distance to whole ticks."""
        return round(distance / self.tick)

    def tick_bps(self, mid: float) -> float:
        """Return the size of one tick in basis points."""
        return self.tick / mid * _BPS
