"""What the account holds: balances, orders and its own trades, as Binance prints them."""

from dataclasses import dataclass, field

ZERO = "0.00000000"


@dataclass(frozen=True, slots=True)
class Balance:
    asset: str
    free: str
    locked: str

    @property
    def empty(self) -> bool:
        return not (self.free + self.locked).strip("0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order; amounts are the strings that go out."""

    symbol: str
    order_id: int
    client_order_id: str
    side: str
    price: str
    quantity: str
    executed: str
    executed_value: str
    status: str
    placed_ms: int
    updated_ms: int
    kind: str = "LIMIT"
    time_in_force: str = "GTC"
    stop_price: str = ZERO
    expiry_reason: str | None = None

    @property
    def open(self) -> bool:
        return self.status in {"NEW", "PARTIALLY_FILLED"}

    @property
    def waiting(self) -> bool:
        """Tell whether a stop order still waits for its trigger."""
        return self.status == "NEW" and self.stop_price != ZERO

    def body(self) -> dict[str, object]:
        """Return the order as the query endpoints answer it."""
        body: dict[str, object] = {
            "symbol": self.symbol,
            "orderId": self.order_id,
            "orderListId": -1,
            "clientOrderId": self.client_order_id,
            "price": self.price,
            "origQty": self.quantity,
            "executedQty": self.executed,
            "cummulativeQuoteQty": self.executed_value,
            "status": self.status,
            "timeInForce": self.time_in_force,
            "type": self.kind,
            "side": self.side,
            "stopPrice": self.stop_price,
            "icebergQty": ZERO,
            "time": self.placed_ms,
            "updateTime": self.updated_ms,
            "isWorking": not self.waiting,
            "workingTime": -1 if self.waiting else self.placed_ms,
            "origQuoteOrderQty": ZERO,
            "selfTradePreventionMode": "EXPIRE_MAKER",
        }
        if self.expiry_reason is not None:
            body["expiryReason"] = self.expiry_reason
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """One trade of the account."""

    symbol: str
    trade_id: int
    order_id: int
    price: str
    quantity: str
    value: str
    commission: str
    commission_asset: str
    time_ms: int
    buyer: bool
    maker: bool

    def body(self) -> dict[str, object]:
        """Return the trade as myTrades answers it."""
        return {
            "symbol": self.symbol,
            "id": self.trade_id,
            "orderId": self.order_id,
            "orderListId": -1,
            "price": self.price,
            "qty": self.quantity,
            "quoteQty": self.value,
            "commission": self.commission,
            "commissionAsset": self.commission_asset,
            "time": self.time_ms,
            "isBuyer": self.buyer,
            "isMaker": self.maker,
            "isBestMatch": True,
        }


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Everything the signed endpoints show."""

    balances: tuple[Balance, ...] = ()
    orders: tuple[Order, ...] = ()
    fills: tuple[Fill, ...] = field(default=())
    updated_ms: int = 0
    can_trade: bool = True
    can_withdraw: bool = False
    can_deposit: bool = False
