"""Orders and fills as the exchange reports them, and the contents of order pages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

NOTHING = Quantity(Decimal(0))
FINAL_STATUS = frozenset({"FILLED", "CANCELED", "REJECTED", "EXPIRED", "EXPIRED_IN_MATCH"})
"""The exchange's words for an order that can no longer change."""
OUT_OF_RANGE = "EXECUTION_RULE_PRICE_RANGE_EXCEEDED"
# https://developers.binance.com/docs/binance-spot-api-docs/enums#expiry-reasons
EXPIRY_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "REJECTED": "Binance rejected it after its entry was filled",
        "EXCHANGE_CANCELED": "Binance cancelled it",
        "OCO_TRIGGER": "the other order of its list was first",
        "OTO_PHASE_ONE_EXPIRED": "the entry of its list was not filled",
        "UNFILLED_IOC_QUANTITY_EXPIRED": "an IOC order does not wait on the book",
        "UNFILLED_FOK_ORDER_EXPIRED": "a FOK order is filled whole or not at all",
        "INSUFFICIENT_LIQUIDITY": "the book had no more orders",
        OUT_OF_RANGE: "the next trade would have been outside Binance's price range",
    }
)


@dataclass(frozen=True, slots=True)
class Order:
    """One order.

    `status`, `side` and `kind` are the exchange's words, because the exchange adds new words without notice.
    """

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
    expiry_reason: str = ""
    """The exchange's word for why it expired; "" if it did not, or if no reason is given."""
    list_id: str = ""
    """The exchange's ID of its order list; "" for a single order."""
    trailing_bps: int | None = None
    """Distance of a trailing stop's trigger from the best price since its start; None for other orders."""
    trailing_ms: int | None = None
    """Time when a trailing stop began to follow the price; None before that."""

    @property
    def expiry_words(self) -> str:
        """Reason why it expired; a word that is not known here is returned as it is."""
        return EXPIRY_WORDS.get(self.expiry_reason, self.expiry_reason)

    @property
    def remaining(self) -> Quantity:
        return Quantity(self.quantity - self.executed)

    @property
    def working_price(self) -> Price:
        """Limit price; without a limit price, the trigger price. A market order has zero."""
        return self.price or self.stop_price

    @property
    def average_price(self) -> Price | None:
        """Average price of the filled part, or None if unknown. For some old orders the exchange reports -1."""
        if self.executed <= 0 or self.quote_spent <= 0:
            return None
        return Price(self.quote_spent / self.executed)


@dataclass(frozen=True, slots=True)
class Report:
    """Execution report from the account stream: one event, and the order after it.

    `event` and `reason` are the exchange's words. `execution_id` gives the sequence of an order's reports. A cancel has
    a client order ID of its own, but the order keeps the ID that it was placed with.
    """

    order: Order
    event: str
    execution_id: int
    trade_id: int | None
    reason: str
    at_ms: int
    traded: Quantity = NOTHING
    """Quantity of this one trade; zero if nothing was traded."""


@dataclass(frozen=True, slots=True)
class Fill:
    """One fill of an order of this account."""

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


@dataclass(frozen=True, slots=True)
class OpenOrders:
    """All open orders in the exchange's order, with the rules of the listed symbols."""

    orders: tuple[Order, ...]
    rules: Mapping[Symbol, SymbolRules]
    venue: Venue
    as_of_ms: int

    @property
    def value_by_quote(self) -> dict[str, Decimal]:
        """Open value (price times remaining quantity) by quote asset. Orders of unlisted symbols are left out.

        Of the two orders in an OCO pair only one can fill, so the larger value counts.
        """
        return self._summed(self.orders)

    @property
    def buys_by_quote(self) -> dict[str, Decimal]:
        return self._summed(each for each in self.orders if each.side == "BUY")

    @property
    def sells_by_quote(self) -> dict[str, Decimal]:
        return self._summed(each for each in self.orders if each.side == "SELL")

    def _summed(self, orders: Iterable[Order]) -> dict[str, Decimal]:
        values: dict[tuple[str, str, str], Decimal] = {}
        for order in orders:
            if (rules := self.rules.get(order.symbol)) is not None:
                part = rules.quote, order.side, order.list_id or f"order {order.order_id}"
                values[part] = max(values.get(part, Decimal(0)), order.working_price * order.remaining)
        sums: dict[str, Decimal] = {}
        for (quote, _, _), value in values.items():
            sums[quote] = sums.get(quote, Decimal(0)) + value
        return sums

    @property
    def unvalued(self) -> tuple[Order, ...]:
        """Orders missing from every total, because their symbol is not listed or they have no price."""
        return tuple(each for each in self.orders if each.symbol not in self.rules or not each.working_price)


@dataclass(frozen=True, slots=True)
class OrdersOfSymbol:
    """Orders of one symbol, newest last. `older` and `newer` mean that the exchange has more in that direction."""

    orders: tuple[Order, ...]
    rules: SymbolRules
    venue: Venue
    as_of_ms: int
    older: bool = False
    newer: bool = False


@dataclass(frozen=True, slots=True)
class AccountFills:
    """The account's trades of one or more symbols, newest last. `older` and `newer` mean that there are more."""

    fills: tuple[Fill, ...]
    rules: Mapping[Symbol, SymbolRules]
    venue: Venue
    as_of_ms: int
    older: bool = False
    newer: bool = False

    @property
    def one(self) -> SymbolRules | None:
        """Rules of the requested symbol, or None if there are several symbols."""
        return next(iter(self.rules.values())) if len(self.rules) == 1 else None


@dataclass(frozen=True, slots=True)
class OneOrder:
    """One order with the rules of its symbol."""

    order: Order
    rules: SymbolRules
    venue: Venue
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class OrderHistory:
    """Newest orders of the queried symbols, newest first.

    `not_asked` and `failed` list the symbols whose orders are missing.
    """

    orders: tuple[Order, ...]
    rules: Mapping[Symbol, SymbolRules]
    asked: tuple[Symbol, ...]
    not_asked: tuple[Symbol, ...]
    failed: tuple[Symbol, ...]
    cut: bool
    calls: int
    weight: int
    venue: Venue
    as_of_ms: int
