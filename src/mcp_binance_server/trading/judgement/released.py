"""Open sales that a new sale cancels because they reserve its coins. They are placed again for what remains. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import TermsKind, TimeInForce

NOTHING = Quantity(Decimal(0))


@dataclass(frozen=True, slots=True)
class Released:
    """An open sale that is cancelled for another sale.

    `quantity` is what it still sells, `sold` what it has sold before. `rest` is the part of `quantity` that is placed
    again when the other sale succeeds. `kind` and the prices are those of the order that is placed again. An OCO has
    its take-profit price in `price`.
    """

    client_order_id: str
    kind: TermsKind
    time_in_force: TimeInForce
    quantity: Quantity
    sold: Quantity
    rest: Quantity
    price: Price
    stop_price: Price | None
    stop_limit: Price | None
    counted: int
    trailing_bps: int | None = None
    """Distance of a trailing stop. Placed again, it starts to trail from the price at that time."""

    @property
    def floor(self) -> Price | None:
        """Lowest price at which its stop sells; None without a stop that limits a loss."""
        if self.kind == "OCO":
            return self.stop_limit
        is_floor = self.kind == "STOP_LOSS_LIMIT" and self.stop_price is not None and self.price <= self.stop_price
        return self.price if is_floor else None

    @property
    def slots(self) -> int:
        """Number of open orders that it is at the exchange."""
        return 2 if self.kind == "OCO" else 1

    @property
    def stops(self) -> int:
        return int(self.stop_price is not None)


def freed_by(released: Iterable[Released]) -> Quantity:
    """Return the coins that these orders reserve."""
    return Quantity(sum((each.quantity for each in released), NOTHING))


def rest_of(released: Iterable[Released]) -> Quantity:
    """Return the coins that are protected again after a sale that succeeds."""
    return Quantity(sum((each.rest for each in released), NOTHING))


def shares_of(released: Sequence[Released], left: Sequence[Quantity], remaining: Quantity) -> tuple[Quantity, ...]:
    """Distribute the coins that remain among the exits placed again.

    Each gets its planned rest first, then up to what it has left.
    """
    shares = list[Quantity]()
    for each, most in zip(released, left, strict=True):
        share = Quantity(max(NOTHING, min(each.rest, most, remaining)))
        shares.append(share)
        remaining = Quantity(remaining - share)
    for number, most in enumerate(left):
        more = max(NOTHING, min(most - shares[number], remaining))
        shares[number] = Quantity(shares[number] + more)
        remaining = Quantity(remaining - more)
    return tuple(shares)
