"""Reference prices, and the price ranges in which an incoming order may trade.

https://developers.binance.com/docs/binance-spot-api-docs/faqs/price_range_execution_rules
"""

from dataclasses import dataclass, field
from decimal import Decimal

import msgspec

from binance_simulator.market.listing import Symbol
from binance_simulator.orders.crowd_view import CrowdView

AVERAGED_MINUTES = 5
BUCKET_MS = 1_000
# Symbols that start with a reference price and a rule. At Binance, too, only some symbols have them.
FOLLOWED = ("BTCUSDT", "ETHUSDT")


class PriceRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Multiples of the reference price between which a taker may trade; None means no limit."""

    bid_limit_mult_up: str | None = None
    bid_limit_mult_down: str | None = None
    ask_limit_mult_up: str | None = None
    ask_limit_mult_down: str | None = None

    def told(self) -> dict[str, str]:
        """Return the multiples that are set, by their names on the wire."""
        return msgspec.to_builtins(self)

    def limits(self, reference: int, *, buys: bool) -> tuple[int | None, int | None]:
        """Return the lowest and the highest price for a taker of one side."""
        down, up = self.bid_limit_mult_down, self.bid_limit_mult_up
        if not buys:
            down, up = self.ask_limit_mult_down, self.ask_limit_mult_up
        # The range includes its ends, so both are rounded inwards.
        least = None if down is None else -int(-reference * Decimal(down) // 1)
        return least, None if up is None else int(reference * Decimal(up) // 1)


USUAL = PriceRange(
    bid_limit_mult_up="1.5000", bid_limit_mult_down="0.5000", ask_limit_mult_up="1.5000", ask_limit_mult_down="0.5000"
)


@dataclass
class References:
    """Reference price and price range of each symbol."""

    rules: dict[str, PriceRange] = field(default_factory=lambda: dict.fromkeys(FOLLOWED, USUAL))
    fixed: dict[str, int | None] = field(default_factory=dict[str, int | None])
    """Prices set by hand; None means that the symbol has no price now, but had one before."""
    averaged: set[str] = field(default_factory=lambda: {*FOLLOWED})
    """Symbols whose reference price is the average of the last minutes."""

    def is_known(self, symbol: Symbol) -> bool:
        """Return whether the symbol ever had a reference price."""
        return symbol.name in self.averaged or symbol.name in self.fixed

    def price(self, symbol: Symbol, crowd: CrowdView, now_ms: int) -> int | None:
        """Return the reference price of a symbol; None if it has none now."""
        if symbol.name in self.fixed:
            return self.fixed[symbol.name]
        is_averaged = symbol.trading and symbol.name in self.averaged
        return crowd.average(symbol, AVERAGED_MINUTES, now_ms) if is_averaged else None

    def limits(self, symbol: Symbol, crowd: CrowdView, now_ms: int, *, buys: bool) -> tuple[int | None, int | None]:
        """Return the lowest and the highest price at which a taker may trade; None means no limit."""
        rule = self.rules.get(symbol.name)
        reference = None if rule is None else self.price(symbol, crowd, now_ms)
        return (None, None) if rule is None or not reference else rule.limits(reference, buys=buys)
