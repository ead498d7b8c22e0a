"""The order desk: it accepts or rejects orders and records all accepted ones."""

from dataclasses import dataclass, field, replace

import msgspec

from binance_simulator.market.listing import UNIT, Listing, Symbol
from binance_simulator.market.portfolio import Order, Portfolio
from binance_simulator.market.synthetic import Market
from binance_simulator.orders.accounts import Account, units
from binance_simulator.orders.counts import OrderLedger
from binance_simulator.orders.engine import OrderEngine, triggered
from binance_simulator.orders.execution import Execution
from binance_simulator.orders.matching import Level, Match
from binance_simulator.orders.order import STOPS, LiveOrder, Wanted
from binance_simulator.orders.records import Detail, OrderRecords
from binance_simulator.orders.rules import SymbolRules, check_filters, check_position, not_open, rejected
from binance_simulator.refusals import Refusal

FIRST_ORDER_ID = 41_300_000_001
REJECT_REASONS = {
    "Account has insufficient balance for requested action.": "INSUFFICIENT_BALANCES",
    "Duplicate order sent.": "DUPLICATE_ORDER",
    "Order would immediately match and take.": "WOULD_MATCH_IMMEDIATELY",
    "Order would trigger immediately.": "STOP_PRICE_WOULD_TRIGGER_IMMEDIATELY",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """Record of an accepted order. Tests use it to find duplicates."""

    client_order_id: str
    order_id: int
    symbol: str
    at_ms: int
    by_hand: bool
    holder: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """Reference to an order or list by one or both of its IDs. `only` is the status that it must have."""

    symbol: str
    order_id: int | None
    client_order_id: str | None
    only: str | None = None


@dataclass(slots=True)
class Received:
    """Number and size in bytes of all received requests except reads, including refused ones."""

    requests: int = 0
    size: int = 0

    def add(self, size: int) -> None:
        """Count one request."""
        self.requests += 1
        self.size += size


class OrderDesk:
    """Orders of all accounts. Each read or write first processes the market up to the current time."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.records = OrderRecords(listing)
        self.ledger = OrderLedger(listing.rate_limits)
        self.engine = OrderEngine(listing, self.records, self.ledger)
        self.accepted: list[Accepted] = []
        self.received = Received()
        self.engine_delay_ms = 0.0
        """Delay in milliseconds between receipt and engine. The recvWindow is checked again after this delay."""
        self.visible_after_ms = 0
        """Milliseconds for which GET order does not find a new order."""
        self.cancel_tells_list = True
        """Whether DELETE order of a listed order answers with its list or with the order alone; the docs allow both."""
        self._next_order = FIRST_ORDER_ID

    def follow(self, market: Market) -> None:
        """Switch to another market and delete all orders and accounts."""
        self.engine.follow(market)
        self.wipe()

    def wipe(self) -> None:
        """Delete all accounts, orders and fills, as a testnet does.

        The records of accepted orders and executions stay.
        """
        self.records.wipe()
        self.engine.wipe()
        self.ledger.wipe()

    def executions_since(self, number: int, holder: str | None, now_ms: int) -> list[Execution]:
        """Return the executions after a sequence number. Without a holder, return those of all accounts."""
        self.engine.settle(now_ms)
        return self.records.executions.since(number, holder)

    def portfolio(self, holder: str, base: Portfolio, now_ms: int) -> Portfolio:
        """Return a holder's current portfolio."""
        self.engine.settle(now_ms)
        return self.records.portfolio(holder, base)

    def visible(self, order: Order, now_ms: int) -> bool:
        """Return whether GET order can already find the order."""
        return order.order_id < FIRST_ORDER_ID or now_ms - order.placed_ms >= self.visible_after_ms

    def rules(self, symbol: Symbol) -> SymbolRules:
        """Return the order rules of a symbol from exchangeInfo."""
        record = next(record for record in self.listing.records if record["symbol"] == symbol.name)
        return msgspec.convert(record, SymbolRules)

    def usual_client_id(self, place: int = 0) -> str:
        """Return the client order ID for an order without one. `place` is the order's place in its list."""
        return f"sim{self._next_order + place:019}"

    def check(self, account: Account, wanted: Wanted, now_ms: int, before: tuple[Wanted, ...] = ()) -> None:
        """Check an order before it reaches the matching engine. order/test does only these checks.

        `before` are earlier orders of the same list.

        Raises:
            Refusal: the order would not reach the engine.
        """
        self.engine.settle(now_ms)
        rules, symbol = self.rules(wanted.symbol), wanted.symbol
        average = self.average(wanted, now_ms)
        open_orders = self.records.open_orders(account.holder, symbol.name)
        check_filters(
            wanted,
            rules.filters,
            average=average,
            open_orders=len(open_orders) + len(before),
            open_stops=sum(order.kind in STOPS for order in (*open_orders, *before)),
        )
        check_position(wanted, rules.filters, account.total(symbol.base), open_orders)

    def reference(self, symbol: Symbol, now_ms: int) -> int | None:
        """Return the reference price of a symbol; None if it has none or does not trade."""
        engine = self.engine
        return engine.references.price(symbol, engine.crowd, now_ms) if symbol.trading else None

    def average(self, wanted: Wanted, now_ms: int) -> int:
        """Return the average price that filters use.

        Raises:
            Refusal: the market is closed.
        """
        symbol, rules = wanted.symbol, self.rules(wanted.symbol)
        average = self.reference(symbol, now_ms)
        if average is None and symbol.trading:
            average = self.engine.crowd.average(symbol, rules.average_minutes, now_ms)
        if average is None or rules.status != "TRADING":
            raise rejected("Market is closed.")
        return average

    def settled(self, account: Account, wanted: Wanted, now_ms: int) -> Wanted:
        """Return an order with its quantity and price. The book converts an amount of the quote asset, or a peg.

        Raises:
            Refusal: the book is too thin for that.
        """
        self.engine.settle(now_ms)
        if wanted.quote:
            self.average(wanted, now_ms)  # a closed market comes first
            order = LiveOrder(wanted=wanted, number=0, holder=account.holder, placed_ms=now_ms, updated_ms=now_ms)
            quantity = floored(self.engine.quantity_for(order, wanted.quote, now_ms), self.rules(wanted.symbol))
            if not quantity:
                raise rejected("Order book liquidity is less than `LOT_SIZE` filter minimum quantity.")
            wanted = replace(wanted, quantity=quantity)
        if wanted.peg is not None and not wanted.conditional:
            price = self.engine.pegged(wanted, wanted.peg, now_ms)
            if price is None:
                raise rejected("Order book liquidity is too low for this pegged order.")
            wanted = replace(wanted, price=price)
        return wanted

    def place(self, account: Account, wanted: Wanted, now_ms: int, *, by_hand: bool = False) -> LiveOrder:
        """Accept an order and match it.

        Raises:
            Refusal: it breaks a filter, or the engine rejects it.
        """
        wanted = self.settled(account, wanted, now_ms)
        self.check(account, wanted, now_ms)
        order = self.numbered(account, wanted, now_ms)
        try:
            self.judge_ids(account, [wanted.client_order_id])
            match, levels = self.meet(order, now_ms)
            needed = wanted.needs(wanted.quantity)
            if wanted.kind == "MARKET" and wanted.buys:
                needed = -(-match.value // UNIT)
            afford(account, wanted, needed)
        except Refusal as refusal:
            order.status = "REJECTED"
            self.records.tell(order, "REJECTED", now_ms, Detail(reject_reason=reject_reason(refusal)))
            raise
        self.accept(order, by_hand=by_hand)
        if wanted.kind != "MARKET":
            order.locked = wanted.needs(wanted.quantity)
            account.lock(wanted.locked_asset, order.locked)
        self.records.tell(order, "NEW", now_ms)
        self.start(order, match, levels, now_ms)
        self.engine.follow_up(now_ms)
        return order

    def numbered(self, account: Account, wanted: Wanted, now_ms: int) -> LiveOrder:
        """Return an order with the next order ID, without recording it."""
        self._next_order += 1
        return LiveOrder(
            wanted=wanted, number=self._next_order - 1, holder=account.holder, placed_ms=now_ms, updated_ms=now_ms
        )

    def accept(self, order: LiveOrder, *, by_hand: bool = False) -> None:
        """Record that an order was accepted."""
        self.records.orders[order.number] = order
        symbol, client_id = order.wanted.symbol.name, order.wanted.client_order_id
        self.accepted.append(Accepted(client_id, order.number, symbol, order.placed_ms, by_hand, order.holder))

    def start(self, order: LiveOrder, match: Match, levels: list[Level], now_ms: int) -> None:
        """Match an order, or let it wait for its trigger."""
        if order.waiting:
            self.engine.wait(order, now_ms)
        else:
            self.engine.execute(order, match, levels, now_ms)

    def cancel_all(self, account: Account, symbol: str, cancel_id: str, now_ms: int) -> list[Order]:
        """Cancel every open order of a symbol. Return each order without a list, and one order of each list.

        Raises:
            Refusal: none is open.
        """
        self.engine.settle(now_ms)
        gone: list[Order] = []
        while orders := self.records.open_orders(account.holder, symbol):
            first = orders[0]
            gone.append(self.cancel(account, Named(symbol, first.order_id, None), cancel_id, now_ms))
        if not gone:
            raise not_open()
        return gone

    def cancel(self, account: Account, named: Named, cancel_id: str, now_ms: int) -> Order:
        """Cancel an open order and return it. It is returned with its original client order ID.

        Raises:
            Refusal: no such order is open, or its status is not the required one.
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

    def judge_ids(self, account: Account, client_ids: list[str]) -> None:
        """Check that the account may trade and that its open orders have none of these client order IDs.

        Raises:
            Refusal: trading is disabled, or an ID is in use.
        """
        if not account.portfolio.can_trade:
            raise rejected("This action is disabled on this account.")
        taken = {order.client_order_id for order in self.records.open_orders(account.holder)}
        if len({*client_ids}) < len(client_ids) or not taken.isdisjoint(client_ids):
            raise rejected("Duplicate order sent.")

    def meet(self, order: LiveOrder, now_ms: int) -> tuple[Match, list[Level]]:
        """Return the match of an order at this time, without executing it.

        Raises:
            Refusal: a stop order would trigger immediately, or a LIMIT_MAKER would match.
        """
        wanted = order.wanted
        if wanted.conditional and wanted.stop and triggered(wanted, self.engine.crowd.last(wanted.symbol, now_ms) or 0):
            raise rejected("Order would trigger immediately.")
        match, levels = self.engine.match(order, now_ms)
        if wanted.kind == "LIMIT_MAKER" and (match.steps or match.beyond):
            raise rejected("Order would immediately match and take.")
        return match, levels


def floored(quantity: int, rules: SymbolRules) -> int:
    """Round a quantity down to the steps of a market order."""
    for entry in rules.filters:
        step = units(str(entry["stepSize"])) if entry["filterType"] in {"LOT_SIZE", "MARKET_LOT_SIZE"} else 0
        quantity -= quantity % step if step else 0
    return quantity


def afford(account: Account, wanted: Wanted, needed: int) -> None:
    """Check that an account has the amount for an order.

    Raises:
        Refusal: the free amount is too small.
    """
    if account.free(wanted.locked_asset) < needed:
        raise rejected("Account has insufficient balance for requested action.")


def reject_reason(refusal: Refusal) -> str:
    """Return the reject reason of a refusal, as in user events."""
    return REJECT_REASONS.get(refusal.message, "UNKNOWN_ERROR")
