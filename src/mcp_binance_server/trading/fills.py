"""What an order that takes from the book would get: level by level, never beyond what the book shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.book import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.intent import DIGITS, Side

NOTHING = Decimal(0)
BPS = Decimal(10_000)


@dataclass(frozen=True, slots=True)
class FillWalk:
    """What was taken from a book; `unfilled` is in the unit that was asked for, and nobody knows its price."""

    base: Quantity
    quote: Quantity
    unfilled: Quantity
    levels: int
    touch: Price | None
    worst: Price | None

    @property
    def complete(self) -> bool:
        return not self.unfilled

    @property
    def average(self) -> Price | None:
        return Price(self.quote / self.base) if self.base else None

    def slippage_bps(self, side: Side, against: Price | None) -> Decimal | None:
        """Return what the fill costs beyond a price, in basis points; a cost is positive for both sides."""
        if self.average is None or not against:
            return None
        worse_by = self.average - against if side == "BUY" else against - self.average
        return worse_by / against * BPS


def walk(levels: Iterable[PriceLevel], amount: Quantity, unit: Literal["base", "quote"] = "base") -> FillWalk:
    """Take an amount of the base asset, or for an amount of the quote asset, from one side of a book, best first."""
    left, base, quote, used = Decimal(amount), NOTHING, NOTHING, 0
    touch = worst = None
    with localcontext(prec=DIGITS):
        for price, stands in levels:
            touch = touch or price
            room = stands if unit == "base" else price * stands
            if not left:
                break
            if not room:
                continue
            taken = min(left, room)
            whole = taken == room
            base += stands if whole else taken if unit == "base" else taken / price
            quote += price * stands if whole else taken * price if unit == "base" else taken
            left -= taken
            used += 1
            worst = price
    return FillWalk(Quantity(base), Quantity(quote), Quantity(left), used, touch, worst)
