"""Orders and fills as the exchange reports them."""

from dataclasses import dataclass

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Order:
    """One order; `status`, `side` and `kind` stay the exchange's words, it adds new ones without notice."""

    order_id: int
    client_order_id: str
    symbol: Symbol
    side: str
    kind: str
    status: str
    time_in_force: str
    price: Price
    stop_price: Price
    quantity: Quantity
    executed: Quantity
    quote_spent: Quantity
    created_ms: int
    updated_ms: int

    @property
    def remaining(self) -> Quantity:
        return Quantity(self.quantity - self.executed)


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution of an order of ours."""

    trade_id: int
    order_id: int
    symbol: Symbol
    price: Price
    quantity: Quantity
    quote_quantity: Quantity
    commission: Quantity
    commission_asset: str
    time_ms: int
    is_buyer: bool
    is_maker: bool
