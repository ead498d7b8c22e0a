"""The steps of a symbol's prices and sizes, and the distances that follow from them."""

from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.domain.symbols import SymbolRules

BookSide = Literal["bid", "ask"]
SIDES: tuple[BookSide, BookSide] = ("bid", "ask")

_BPS = 10_000
# A band of basis points that holds less than this many ticks would be the touch alone.
BAND_TICKS = 3


@dataclass(frozen=True, slots=True)
class PriceGrid:
    """The least step of a price and of a size."""

    tick: float
    lot: float

    @classmethod
    def of(cls, rules: SymbolRules) -> "PriceGrid":
        """Return the steps in which a symbol is quoted."""
        return cls(float(rules.tick), float(rules.step))

    def band(self, mid: float, bps: float, ticks: int = BAND_TICKS) -> float:
        """Return how far from the mid a band reaches: so many basis points, and never less than so many ticks."""
        return max(mid * bps / _BPS, ticks * self.tick)

    def ticks(self, distance: float) -> int:
        """Return a price or a distance in whole ticks."""
        return round(distance / self.tick)

    def tick_bps(self, mid: float) -> float:
        """Return what one tick is worth."""
        return self.tick / mid * _BPS
