"""Protocol for sending orders. Paper, practice and live accounts implement it."""

from typing import Protocol

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Gate, Outcome, Target, Written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol


class Broker(Protocol):
    """Orders of one account: place, cancel, query."""

    @property
    def venue(self) -> Venue: ...

    @property
    def horizon_ms(self) -> int:
        """Time after signing, in ms, during which an order can still appear.

        A missing order proves nothing before its end.
        """
        ...

    async def place(self, request: Written, gate: Gate, /) -> Outcome:
        """Send one order, a list of orders, or a change of an order."""
        ...

    async def cancel(self, target: Target, gate: Gate) -> Outcome: ...

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        """Query an order. Return None if it does not exist; raise an error if the query failed."""
        ...

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        """Return the account's open orders, including those of other programs. `symbol` limits them to one symbol."""
        ...
