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
TimeInForce = Literal["GTC", "IOC", "FOK"]
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
class Target:
    """An open order that is to be cancelled; by the exchange's own id where it is known."""

    symbol: Symbol
    client_order_id: str
    order_id: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of one request, why, and the order if the answer held it."""

    fate: Fate
    order: Order | None = None
    reason: str = ""
    code: int | None = None
