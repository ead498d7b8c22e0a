"""Cost basis and realised profit of an asset, by FIFO and by average cost. Pure functions."""

from collections import deque
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal

from mcp_binance_server.domain.money import EXACT_DIGITS

NOTHING = Decimal(0)
# Quantities and prices have eight decimals each, so every amount of money is a multiple of this unit.
UNIT = Decimal("1e-16")
EXACT = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_EVEN)


def share_of(money: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return the part of an amount of money that belongs to a part of a quantity, in whole units.

    The last part of a quantity gets all remaining money, so that rounding loses nothing.
    """
    if part == whole:
        return money
    return in_units(EXACT.divide(EXACT.multiply(money, part), whole))


def in_units(money: Decimal) -> Decimal:
    """Round half to even to a whole number of units."""
    return money.quantize(UNIT, context=EXACT)


@dataclass(frozen=True, slots=True)
class Lot:
    """The unsold part of a purchased quantity, with its cost."""

    quantity: Decimal
    cost: Decimal
    time_ms: int


@dataclass(slots=True)
class Position:
    """One asset after its trades in time order. A quantity without a known trade has no cost and no profit."""

    lots: deque[Lot] = field(default_factory=deque[Lot])
    quantity: Decimal = NOTHING
    """The total quantity of the lots."""
    fifo_cost: Decimal = NOTHING
    average_cost: Decimal = NOTHING
    fifo_realised: Decimal = NOTHING
    average_realised: Decimal = NOTHING
    sold_unexplained: Decimal = NOTHING
    """Quantity sold without a known purchase."""
    proceeds_unexplained: Decimal = NOTHING
    gone: Decimal = NOTHING
    """Bought quantity that left without a sale at a known price; its cost left with it."""

    def acquire(self, quantity: Decimal, cost: Decimal, time_ms: int) -> None:
        """Add a lot."""
        if quantity > 0:
            self.lots.append(Lot(quantity, cost, time_ms))
            self.quantity = EXACT.add(self.quantity, quantity)
            self.fifo_cost = EXACT.add(self.fifo_cost, cost)
            self.average_cost = EXACT.add(self.average_cost, cost)

    def dispose(self, quantity: Decimal, proceeds: Decimal | None) -> None:
        """Remove a quantity from the oldest lots and realise the profit.

        Proceeds for more than the quantity of the lots are not profit. If `proceeds` is None, the quantity is removed
        without profit or loss.
        """
        if quantity <= 0:
            return
        known = min(quantity, self.quantity)
        average = share_of(self.average_cost, known, self.quantity) if known else NOTHING
        fifo = self._take(known)
        self.quantity = EXACT.subtract(self.quantity, known)
        self.fifo_cost = EXACT.subtract(self.fifo_cost, fifo)
        self.average_cost = EXACT.subtract(self.average_cost, average)
        if proceeds is None:
            self.gone = EXACT.add(self.gone, known)
            return
        earned = share_of(proceeds, known, quantity)
        self.earn(EXACT.subtract(earned, fifo), EXACT.subtract(earned, average))
        self.sold_unexplained = EXACT.add(self.sold_unexplained, EXACT.subtract(quantity, known))
        self.proceeds_unexplained = EXACT.add(self.proceeds_unexplained, EXACT.subtract(proceeds, earned))

    def earn(self, fifo: Decimal, average: Decimal) -> None:
        """Add realised profit by both methods. Negative amounts are losses."""
        self.fifo_realised = EXACT.add(self.fifo_realised, fifo)
        self.average_realised = EXACT.add(self.average_realised, average)

    def _take(self, quantity: Decimal) -> Decimal:
        """Remove a quantity from the oldest lots and return its cost."""
        cost = NOTHING
        while quantity > 0:
            oldest = self.lots.popleft()
            if oldest.quantity > quantity:
                taken = share_of(oldest.cost, quantity, oldest.quantity)
                left = EXACT.subtract(oldest.quantity, quantity)
                self.lots.appendleft(replace(oldest, quantity=left, cost=EXACT.subtract(oldest.cost, taken)))
                return EXACT.add(cost, taken)
            cost = EXACT.add(cost, oldest.cost)
            quantity = EXACT.subtract(quantity, oldest.quantity)
        return cost
