"""Account answers as Binance spells them; each struct has one way out, `to_domain`."""

from decimal import Decimal

from mcp_binance_server.domain.account import Account, Balance, Commission
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.amounts import Amount, Count, EpochMs, SignedAmount, price, quantity
from mcp_binance_server.exchange.wire import BinanceWire
from mcp_binance_server.words import word


class BalanceWire(BinanceWire):
    asset: str
    free: Amount
    locked: Amount

    def to_domain(self) -> Balance:
        return Balance(word(self.asset), quantity(self.free), quantity(self.locked))


class CommissionWire(BinanceWire):
    maker: SignedAmount
    taker: SignedAmount

    def to_domain(self) -> Commission:
        return Commission(Decimal(self.maker), Decimal(self.taker))


class AccountWire(BinanceWire):
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    update_time: EpochMs
    balances: list[BalanceWire]
    account_type: str = "SPOT"
    permissions: tuple[str, ...] = ()
    commission_rates: CommissionWire | None = None

    def to_domain(self) -> Account:
        return Account(
            balances=tuple(each.to_domain() for each in self.balances),
            can_trade=self.can_trade,
            can_withdraw=self.can_withdraw,
            can_deposit=self.can_deposit,
            updated_ms=self.update_time,
            kind=word(self.account_type),
            permissions=tuple(map(word, self.permissions)),
            commission=self.commission_rates.to_domain() if self.commission_rates else None,
        )


class OrderWire(BinanceWire):
    """An order as it is queried; `cummulativeQuoteQty` is the exchange's own spelling."""

    symbol: str
    order_id: Count
    client_order_id: str
    price: Amount
    orig_qty: Amount
    executed_qty: Amount
    cummulative_quote_qty: SignedAmount
    status: str
    time_in_force: str
    type: str
    side: str
    time: EpochMs
    update_time: EpochMs
    stop_price: Amount = "0"

    def to_domain(self) -> Order:
        return Order(
            order_id=self.order_id,
            client_order_id=word(self.client_order_id),
            symbol=Symbol(word(self.symbol)),
            side=word(self.side),
            kind=word(self.type),
            status=word(self.status),
            time_in_force=word(self.time_in_force),
            price=price(self.price),
            stop_price=price(self.stop_price),
            quantity=quantity(self.orig_qty),
            executed=quantity(self.executed_qty),
            quote_spent=quantity(self.cummulative_quote_qty),
            created_ms=self.time,
            updated_ms=self.update_time,
        )


class FillWire(BinanceWire):
    symbol: str
    id: Count
    order_id: Count
    price: Amount
    qty: Amount
    quote_qty: Amount
    commission: SignedAmount
    commission_asset: str
    time: EpochMs
    is_buyer: bool
    is_maker: bool

    def to_domain(self) -> Fill:
        return Fill(
            trade_id=self.id,
            order_id=self.order_id,
            symbol=Symbol(word(self.symbol)),
            price=price(self.price),
            quantity=quantity(self.qty),
            quote_quantity=quantity(self.quote_qty),
            commission=quantity(self.commission),
            commission_asset=word(self.commission_asset),
            time_ms=self.time,
            is_buyer=self.is_buyer,
            is_maker=self.is_maker,
        )
