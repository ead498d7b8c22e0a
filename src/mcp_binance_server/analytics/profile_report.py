"""A volume profile of one market, the candles behind it, and where the price stands in it."""

from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.analytics.envelope import Source, Window
from mcp_binance_server.analytics.profile import VolumeProfile
from mcp_binance_server.domain.candles import Candle
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import SymbolRules

Place = Literal["inside", "above", "below"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """`bars` are the candles of the window, whatever the profile was made of; `interval_ms` is their length."""

    rules: SymbolRules
    profile: VolumeProfile
    window: Window
    bars: tuple[Candle, ...]
    interval_ms: int
    source: Source
    price: Price | None
    now_ms: int

    @property
    def requested_ms(self) -> int:
        return self.window.to_ms - self.window.from_ms

    @property
    def coverage(self) -> float:
        return len(self.bars) * self.interval_ms / self.requested_ms

    @property
    def percent_from_poc(self) -> float | None:
        """How far the price lies above the busiest price, in per cent of that."""
        poc = self.profile.poc
        return None if poc is None or self.price is None else float((self.price - poc) / poc * 100)

    @property
    def place(self) -> Place | None:
        """Where the price stands, seen from the value area."""
        val, vah = self.profile.val, self.profile.vah
        if val is None or vah is None or self.price is None:
            return None
        return "below" if self.price < val else "above" if self.price >= vah else "inside"
