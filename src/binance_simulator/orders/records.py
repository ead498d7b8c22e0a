"""Records of accounts and orders, and the data for the signed endpoints."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binance_simulator.market.listing import UNIT, Listing
from binance_simulator.market.portfolio import ZERO, Fill, Order, Portfolio
from binance_simulator.orders.accounts import Account, units
from binance_simulator.orders.execution import Execution, ExecutionKind, Executions, ListStatus, Prevention
from binance_simulator.orders.lists import OrderList
from binance_simulator.orders.order import LiveOrder


@dataclass(frozen=True, slots=True)
class Detail:
    """Fields of an execution that the order itself does not have."""

    fill: Fill | None = None
    cancel_id: str | None = None
    reject_reason: str = "NONE"
    prevention: Prevention | None = None
    earlier_id: str | None = None
    list_status: ListStatus | None = None


NOTHING_MORE = Detail()


class OrderRecords:
    """Accounts, orders and fills. Each change is recorded as an execution."""

    def __init__(self, listing: Listing) -> None:
        self.executions = Executions()
        self.orders: dict[int, LiveOrder] = {}
        self.lists: dict[int, OrderList] = {}
        self._listing = listing
        self._accounts: dict[str, Account] = {}
        self._seeded: dict[str, dict[int, Order]] = {}
        self._fills: dict[str, list[Fill]] = {}
        self._over: dict[int, Order] = {}
        self._next_execution = 1

    def wipe(self) -> None:
        """Delete all accounts, orders and fills. The executions stay."""
        for kept in (self.orders, self.lists, self._accounts, self._seeded, self._fills, self._over):
            kept.clear()

    def account(self, holder: str, base: Portfolio) -> Account:
        """Return a holder's account. A new account gets the portfolio's balances."""
        account = self._accounts.get(holder)
        if account is None or account.portfolio is not base:
            account = self._accounts[holder] = Account(holder, base)
            self._seeded[holder] = {order.order_id: order for order in base.orders}
        return account

    def account_of(self, holder: str) -> Account:
        """Return the account of a holder that has placed orders."""
        return self._accounts[holder]

    def portfolio(self, holder: str, base: Portfolio) -> Portfolio:
        """Return a holder's portfolio. It stays unchanged until the first order."""
        account = self._accounts.get(holder)
        if account is None or account.portfolio is not base:
            return base
        live = [order for order in self.orders.values() if order.holder == holder]
        return replace(
            base,
            balances=account.balances(),
            orders=(*self._seeded[holder].values(), *(self._told(order) for order in live)),
            fills=(*base.fills, *self._fills.get(holder, [])),
            updated_ms=max([base.updated_ms, *(order.updated_ms for order in live)]),
        )

    def open_orders(self, holder: str, symbol: str | None = None) -> list[Order]:
        """Return the open orders of a holder, starting with those of the initial portfolio."""
        orders = [*self._seeded.get(holder, {}).values()]
        orders += [order.told() for order in self.orders.values() if order.open and order.holder == holder]
        return [order for order in orders if order.open and symbol in {None, order.symbol}]

    def _told(self, order: LiveOrder) -> Order:
        # Cache closed orders, because they never change and their number grows.
        if order.open:
            return order.told()
        if order.number not in self._over:
            self._over[order.number] = order.told()
        return self._over[order.number]

    def unlock(self, order: LiveOrder) -> None:
        """Release the part of the locked amount that the order no longer needs.

        A fill is paid from the released amount afterwards.
        """
        holds = order.open and not order.pending and order.wanted.kind != "MARKET"
        needed = order.needed if holds else 0
        self._accounts[order.holder].release(order.wanted.locked_asset, order.locked - needed)
        order.locked = needed

    def hold(self, orders: Sequence[LiveOrder]) -> None:
        """Lock the amount of an order. For a pair, lock only the larger amount, because only one of them can trade."""
        for order in orders:
            self._accounts[order.holder].release(order.wanted.locked_asset, order.locked)
            order.locked = 0
        holding = [order for order in orders if order.wanted.kind != "MARKET" and not order.pending]
        most = max(holding, key=lambda order: order.needed, default=None)
        if most is not None:
            most.locked = most.needed
            self._accounts[most.holder].lock(most.wanted.locked_asset, most.locked)

    def pay(self, order: LiveOrder, fill: Fill) -> None:
        """Move the assets of a fill."""
        symbol, account = order.wanted.symbol, self._accounts[order.holder]
        quantity, value, fee = units(fill.quantity), units(fill.value), units(fill.commission)
        account.spend(order.wanted.locked_asset, value if fill.buyer else quantity)
        account.receive(symbol.base if fill.buyer else symbol.quote, (quantity if fill.buyer else value) - fee)
        self._fills.setdefault(order.holder, []).append(fill)
        listed = self.lists.get(order.list_id)
        if listed is not None and listed.pays and listed.working is order:
            # https://github.com/binance/binance-spot-api-docs/blob/master/faqs/opo.md: the bought amount pays for the
            # pending orders. The previous free amount pays the commission if it is large enough and the asset is not
            # BNB.
            free_pays = symbol.base != "BNB" and account.free(symbol.base) >= quantity
            kept = quantity if free_pays else quantity - fee
            account.lock(symbol.base, kept)
            listed.reserved += kept

    def unreserve(self, listed: OrderList) -> int:
        """Release and return the amount that was bought for a list's pending orders."""
        reserved, listed.reserved = listed.reserved, 0
        self._accounts[listed.holder].release(listed.symbol.base, reserved)
        return reserved

    def cancel_seeded(self, account: Account, order: Order, cancel_id: str, now_ms: int) -> Order:
        """Cancel an order of the initial portfolio. Such an order never trades, but it locks an amount."""
        symbol = self._listing.symbols[order.symbol]
        left = units(order.quantity) - units(order.executed)
        asset = symbol.quote if order.side == "BUY" else symbol.base
        needed = left if order.side == "SELL" else units(order.price) * left // UNIT
        account.release(asset, min(needed, account.total(asset) - account.free(asset)))
        gone = replace(order, status="CANCELED", updated_ms=now_ms)
        self._seeded[account.holder][order.order_id] = gone
        self._write(account, gone, "CANCELED", now_ms, Detail(cancel_id=cancel_id))
        return gone

    def tell(self, order: LiveOrder, kind: ExecutionKind, now_ms: int, detail: Detail = NOTHING_MORE) -> None:
        """Record one step of an order."""
        listed = self.lists.get(order.list_id)
        if listed is not None:
            listed.updated_ms = now_ms
            if listed.done:
                detail = replace(detail, list_status=listed.status("ALL_DONE"))
        self._write(self._accounts[order.holder], order.told(), kind, now_ms, detail)

    def _write(self, account: Account, order: Order, kind: ExecutionKind, now_ms: int, detail: Detail) -> None:
        number, fill = self._next_execution, detail.fill
        self._next_execution += 1
        execution = Execution(
            number=number,
            holder=account.holder,
            at_ms=now_ms,
            kind=kind,
            order=order,
            client_order_id=detail.cancel_id or order.client_order_id,
            original_client_order_id=_earlier_id(order, detail),
            last_quantity=ZERO if fill is None else fill.quantity,
            last_price=ZERO if fill is None else fill.price,
            last_value=ZERO if fill is None else fill.value,
            trade_id=-1 if fill is None else fill.trade_id,
            maker=fill is not None and fill.maker,
            commission="0" if fill is None else fill.commission,
            commission_asset=None if fill is None else fill.commission_asset,
            reject_reason=detail.reject_reason,
            prevention=detail.prevention,
            holdings=account.changed(),
            list_status=detail.list_status,
        )
        self.executions.add(execution)


def _earlier_id(order: Order, detail: Detail) -> str:
    return detail.earlier_id or ("" if detail.cancel_id is None else order.client_order_id)
