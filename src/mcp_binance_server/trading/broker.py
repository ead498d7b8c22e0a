"""Where orders go: one port for paper, play money and money."""

from typing import Protocol

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Gate, Outcome, Target, Written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol


class Broker(Protocol):
    """Takes orders of one account."""

    @property
    def venue(self) -> Venue: ...

    @property
    def horizon_ms(self) -> int:
        """How long after it was signed an order may still come to light; before, that there is none proves nothing."""
        ...

    async def place(self, request: Written, gate: Gate, /) -> Outcome:
        """Send one order, a list of them, or a change of one."""
        ...

    async def cancel(self, target: Target, gate: Gate) -> Outcome: ...

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        """Return the order, None if there is none; raise if that could not be found out."""
        ...

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        """Return the open orders of the account, of one symbol or of all, whoever placed them."""
        ...
