"""Reference price of a symbol, and the price range in which the exchange executes an incoming order.

https://developers.binance.com/docs/binance-spot-api-docs/faqs/price_range_execution_rules
"""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.order_requests import Side


@dataclass(frozen=True, slots=True)
class TakerRange:
    """Lowest and highest price at which an incoming order may trade; None means no limit.

    An order that would trade beyond them expires.
    """

    least: Price | None = None
    most: Price | None = None

    def edge(self, price: Price) -> Price | None:
        """Return the bound that a price violates; None if the price is inside the range."""
        if self.least is not None and price < self.least:
            return self.least
        return self.most if self.most is not None and price > self.most else None

    def holds(self, price: Price) -> bool:
        return self.edge(price) is None


ANY_RANGE = TakerRange()


@dataclass(frozen=True, slots=True)
class PriceRangeRule:
    """Multiples of the reference price between which a taker of each side may trade; None means no limit."""

    bid_down: Decimal | None = None
    bid_up: Decimal | None = None
    ask_down: Decimal | None = None
    ask_up: Decimal | None = None


@dataclass(frozen=True, slots=True)
class ReferencePrice:
    """Reference price of a symbol, and its price range rule. The exchange has neither for some symbols."""

    price: Price | None = None
    rule: PriceRangeRule | None = None

    def taker_range(self, side: Side) -> TakerRange:
        """Return the price range of a side. Without a price or a rule the range has no limits."""
        if self.price is None or self.rule is None:
            return ANY_RANGE
        down, up = (self.rule.bid_down, self.rule.bid_up) if side == "BUY" else (self.rule.ask_down, self.rule.ask_up)
        return TakerRange(
            None if down is None else Price(self.price * down), None if up is None else Price(self.price * up)
        )


NO_REFERENCE = ReferencePrice()
