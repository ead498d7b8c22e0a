"""The matching engine.

It matches clients' orders with each other and with the simulated market, and records executions.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from binance_simulator.market.listing import UNIT, Listing, Symbol, decimal_string
from binance_simulator.market.portfolio import Fill
from binance_simulator.market.synthetic import Market
from binance_simulator.orders.counts import OrderLedger
from binance_simulator.orders.crowd_view import CrowdView, Print
from binance_simulator.orders.execution import Prevention
from binance_simulator.orders.lists import OrderList
from binance_simulator.orders.matching import Level, Match, MatchingBook, Resting, Step, Taker
from binance_simulator.orders.order import LiveOrder, Peg, Wanted
from binance_simulator.orders.records import Detail, OrderRecords
from binance_simulator.orders.references import References
from binance_simulator.orders.shown import ShownOrders

FIRST_TRADE_ID = 8_000_000_000_001  # above the trade IDs of the public tape, which has no trades of accounts
COMMISSION_SHARE = 1_000  # one thousandth of the received amount
UNFILLED_IOC = "UNFILLED_IOC_QUANTITY_EXPIRED"
UNFILLED_FOK = "UNFILLED_FOK_ORDER_EXPIRED"
NO_LIQUIDITY = "INSUFFICIENT_LIQUIDITY"
OUT_OF_RANGE = "EXECUTION_RULE_PRICE_RANGE_EXCEEDED"
OTHER_BEGAN = "OCO_TRIGGER"
NEVER_BEGAN = "OTO_PHASE_ONE_EXPIRED"
REFUSED_LATER = "REJECTED"

Release = Callable[[OrderList, int], None]


class OrderEngine:
    """Matching engine with the books of all symbols.

    Nothing runs in the background: `settle` processes the market up to a time. The result does not depend on the
    number of calls, because the market's trades depend only on seed and time. The exception is a replay or an
    additional symbol. Its book can move without trades, and only its state at a call counts.
    """

    def __init__(self, listing: Listing, records: OrderRecords, ledger: OrderLedger) -> None:
        self.crowd: CrowdView
        self.shown = ShownOrders()
        self.references = References()
        self._listing = listing
        self._records = records
        self._ledger = ledger
        self._books: dict[str, MatchingBook] = {}
        self._seen_ms: dict[str, int] = {}
        self._ended: list[OrderList] = []
        self.on_release: Release
        """Callback for a filled working order: puts the pending orders of its list on the book."""
        self._next_trade = FIRST_TRADE_ID
        self._next_match = 1

    def follow(self, market: Market) -> None:
        """Switch to another market."""
        self.crowd = CrowdView(market)

    def wipe(self) -> None:
        """Empty every book."""
        self._books.clear()
        self._seen_ms.clear()
        self.shown.wipe()

    def book(self, symbol: Symbol) -> MatchingBook:
        """Return the book of a symbol."""
        return self._books.setdefault(symbol.name, MatchingBook())

    def settle(self, now_ms: int) -> None:
        """Apply the market's trades up to now to every book."""
        for name, book in list(self._books.items()):
            symbol, seen_ms = self._listing.symbols.get(name), self._seen_ms.get(name, now_ms)
            if symbol is None or now_ms <= seen_ms:
                continue
            self._seen_ms[name] = now_ms
            if not book.orders and not self._waiting(symbol):
                continue
            for one in self.crowd.prints(symbol, seen_ms, now_ms, partial(self._matters, symbol)):
                self.strike(symbol, one)
            top = self.crowd.top(symbol, now_ms) if self.crowd.has_source(symbol) else None
            if top is not None:
                self._serve(symbol, book.meet(*top), now_ms)
                self.follow_up(now_ms)

    def strike(self, symbol: Symbol, one: Print) -> None:
        """Apply one market trade to a symbol's book, and trigger the stop orders that it reaches."""
        self._serve(symbol, self.book(symbol).strike(one.price, one.quantity, sold=one.sold), one.at_ms)
        for order in self._waiting(symbol):
            if order.waiting and _struck(order, one):
                order.triggered_ms = order.updated_ms = one.at_ms
                self._begin(order, one.at_ms)
                self._activate(order, one.at_ms)
        self.follow_up(one.at_ms)

    def _activate(self, order: LiveOrder, now_ms: int) -> None:
        """Match a triggered order. An order whose price is only known now expires if the account cannot pay."""
        if order.wanted.peg is not None:
            price = self.pegged(order.wanted, order.wanted.peg, now_ms)
            if price is None:
                self.expire(order, NO_LIQUIDITY, now_ms)
                return
            order.wanted = replace(order.wanted, price=price)
        match, levels = self.match(order, now_ms)
        cost = -(-match.value // UNIT) if order.wanted.at_market else order.needed
        account = self._records.account_of(order.holder)
        if order.wanted.buys and account.free(order.wanted.symbol.quote) + order.locked < cost:
            self.expire(order, REFUSED_LATER, now_ms)
            return
        self._records.unlock(order)
        self._records.tell(order, "NEW", now_ms)
        self.execute(order, match, levels, now_ms)

    def pegged(self, wanted: Wanted, peg: Peg, now_ms: int) -> int | None:
        """Return the price that an order is pegged to; None if the book has no such level."""
        buys, level = wanted.buys == peg.same_side, peg.level or 0
        own = {order.price for order in self.book(wanted.symbol).side(buys=buys)}
        crowd = {price for price, _ in self.crowd.side(wanted.symbol, level + 1, now_ms, buys=buys)}
        prices = sorted(own | crowd, reverse=buys)
        if len(prices) <= level:
            return None
        best = prices[level]
        return best if not peg.limit else min(best, peg.limit) if wanted.buys else max(best, peg.limit)

    def quantity_for(self, order: LiveOrder, quote: int, now_ms: int) -> int:
        """Return the quantity to buy or to sell for an amount of the quote asset, at this time."""
        last = self.crowd.last(order.wanted.symbol, now_ms)
        if not last:
            return 0
        guess = max(1, quote * UNIT // last)
        while True:
            order.wanted = replace(order.wanted, quantity=guess)
            match, _ = self.match(order, now_ms)
            if match.value >= quote * UNIT or match.left or match.expired:
                return _worth(match, quote * UNIT)
            guess *= 2

    def follow_up(self, now_ms: int) -> None:
        """Release or expire the pending orders of lists whose working order has ended.

        This happens after all other steps are done.
        """
        while self._ended:
            listed = self._ended.pop(0)
            if listed.working is not None and listed.working.status == "FILLED":
                self.on_release(listed, now_ms)
                continue
            self._records.unreserve(listed)
            for order in listed.pending:
                self.expire(order, NEVER_BEGAN, now_ms)

    def match(self, order: LiveOrder, now_ms: int) -> tuple[Match, list[Level]]:
        """Return the match of an order at this time, and the crowd's levels used for it."""
        wanted = order.wanted
        least, most = self.references.limits(wanted.symbol, self.crowd, now_ms, buys=wanted.buys)
        taker = replace(_taker(order), least=least, most=most)
        levels = self.crowd.levels(wanted.symbol, taker, now_ms)
        return self.book(order.wanted.symbol).match(taker, levels), levels

    def execute(self, order: LiveOrder, match: Match, levels: list[Level], now_ms: int) -> None:
        """Execute a match. The rest of the order enters the book or ends."""
        wanted, book = order.wanted, self.book(order.wanted.symbol)
        self._seen_ms.setdefault(wanted.symbol.name, now_ms)
        if wanted.time_in_force == "FOK" and match.traded < wanted.quantity:
            self.expire(order, OUT_OF_RANGE if match.beyond else UNFILLED_FOK, now_ms)
            return
        book.commit(_taker(order), match, levels)
        for step in match.steps:
            if step.prevented:
                self._prevent(order, step, now_ms)
            else:
                self._trade(order, step, now_ms)
        if not order.open:
            self._publish(wanted.symbol, now_ms)
            return
        if match.beyond:
            self.expire(order, OUT_OF_RANGE, now_ms)
        elif wanted.at_market or wanted.time_in_force == "IOC":
            self.expire(order, NO_LIQUIDITY if wanted.at_market else UNFILLED_IOC, now_ms)
        else:
            ahead = self.crowd.ahead(wanted.symbol, wanted.price, now_ms, buys=wanted.buys)
            resting = Resting(
                order.number, order.holder, wanted.buys, wanted.price, order.left, ahead, iceberg=wanted.iceberg
            )
            book.rest(resting)
            self._publish(wanted.symbol, now_ms)

    def wait(self, order: LiveOrder, now_ms: int) -> None:
        """Register a stop order, which waits for its trigger."""
        self.book(order.wanted.symbol)
        self._seen_ms.setdefault(order.wanted.symbol.name, now_ms)

    def cancel(self, order: LiveOrder, cancel_id: str, now_ms: int) -> None:
        """Cancel an open order, and all open orders of its list."""
        listed = self._records.lists.get(order.list_id)
        if listed is not None:
            self._records.unreserve(listed)
        for one in [order] if listed is None else [one for one in listed.orders if one.open]:
            self._end(one, "CANCELED", now_ms)
            self._records.tell(one, "CANCELED", now_ms, Detail(cancel_id=cancel_id))

    def resize(self, order: LiveOrder, now_ms: int) -> None:
        """Set an order in the book to its new smaller quantity. It keeps its place in the queue."""
        resting = self.book(order.wanted.symbol).orders.get(order.number)
        if resting is not None:
            resting.left = order.left
            self._publish(order.wanted.symbol, now_ms)

    def _matters(self, symbol: Symbol, low: int, high: int) -> bool:
        resting = self.book(symbol).orders.values()
        if any(order.price >= low if order.buys else order.price <= high for order in resting):
            return True
        return any(_moves(order, end) for order in self._waiting(symbol) for end in (low, high))

    def _waiting(self, symbol: Symbol) -> list[LiveOrder]:
        orders = self._records.orders.values()
        return [order for order in orders if order.waiting and order.wanted.symbol.name == symbol.name]

    def _serve(self, symbol: Symbol, fills: list[Level], now_ms: int) -> None:
        if fills:
            self._publish(symbol, now_ms)
        for number, quantity in fills:
            order = self._records.orders[number]
            self._fill(order, order.wanted.price, quantity, now_ms, trade=self._new_trade(), maker=True)

    def _trade(self, order: LiveOrder, step: Step, now_ms: int) -> None:
        trade = self._new_trade()
        if step.maker is not None:
            maker = self._records.orders[step.maker.number]
            self._fill(maker, step.price, step.traded, now_ms, trade=trade, maker=True)
        self._fill(order, step.price, step.traded, now_ms, trade=trade, maker=False)

    def _fill(self, order: LiveOrder, price: int, quantity: int, now_ms: int, *, trade: int, maker: bool) -> None:
        wanted, value = order.wanted, price * quantity // UNIT
        if not order.executed:
            self._ledger.give_back(order.holder, now_ms)
            self._begin(order, now_ms)
        order.executed += quantity
        order.value += value
        order.updated_ms = now_ms
        order.status = "PARTIALLY_FILLED" if order.left else "FILLED"
        received, asset = (quantity, wanted.symbol.base) if wanted.buys else (value, wanted.symbol.quote)
        fill = Fill(
            symbol=wanted.symbol.name,
            trade_id=trade,
            order_id=order.number,
            price=decimal_string(price),
            quantity=decimal_string(quantity),
            value=decimal_string(value),
            commission=decimal_string(received // COMMISSION_SHARE),
            commission_asset=asset,
            time_ms=now_ms,
            buyer=wanted.buys,
            maker=maker,
            list_id=order.list_id,
        )
        self._records.unlock(order)
        self._records.pay(order, fill)
        self._records.tell(order, "TRADE", now_ms, Detail(fill=fill))
        self._note_end(order)

    def _begin(self, order: LiveOrder, now_ms: int) -> None:
        """End the other order of a pair when this one trades or triggers.

        This order takes over the locked amount of both.
        """
        listed = self._records.lists.get(order.list_id)
        other = None if listed is None else listed.partner(order)
        if other is not None and other.open:
            order.locked, other.locked = order.locked + other.locked, 0
            self._records.unlock(order)
            self.expire(other, OTHER_BEGAN, now_ms)

    def _note_end(self, order: LiveOrder) -> None:
        listed = self._records.lists.get(order.list_id)
        if listed is not None and listed.working is order and not order.open:
            self._ended.append(listed)

    def _prevent(self, order: LiveOrder, step: Step, now_ms: int) -> None:
        if step.maker is None:
            return
        match, maker = self._next_match, self._records.orders[step.maker.number]
        self._next_match += 1
        for one, amount, other, other_amount in (
            (maker, step.maker_prevented, order, step.taker_prevented),
            (order, step.taker_prevented, maker, step.maker_prevented),
        ):
            if not amount:
                continue
            self._begin(one, now_ms)
            one.prevented += amount
            one.prevented_match_id, one.updated_ms = match, now_ms
            if not one.left:
                one.status = "EXPIRED_IN_MATCH"
            self._records.unlock(one)
            prevention = Prevention(
                match_id=match,
                prevented=decimal_string(one.prevented),
                last_prevented=decimal_string(amount),
                trade_group_id=-1,
                other_order_id=other.number,
                other_symbol=other.wanted.symbol.name,
                other_prevented=decimal_string(other_amount),
                other_price=decimal_string(step.price),
                other_value=decimal_string(step.price * other_amount // UNIT),
                taker=one is order,
            )
            self._records.tell(one, "TRADE_PREVENTION", now_ms, Detail(prevention=prevention))
            self._note_end(one)

    def expire(self, order: LiveOrder, reason: str | None, now_ms: int) -> None:
        """Expire an order because of a rule of the exchange."""
        order.expiry_reason = reason
        self._end(order, "EXPIRED", now_ms)
        self._records.tell(order, "EXPIRED", now_ms)
        self._note_end(order)

    def _end(self, order: LiveOrder, status: str, now_ms: int) -> None:
        order.status, order.updated_ms = status, now_ms
        self.book(order.wanted.symbol).orders.pop(order.number, None)
        self._publish(order.wanted.symbol, now_ms)
        self._records.unlock(order)

    def _publish(self, symbol: Symbol, now_ms: int) -> None:
        if not self.crowd.has_source(symbol):
            self.shown.publish(symbol, self.book(symbol).orders.values(), now_ms)

    def _new_trade(self) -> int:
        self._next_trade += 1
        return self._next_trade - 1


def triggered(wanted: Wanted, price: int) -> bool:
    """Return whether a trade at a price meets the stop price of an order."""
    return price >= wanted.stop if wanted.rises else price <= wanted.stop


def _struck(order: LiveOrder, one: Print) -> bool:
    """Apply a trade to a waiting order. Return whether it triggers the order.

    A purchase with a delta triggers on a rise, a sale on a fall. Such an order tracks the trades from its stop price
    on, without a stop price from the next trade on.

    https://github.com/binance/binance-spot-api-docs/blob/master/faqs/trailing-stop-faq.md
    """
    wanted = order.wanted
    if not wanted.trailing:
        return triggered(wanted, one.price)
    if order.tracked_ms is None:
        if wanted.stop and not triggered(wanted, one.price):
            return False
        order.tracked_ms, order.extreme = one.at_ms, one.price
        return False
    if one.price < order.extreme if wanted.buys else one.price > order.extreme:
        order.extreme = one.price
        return False
    return _distance(order, one.price) >= order.extreme * wanted.trailing


def _distance(order: LiveOrder, price: int) -> int:
    """Return how far a price has turned from the extreme of an order, in basis points times the extreme."""
    return abs(price - order.extreme) * 10_000


def _moves(order: LiveOrder, price: int) -> bool:
    """Return whether a trade at a price would change or trigger a waiting order."""
    wanted = order.wanted
    if not wanted.trailing:
        return triggered(wanted, price)
    if order.tracked_ms is None:
        return not wanted.stop or triggered(wanted, price)
    is_better = price < order.extreme if wanted.buys else price > order.extreme
    return is_better or _distance(order, price) >= order.extreme * wanted.trailing


def _worth(match: Match, value: int) -> int:
    """Return the quantity of a match up to a value (price times quantity)."""
    quantity = 0
    for step in match.steps:
        taken = min(step.traded, value // step.price)
        quantity, value = quantity + taken, value - taken * step.price
        if taken < step.traded:
            break
    return quantity


def _taker(order: LiveOrder) -> Taker:
    wanted = order.wanted
    return Taker(order.holder, wanted.buys, wanted.price or None, order.left, wanted.self_trade)
