"""A proposed order: its type, the amounts that each type needs, and the market to check it against."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side

Argument = Literal["price", "stop_price", "trailing", "quantity", "quote_quantity"]

MARKET: Kind = "MARKET"
LIMIT_MAKER: Kind = "LIMIT_MAKER"
# https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints#new-order-trade
NEEDS: dict[Kind, tuple[Argument, ...]] = {
    "LIMIT": ("price", "quantity"),
    "MARKET": (),
    "LIMIT_MAKER": ("price", "quantity"),
    "STOP_LOSS_LIMIT": ("price", "stop_price", "quantity"),
    "TAKE_PROFIT_LIMIT": ("price", "stop_price", "quantity"),
}
# Twenty digits on each side of the decimal point, squared, plus room for a quotient. So no result in this module is
# rounded.
DIGITS = 200


@dataclass(frozen=True, slots=True)
class OrderIntent:
    """Side, type and amounts of an order that has not been sent.

    A trailing stop has `trailing` in percent; its `stop_price` is the first trigger, as the market is now.
    """

    side: Side
    kind: Kind
    quantity: Quantity | None = None
    quote_quantity: Quantity | None = None
    price: Price | None = None
    stop_price: Price | None = None
    trailing: Decimal | None = None

    @property
    def is_stop(self) -> bool:
        return "stop_price" in NEEDS[self.kind]

    @property
    def triggers_above(self) -> bool:
        """Whether a stop triggers above the market.

        It does for the stop-loss of a buyer and the profit target of a seller.
        """
        return (self.kind == "STOP_LOSS_LIMIT") == (self.side == "BUY")

    @property
    def amounts(self) -> dict[Argument, Decimal]:
        """The given amounts, in the order in which the rules are checked."""
        given: dict[Argument, Decimal | None] = {
            "price": self.price,
            "stop_price": self.stop_price,
            "trailing": self.trailing,
            "quantity": self.quantity,
            "quote_quantity": self.quote_quantity,
        }
        return {argument: amount for argument, amount in given.items() if amount is not None}

    def having(self, argument: Argument, amount: Decimal) -> "OrderIntent":
        """Return the same order with another amount."""
        return replace(self, **{argument: amount})

    def problems(self) -> dict[Argument, str]:
        """Return the amounts that this type lacks or cannot use, each with the reason."""
        found: dict[Argument, str] = {}
        allowed: tuple[Argument, ...] = (*NEEDS[self.kind], *(("trailing",) if self.is_stop else ()))
        if self.kind == MARKET:
            allowed = ("quantity", "quote_quantity")
            if (self.quantity is None) == (self.quote_quantity is None):
                found["quantity"] = "a MARKET order needs either quantity or quote_quantity"
        else:
            found |= {
                each: f"a {self.kind} order needs a {each}" for each in NEEDS[self.kind] if each not in self.amounts
            }
        found |= {each: f"a {self.kind} order takes no {each}" for each in self.amounts if each not in allowed}
        found |= {each: "must be greater than zero" for each, amount in self.amounts.items() if amount <= 0}
        return found


@dataclass(frozen=True, slots=True)
class Touch:
    """Best price of each side, and the exchange's reference price. None means an empty side, or no reference price."""

    bid: Price | None
    ask: Price | None
    official: Price | None = None

    @classmethod
    def of(cls, book: BookSnapshot, official: Price | None = None) -> "Touch":
        return cls(book.bids[0].price if book.bids else None, book.asks[0].price if book.asks else None, official)

    @property
    def mid(self) -> Price | None:
        return None if self.bid is None or self.ask is None else Price((self.bid + self.ask) / 2)

    @property
    def reference(self) -> Price | None:
        """Reference price for price and value filters: the exchange's, or a substitute for it."""
        return self.official or self.market

    @property
    def market(self) -> Price | None:
        """Mid price. If only one side has a price, that price."""
        return self.mid or self.bid or self.ask

    @property
    def is_crossed(self) -> bool:
        return self.bid is not None and self.ask is not None and self.bid >= self.ask

    def met_by(self, side: Side) -> Price | None:
        """Return the first price at which an order of this side trades."""
        return self.ask if side == "BUY" else self.bid
