"""A request that places or cancels an order as it is sent, and what is certain of it afterwards."""

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
"""What somebody can ask for: one order, or a pair of which one ends the other."""
TimeInForce = Literal["GTC", "IOC", "FOK"]
ListShape = Literal["OCO", "OTO", "OTOCO", "OPO", "OPOCO"]
"""The exchange's words: two orders of which one ends the other (OCO), or an entry that starts others once it is filled.

What an OTO sells is written beforehand; an OPO sells what the entry received.
"""
Gate = Callable[[], Awaitable[None]]
"""Awaited with the way open and nothing sent; if it raises, nothing is."""


class Fate(Enum):
    """What is certain of a request that places or cancels."""

    NOT_SENT = "not_sent"
    REFUSED = "refused"
    ACCEPTED = "accepted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """An order as it is sent: a market order has become a limit that is filled at once or not at all."""

    client_order_id: str
    symbol: Symbol
    side: Side
    kind: Kind
    time_in_force: TimeInForce
    quantity: Quantity
    price: Price
    stop_price: Price | None = None


@dataclass(frozen=True, slots=True)
class WrittenList:
    """Orders that are placed in one request, all or none: the entry first if there is one, then above, then below."""

    client_list_id: str
    shape: ListShape
    orders: tuple[WrittenOrder, ...]

    @property
    def symbol(self) -> Symbol:
        return self.orders[0].symbol


@dataclass(frozen=True, slots=True)
class Target:
    """An open order, or list of orders, that is to be ended; an order by the exchange's own id where it is known."""

    symbol: Symbol
    client_order_id: str
    order_id: int | None = None
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    """An open order that is cancelled, and in the same request another one placed; not without the cancel."""

    target: Target
    order: WrittenOrder

    @property
    def symbol(self) -> Symbol:
        return self.order.symbol


@dataclass(frozen=True, slots=True)
class Amendment:
    """An open order that is to be smaller: it keeps its id and its place in the queue."""

    target: Target
    quantity: Quantity

    @property
    def symbol(self) -> Symbol:
        return self.target.symbol


Written = WrittenOrder | WrittenList | Replacement | Amendment
"""What one request can ask of the exchange, but for a cancel."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of one request, why, and the order if the answer held it.

    Of a list `legs` are its orders as they were written, and `order` is none of them. Of a replacement `order` is the
    new one and `target` the old one as it stands now: refused and cancelled both is the worst that can become of it.
    """

    fate: Fate
    order: Order | None = None
    reason: str = ""
    code: int | None = None
    legs: tuple[Order, ...] = ()
    target: Order | None = None
