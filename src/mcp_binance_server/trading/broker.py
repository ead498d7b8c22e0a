"""Where orders go: one port for paper, play money and money, and the one that is closed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.judgement.intent import Kind, Side
from mcp_binance_server.trading.judgement.terms import TimeInForce

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


class Broker(Protocol):
    """Takes orders of one account."""

    @property
    def venue(self) -> Venue: ...

    @property
    def horizon_ms(self) -> int:
        """How long after it was sent an order may still come to light."""
        ...

    async def place(self, order: WrittenOrder, gate: Gate) -> Outcome: ...

    async def cancel(self, target: Target, gate: Gate) -> Outcome: ...

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        """Return the order, None if there is none; raise if that could not be found out."""
        ...

    async def open_orders(self) -> tuple[Order, ...]: ...
