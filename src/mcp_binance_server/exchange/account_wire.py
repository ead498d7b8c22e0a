"""Account answers as Binance spells them; each struct has one way out, `to_domain`."""

from decimal import Decimal

from mcp_binance_server.domain.account import Account, Balance, Commission
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.wire import Amount, Wire, price, quantity


class BalanceWire(Wire):
    asset: str
    free: Amount
    locked: Amount

    def to_domain(self) -> Balance:
        return Balance(self.asset, quantity(self.free), quantity(self.locked))


class CommissionWire(Wire):
    maker: Amount
    taker: Amount

    def to_domain(self) -> Commission:
        return Commission(Decimal(self.maker), Decimal(self.taker))


class AccountWire(Wire):
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    update_time: int
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
            kind=self.account_type,
            permissions=self.permissions,
            commission=self.commission_rates.to_domain() if self.commission_rates else None,
        )


class OrderWire(Wire):
    """An order as it is queried; `cummulativeQuoteQty` is the exchange's own spelling."""

    symbol: str
    order_id: int
    client_order_id: str
    price: Amount
    orig_qty: Amount
    executed_qty: Amount
    cummulative_quote_qty: Amount
    status: str
    time_in_force: str
    type: str
    side: str
    time: int
    update_time: int
    stop_price: Amount = "0"

    def to_domain(self) -> Order:
        return Order(
            order_id=self.order_id,
            client_order_id=self.client_order_id,
            symbol=Symbol(self.symbol),
            side=self.side,
            kind=self.type,
            status=self.status,
            time_in_force=self.time_in_force,
            price=price(self.price),
            stop_price=price(self.stop_price),
            quantity=quantity(self.orig_qty),
            executed=quantity(self.executed_qty),
            quote_spent=quantity(self.cummulative_quote_qty),
            created_ms=self.time,
            updated_ms=self.update_time,
        )


class FillWire(Wire):
    symbol: str
    id: int
    order_id: int
    price: Amount
    qty: Amount
    quote_qty: Amount
    commission: Amount
    commission_asset: str
    time: int
    is_buyer: bool
    is_maker: bool

    def to_domain(self) -> Fill:
        return Fill(
            trade_id=self.id,
            order_id=self.order_id,
            symbol=Symbol(self.symbol),
            price=price(self.price),
            quantity=quantity(self.qty),
            quote_quantity=quantity(self.quote_qty),
            commission=quantity(self.commission),
            commission_asset=self.commission_asset,
            time_ms=self.time,
            is_buyer=self.is_buyer,
            is_maker=self.is_maker,
        )
