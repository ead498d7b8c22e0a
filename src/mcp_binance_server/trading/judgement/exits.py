"""Exit orders that end a position, and the state of their list.

Exits are placed with the entry, or as a pair on a held asset. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import ListShape
from mcp_binance_server.domain.orders import FINAL_STATUS, NOTHING, Order

# Suffixes that turn the ID of a list into the IDs of its orders.
ENTRY, ABOVE, BELOW = "-w", "-a", "-b"
SUFFIXES = (ENTRY, ABOVE, BELOW)


@dataclass(frozen=True, slots=True)
class Exits:
    """Exit orders of a position: one above for a profit, one below to limit a loss.

    The trigger or the first fill of one order ends the other. `stop` is the trigger price, for a trailing stop the
    first one. `stop_limit` is the lowest price accepted after the trigger. Some lists sell the quantity that the entry
    received. For them `quantity` is an upper bound.
    """

    shape: ListShape
    quantity: Quantity
    take_profit: Price | None = None
    stop: Price | None = None
    stop_limit: Price | None = None
    trailing_bps: int | None = None

    @property
    def likeness(self) -> "Exits":
        """The exits without the prices of a trailing stop, which differ between repeated requests."""
        return self if self.trailing_bps is None else replace(self, stop=None, stop_limit=None)

    @property
    def has_entry(self) -> bool:
        return self.shape != "OCO"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the orders, in the order in which they are sent: entry, above, below."""
        wanted = (self.has_entry, self.take_profit is not None, self.stop is not None)
        return tuple(suffix for suffix, is_there in zip(SUFFIXES, wanted, strict=True) if is_there)


class Leg(NamedTuple):
    """State of one order of a list."""

    client_order_id: str
    order_id: int
    status: str
    executed: Quantity
    spent: Quantity

    @property
    def is_final(self) -> bool:
        return self.status in FINAL_STATUS

    @property
    def is_entry(self) -> bool:
        return self.client_order_id.endswith(ENTRY)

    def knows(self, order: Order) -> bool:
        """Return True if this state of the order is known or outdated. A final status stays."""
        is_same = (order.status, order.executed) == (self.status, self.executed)
        return is_same or self.is_final or order.executed < self.executed


def with_leg(legs: tuple[Leg, ...], order: Order) -> tuple[Leg, ...]:
    """Return the orders of a list after an update of one order. The state only advances."""
    stands = {each.client_order_id: each for each in legs}
    known = stands.get(order.client_order_id)
    if known is not None and known.knows(order):
        return legs
    name = order.client_order_id
    stands[name] = Leg(name, order.order_id, order.status, order.executed, order.quote_spent)
    return tuple(sorted(stands.values(), key=lambda each: SUFFIXES.index(each.client_order_id[-2:])))


@dataclass(frozen=True, slots=True)
class OrderStanding:
    """State of one order, or of a list. A list has the state of its entry or of its pair.

    `is_settled` means that it can trade no more.
    """

    status: str
    order_id: int | None
    executed: Quantity
    spent: Quantity
    is_settled: bool
    is_final: bool


def standing_of(exits: Exits, legs: tuple[Leg, ...]) -> OrderStanding:
    """Return the state of a list, derived from its known orders."""
    is_final = len(legs) == len(exits.suffixes) and all(each.is_final for each in legs)
    if exits.has_entry:
        entry = next((each for each in legs if each.is_entry), None)
        if entry is None:
            return OrderStanding("", None, NOTHING, NOTHING, is_settled=False, is_final=False)
        return OrderStanding(entry.status, entry.order_id, entry.executed, entry.spent, entry.is_final, is_final)
    traded = next((each for each in legs if each.executed), None)
    executed, spent = _sum(each.executed for each in legs), _sum(each.spent for each in legs)
    order_id = None if traded is None else traded.order_id
    return OrderStanding(_pair_status(legs, traded), order_id, executed, spent, is_final, is_final)


def _pair_status(legs: tuple[Leg, ...], traded: Leg | None) -> str:
    if traded is not None:
        return traded.status
    still_open = [each.status for each in legs if not each.is_final]
    said = still_open or [each.status for each in legs]
    return "CANCELED" if "CANCELED" in said else said[0] if said else ""


def _sum(amounts: Iterable[Quantity]) -> Quantity:
    return Quantity(sum(amounts, NOTHING))
