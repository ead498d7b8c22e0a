"""Balances, orders and fills of an account."""

from dataclasses import dataclass, field
from decimal import Decimal

from binance_simulator.market.candles import Trade
from binance_simulator.market.listing import UNIT, Symbol, decimal_string
from binance_simulator.market.prices import HOUR_MS
from binance_simulator.market.synthetic import Market

ZERO = "0.00000000"

FIRST_ORDER_ID = 41_200_880_000


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
    """One order. Amounts are strings, as in the API."""

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
    quote_quantity: str = ZERO
    self_trade: str = "EXPIRE_MAKER"
    triggered_ms: int | None = None
    """Time at which a stop order was put on the book."""
    prevented: str = ZERO
    """Quantity that self-trade prevention has cancelled."""
    prevented_match_id: int | None = None
    list_id: int = -1
    """ID of its order list; -1 without a list."""
    released_ms: int | None = None
    """Time at which the working order of its list released it; -1 while it is pending, None if it never was."""
    iceberg: str = ZERO
    label: dict[str, object] = field(default_factory=dict[str, object])
    """Fields that are shown only if they were sent."""

    @property
    def open(self) -> bool:
        return self.status in {"NEW", "PENDING_NEW", "PARTIALLY_FILLED"}

    @property
    def waiting(self) -> bool:
        """Return whether a stop order still waits for its trigger."""
        return self.status == "NEW" and self.conditional and self.triggered_ms is None

    @property
    def conditional(self) -> bool:
        """Return whether a stop price or a trailing delta triggers the order."""
        return self.stop_price != ZERO or "trailingDelta" in self.label

    @property
    def working(self) -> bool:
        """Return whether the order is on the book."""
        return self.open and not self.waiting and self.status != "PENDING_NEW"

    @property
    def working_ms(self) -> int:
        """Time at which the order entered the book or was matched; -1 if never."""
        if self.conditional:
            return -1 if self.triggered_ms is None else self.triggered_ms
        return self.placed_ms if self.released_ms is None else self.released_ms

    def body(self) -> dict[str, object]:
        """Return the order in the format of the query endpoints."""
        body: dict[str, object] = {
            "symbol": self.symbol,
            "orderId": self.order_id,
            "orderListId": self.list_id,
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
            "icebergQty": self.iceberg,
            "time": self.placed_ms,
            "updateTime": self.updated_ms,
            "isWorking": not self.waiting and self.status != "PENDING_NEW",
            "workingTime": self.working_ms,
            "origQuoteOrderQty": self.quote_quantity,
            "selfTradePreventionMode": self.self_trade,
        }
        if self.prevented_match_id is not None:
            body |= {"preventedMatchId": self.prevented_match_id, "preventedQuantity": self.prevented}
        if self.expiry_reason is not None:
            body["expiryReason"] = self.expiry_reason
        return body | self.label


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
    list_id: int = -1

    def body(self) -> dict[str, object]:
        """Return the fill in the format of myTrades."""
        return {
            "symbol": self.symbol,
            "id": self.trade_id,
            "orderId": self.order_id,
            "orderListId": self.list_id,
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
    """Account data for the signed endpoints."""

    balances: tuple[Balance, ...] = ()
    orders: tuple[Order, ...] = ()
    fills: tuple[Fill, ...] = field(default=())
    updated_ms: int = 0
    can_trade: bool = True
    can_withdraw: bool = False
    can_deposit: bool = False


def holdings(market: Market, began_ms: int) -> Portfolio:
    """Return balances, open orders and a short history. Before the start of the market, return only balances."""
    symbols = market.listing.symbols
    btc, eth, bnb = (symbols[name] for name in ("BTCUSDT", "ETHUSDT", "BNBUSDT"))
    hours_ago = {back: began_ms - back * HOUR_MS for back in range(1, 6)}
    bought = market.last(btc, hours_ago[3])
    filling = market.last(bnb, hours_ago[2])
    btc_now, eth_now = market.last(btc, began_ms), market.last(eth, began_ms)
    if bought is None or filling is None or btc_now is None or eth_now is None:
        return Portfolio(balances=_balances(0, 0), updated_ms=began_ms)
    orders = (
        _order(btc, 1, "BUY", btc_now.price * 90 // 100, "0.01", placed_ms=hours_ago[5], status="EXPIRED", ioc=True),
        _order(btc, 2, "BUY", bought.price, "0.25", placed_ms=hours_ago[3], status="FILLED", executed="0.25"),
        _order(bnb, 3, "BUY", filling.price, "10", placed_ms=hours_ago[2], status="PARTIALLY_FILLED", executed="4"),
        _order(btc, 4, "BUY", btc_now.price * 95 // 100, "0.01", placed_ms=hours_ago[1]),
        _order(
            btc, 5, "SELL", btc_now.price * 92 // 100, "0.02", placed_ms=hours_ago[1], stop=btc_now.price * 93 // 100
        ),
        _order(eth, 6, "SELL", eth_now.price * 106 // 100, "0.5", placed_ms=hours_ago[1]),
    )
    locked = filling.price * bnb.tick * 6 + orders_value(btc, btc_now.price * 95 // 100, "0.01")
    return Portfolio(
        balances=_balances(locked, UNIT // 2),
        orders=orders,
        fills=(_fill(btc, 2, bought, "0.25"), _fill(bnb, 3, filling, "4")),
        updated_ms=hours_ago[1],
    )


def orders_value(symbol: Symbol, ticks: int, quantity: str) -> int:
    """Return price times quantity in multiples of 0.00000001."""
    return int(ticks * symbol.tick * Decimal(quantity))


def _balances(locked_usdt: int, locked_eth: int) -> tuple[Balance, ...]:
    return (
        Balance("BTC", "0.49230000", "0.02000000" if locked_usdt else ZERO),
        Balance("ETH", "4.10000000", decimal_string(locked_eth)),
        Balance("USDT", "10250.77000000", decimal_string(locked_usdt)),
        Balance("BNB", "3.20000000", ZERO),
        Balance("币安人生", "120.50000000", ZERO),
    )


def _order(
    symbol: Symbol,
    number: int,
    side: str,
    ticks: int,
    quantity: str,
    *,
    placed_ms: int,
    status: str = "NEW",
    executed: str = "0",
    stop: int | None = None,
    ioc: bool = False,
) -> Order:
    return Order(
        symbol=symbol.name,
        order_id=FIRST_ORDER_ID + number,
        client_order_id=f"demo-{number}",
        side=side,
        price=symbol.price(ticks),
        quantity=_eight(quantity),
        executed=_eight(executed),
        executed_value=decimal_string(orders_value(symbol, ticks, executed)),
        status=status,
        placed_ms=placed_ms,
        updated_ms=placed_ms,
        kind="LIMIT" if stop is None else "STOP_LOSS_LIMIT",
        time_in_force="IOC" if ioc else "GTC",
        stop_price=ZERO if stop is None else symbol.price(stop),
        expiry_reason="UNFILLED_IOC_QUANTITY_EXPIRED" if ioc else None,
    )


def _fill(symbol: Symbol, number: int, trade: Trade, quantity: str) -> Fill:
    return Fill(
        symbol=symbol.name,
        trade_id=trade.id,
        order_id=FIRST_ORDER_ID + number,
        price=symbol.price(trade.price),
        quantity=_eight(quantity),
        value=decimal_string(orders_value(symbol, trade.price, quantity)),
        commission=_eight(str(Decimal(quantity) / 1000)),
        commission_asset=symbol.base,
        time_ms=trade.time_ms,
        buyer=True,
        maker=False,
    )


def _eight(quantity: str) -> str:
    return decimal_string(int(Decimal(quantity) * UNIT))
