"""A displayed book that a test writes level by level, and orders that arrive at it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import Any

from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.paper.market import PaperMarket
from mcp_binance_server.trading.paper.order import PaperFill, PaperOrder

_numbers = count(1)


@dataclass
class Displayed:
    """Levels by side; of the prices in `unknown` nobody knows what stands there."""

    levels: dict[Side, dict[Price, Quantity]] = field(default_factory=lambda: {"BUY": {}, "SELL": {}})
    unknown: set[Price] = field(default_factory=set[Price])

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        return [PriceLevel(p, self.levels[side][p]) for p in sorted(self.levels[side], reverse=side == "BUY")]

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        return None if price in self.unknown else self.levels[side].get(price, Quantity(Decimal(0)))

    def show(self, side: Side, price: int, quantity: int) -> None:
        """Set a level; a quantity of zero removes it."""
        self.levels[side].pop(Price(Decimal(price)), None)
        if quantity:
            self.levels[side][Price(Decimal(price))] = Quantity(Decimal(quantity))


def usual_book() -> Displayed:
    """Five at each of two prices on either side of 100."""
    made = Displayed()
    for price in (98, 99):
        made.show("BUY", price, 5)
        made.show("SELL", 200 - price, 5)
    return made


def order(side: Side, price: int, quantity: int, stop_price: int | None = None, **more: Any) -> PaperOrder:  # noqa: ANN401 - any member
    usual: dict[str, Any] = {"kind": "LIMIT", "time_in_force": "GTC", "arrives_ms": 0}
    return PaperOrder(
        order_id=next(_numbers),
        side=side,
        price=Price(Decimal(price)),
        quantity=Quantity(Decimal(quantity)),
        stop_price=None if stop_price is None else Price(Decimal(stop_price)),
        **{**usual, **more},
    )


def arrive(market: PaperMarket, *orders: PaperOrder, at_ms: int = 0) -> list[PaperFill]:
    market.waiting += orders
    return [*market.advance(at_ms)]


def traded(market: PaperMarket, price: int, quantity: int, *, buyer_is_maker: bool) -> list[PaperFill]:
    """Print one trade."""
    return [*market.trade(1, 1, Price(Decimal(price)), Quantity(Decimal(quantity)), buyer_is_maker=buyer_is_maker)]
