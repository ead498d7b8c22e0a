"""Whether the prices of one market agree: its last trade, the middle of its book, the close of its newest candle."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.domain.money import Price

Witness = Literal["book", "candle"]

# Two answers are some milliseconds apart, in which no market that works moves so far.
FAR = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A last price, and another price of the same moment that it cannot be."""

    witness: Witness
    last: Price
    other: Decimal

    @property
    def percent(self) -> Decimal:
        """How far the last price is above the other one, negative below it."""
        return (self.last - self.other) / self.other * 100


def disagreements(
    last: Price, *, bid: Price | None = None, ask: Price | None = None, close: Price | None = None
) -> tuple[Disagreement, ...]:
    """Hold the last price against what else is known; one between bid and ask agrees, however far they are apart."""
    if not last:
        return ()
    found: list[Disagreement] = []
    if bid and ask and not bid <= last <= ask:
        found.append(Disagreement("book", last, (bid + ask) / 2))
    if close:
        found.append(Disagreement("candle", last, close))
    return tuple(each for each in found if abs(each.last - each.other) > FAR * each.other)
