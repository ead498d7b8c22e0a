"""The order desk: what it takes, what it rejects, and what it has ever accepted."""

from dataclasses import dataclass

import msgspec

from mcp_binance_server.simulator.market.listing import UNIT, Listing, Symbol
from mcp_binance_server.simulator.market.portfolio import Order, Portfolio
from mcp_binance_server.simulator.market.synthetic import Market
from mcp_binance_server.simulator.orders.accounts import Account
from mcp_binance_server.simulator.orders.counts import OrderLedger
from mcp_binance_server.simulator.orders.engine import OrderEngine, triggered
from mcp_binance_server.simulator.orders.execution import Execution
from mcp_binance_server.simulator.orders.matching import Level, Match
from mcp_binance_server.simulator.orders.order import STOPS, LiveOrder, Wanted
from mcp_binance_server.simulator.orders.records import Detail, OrderRecords
from mcp_binance_server.simulator.orders.rules import SymbolRules, check_filters, check_position, not_open, rejected
from mcp_binance_server.simulator.refusals import Refusal

FIRST_ORDER_ID = 41_300_000_001
REJECT_REASONS = {
    "Account has insufficient balance for requested action.": "INSUFFICIENT_BALANCES",
    "Duplicate order sent.": "DUPLICATE_ORDER",
    "Order would immediately match and take.": "WOULD_MATCH_IMMEDIATELY",
    "Order would trigger immediately.": "STOP_PRICE_WOULD_TRIGGER_IMMEDIATELY",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """One order that was accepted; the oracle that counts doubles."""

    client_order_id: str
    order_id: int
    symbol: str
    at_ms: int
    by_hand: bool


@dataclass(frozen=True, slots=True)
class Named:
    """Which order is meant: by one of its ids, or by both; `only` is the status it must have."""

    symbol: str
    order_id: int | None
    client_order_id: str | None
    only: str | None = None


@dataclass(slots=True)
class Received:
    """The requests that arrived and were no reads, whatever became of them, and the bytes they carried."""

    requests: int = 0
    size: int = 0

    def add(self, size: int) -> None:
        """Count one more."""
        self.requests += 1
        self.size += size


class OrderDesk:
    """Orders of every account. Whoever reads or writes brings it up to the moment first."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.records = OrderRecords(listing)
        self.ledger = OrderLedger(listing.rate_limits)
        self.engine = OrderEngine(listing, self.records, self.ledger)
        self.accepted: list[Accepted] = []
        self.received = Received()
        self.engine_delay_ms = 0.0
        """How long a request takes from its receipt to the engine, before which its recvWindow is checked again."""
        self.visible_after_ms = 0
        """How long GET order does not find a new order."""
        self._next_order = FIRST_ORDER_ID

    def follow(self, market: Market) -> None:
        """Match with another market; the orders and accounts of the old one are gone."""
        self.engine.follow(market)
        self.wipe()

    def wipe(self) -> None:
        """Forget every account, order and fill, as a testnet does; what was accepted and told stays written down."""
        self.records.wipe()
        self.engine.wipe()
        self.ledger.wipe()

    def executions_since(self, number: int, holder: str | None, now_ms: int) -> list[Execution]:
        """Return what happened behind a number and up to now, to one holder's orders or to all."""
        self.engine.settle(now_ms)
        return self.records.executions.since(number, holder)

    def portfolio(self, holder: str, base: Portfolio, now_ms: int) -> Portfolio:
        """Return what a holder has now."""
        self.engine.settle(now_ms)
        return self.records.portfolio(holder, base)

    def visible(self, order: Order, now_ms: int) -> bool:
        """Tell whether GET order finds an order yet."""
        return order.order_id < FIRST_ORDER_ID or now_ms - order.placed_ms >= self.visible_after_ms

    def rules(self, symbol: Symbol) -> SymbolRules:
        """Return what exchangeInfo says of the orders of a symbol."""
        record = next(record for record in self.listing.records if record["symbol"] == symbol.name)
        return msgspec.convert(record, SymbolRules)

    def usual_client_id(self) -> str:
        """Return the id of an order that was sent without one."""
        return f"sim{self._next_order:019}"

    def check(self, account: Account, wanted: Wanted, now_ms: int) -> None:
        """Check an order as far as it is checked before it reaches the engine; order/test goes no further.

        Raises:
            Refusal: it would not reach the engine.
        """
        self.engine.settle(now_ms)
        rules, symbol = self.rules(wanted.symbol), wanted.symbol
        average = self.engine.crowd.average(symbol, rules.average_minutes, now_ms) if symbol.trading else None
        if average is None:
            raise rejected("Market is closed.")
        open_orders = self.records.open_orders(account.holder, symbol.name)
        check_filters(
            wanted,
            rules.filters,
            average=average,
            open_orders=len(open_orders),
            open_stops=sum(order.kind in STOPS for order in open_orders),
        )
        check_position(wanted, rules.filters, account.total(symbol.base), open_orders)

    def place(self, account: Account, wanted: Wanted, now_ms: int, *, by_hand: bool = False) -> LiveOrder:
        """Take an order, and match it.

        Raises:
            Refusal: it breaks a filter, or the engine rejects it.
        """
        self.check(account, wanted, now_ms)
        order = LiveOrder(
            wanted=wanted, number=self._next_order, holder=account.holder, placed_ms=now_ms, updated_ms=now_ms
        )
        self._next_order += 1
        try:
            match, levels = self._judge(account, order, now_ms)
        except Refusal as refusal:
            order.status = "REJECTED"
            reason = REJECT_REASONS.get(refusal.message, "UNKNOWN_ERROR")
            self.records.tell(order, "REJECTED", now_ms, Detail(reject_reason=reason))
            raise
        self.records.orders[order.number] = order
        self.accepted.append(Accepted(wanted.client_order_id, order.number, wanted.symbol.name, now_ms, by_hand))
        if wanted.kind != "MARKET":
            order.locked = wanted.needs(wanted.quantity)
            account.lock(wanted.locked_asset, order.locked)
        self.records.tell(order, "NEW", now_ms)
        if order.waiting:
            self.engine.wait(order, now_ms)
        else:
            self.engine.execute(order, match, levels, now_ms)
        return order

    def cancel(self, account: Account, named: Named, cancel_id: str, now_ms: int) -> Order:
        """Cancel an open order and return it, under the id it was placed with.

        Raises:
            Refusal: nothing of that name is open.
        """
        self.engine.settle(now_ms)
        for order in self.records.open_orders(account.holder, named.symbol):
            if named.order_id in {None, order.order_id} and named.client_order_id in {None, order.client_order_id}:
                live = self.records.orders.get(order.order_id)
                if named.only not in {None, order.status}:
                    raise Refusal(-2011, "Order was not canceled due to cancel restrictions.")
                if live is None:
                    return self.records.cancel_seeded(account, order, cancel_id, now_ms)
                self.engine.cancel(live, cancel_id, now_ms)
                return live.told()
        raise not_open()

    def _judge(self, account: Account, order: LiveOrder, now_ms: int) -> tuple[Match, list[Level]]:
        wanted = order.wanted
        if not account.portfolio.can_trade:
            raise rejected("This action is disabled on this account.")
        if any(one.client_order_id == wanted.client_order_id for one in self.records.open_orders(account.holder)):
            raise rejected("Duplicate order sent.")
        if wanted.conditional and triggered(wanted, self.engine.crowd.last(wanted.symbol, now_ms) or 0):
            raise rejected("Order would trigger immediately.")
        match, levels = self.engine.match(order, now_ms)
        if wanted.kind == "LIMIT_MAKER" and match.steps:
            raise rejected("Order would immediately match and take.")
        needed = wanted.needs(wanted.quantity)
        if wanted.kind == "MARKET" and wanted.buys:
            needed = -(-match.value // UNIT)
        if account.free(wanted.locked_asset) < needed:
            raise rejected("Account has insufficient balance for requested action.")
        return match, levels
