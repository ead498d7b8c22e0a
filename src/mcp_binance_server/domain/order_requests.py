"""Requests that place or cancel orders, as sent, and their outcomes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol

Side = Literal["BUY", "SELL"]
Kind = Literal["LIMIT", "MARKET", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT"]
TermsKind = Literal[Kind, "OCO"]
"""Kinds of orders in a request. OCO is a pair of orders: a fill of one order cancels the other."""
TimeInForce = Literal["GTC", "IOC", "FOK"]
ListShape = Literal["OCO", "OTO", "OTOCO", "OPO", "OPOCO"]
"""The exchange's list types. In an OCO, one order ends the other. In all others, the fill of an entry starts the exits.

The exit quantity of an OTO is sent in advance. An OPO sells the quantity that the entry received.
"""
Gate = Callable[[], Awaitable[None]]
"""Callback that is awaited after the connection opens and before the first byte. If it raises, nothing is sent."""


class Fate(Enum):
    """Outcome of a request that places or cancels an order. UNKNOWN must be resolved by asking the exchange."""

    NOT_SENT = "not_sent"
    REFUSED = "refused"
    ACCEPTED = "accepted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """An order as sent. A market order is sent as a limit order with IOC.

    A stop has a fixed trigger price, or follows the market by `trailing_bps`.
    """

    client_order_id: str
    symbol: Symbol
    side: Side
    kind: Kind
    time_in_force: TimeInForce
    quantity: Quantity
    price: Price
    stop_price: Price | None = None
    trailing_bps: int | None = None

    @property
    def is_stop(self) -> bool:
        return self.stop_price is not None or self.trailing_bps is not None


@dataclass(frozen=True, slots=True)
class WrittenList:
    """Orders placed in one request, all or none. Their sequence is entry (if any), above, below."""

    client_list_id: str
    shape: ListShape
    orders: tuple[WrittenOrder, ...]

    @property
    def symbol(self) -> Symbol:
        return self.orders[0].symbol


@dataclass(frozen=True, slots=True)
class Target:
    """An open order or order list to cancel. The exchange's order ID is used if it is known."""

    symbol: Symbol
    client_order_id: str
    order_id: int | None = None
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    """An open order to cancel and a new order to place, in one request.

    The new order is placed only if the cancel succeeds.
    """

    target: Target
    order: WrittenOrder

    @property
    def symbol(self) -> Symbol:
        return self.order.symbol


@dataclass(frozen=True, slots=True)
class Amendment:
    """A smaller quantity for an open order. The order keeps its ID and its place in the queue."""

    target: Target
    quantity: Quantity

    @property
    def symbol(self) -> Symbol:
        return self.target.symbol


Written = WrittenOrder | WrittenList | Replacement | Amendment
"""Content of a request to the exchange, other than a cancel."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one request, its reason, and the order if the answer contained it.

    For a list, `legs` holds its orders as sent, and `order` is None. For a replacement, `order` is the new order and
    `target` the present state of the old one. In the worst case the old order is cancelled and the new one refused.
    """

    fate: Fate
    order: Order | None = None
    reason: str = ""
    code: int | None = None
    legs: tuple[Order, ...] = ()
    target: Order | None = None
