"""Matching of paper orders with the exchange's trades and book. One process matches for all, one transaction per match.

Fills and the tape position (the last matched trade) are written together. If a process dies, the next process continues
from the written position, and no trade is matched twice. Queue positions are written with the next match, or once a
second. After a crash, the trades since then are replayed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from typing import NamedTuple, Protocol

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity
from mcp_binance_server.domain.reference_price import NO_REFERENCE, ReferencePrice
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.journal.store import Rows
from mcp_binance_server.trading.paper.account import Pair, PaperAccount
from mcp_binance_server.trading.paper.lists import TOO_LITTLE, exit_quantity, holding
from mcp_binance_server.trading.paper.market import PaperBook, PaperMarket
from mcp_binance_server.trading.paper.order import NONE, PaperFill, PaperOrder
from mcp_binance_server.trading.paper.store import PaperStore
from mcp_binance_server.trading.paper.tables import (
    PaperRow,
    SeenPrint,
    insert_fill,
    is_matcher,
    open_rows,
    read_account,
    received_by,
    release_matcher,
    set_aside,
    take_matcher,
    tape_seen,
    write_account,
    write_order,
    write_tape_seen,
)

LEASE_MS = 2_000
# Checkpoint interval for the queue positions of idle orders, in ms. They are not written with each trade.
FLUSH_MS = 1_000
NOT_WATCHED = "not_watched"


class LeaseLost(Exception):
    """Loss of the lease, because another process matches now. The results of this process are dropped."""


class _Mark(NamedTuple):
    """Written state of an order: the fields that its owner sees, the queue position, and the best price for a stop."""

    told: tuple[str, Quantity, bool]
    ahead: Quantity | None
    best: Price | None

    @classmethod
    def of(cls, order: PaperOrder) -> "_Mark":
        return cls((order.status, order.filled, order.is_triggered), order.ahead, order.best)


@dataclass(eq=False)
class SymbolMatcher:
    """Orders of all accounts on one symbol, in the process that matches them.

    After a failed write, this object is ahead of the tables and must be loaded again.
    """

    symbol: Symbol
    pair: Pair
    store: PaperStore
    start: Mapping[str, Decimal]
    rates: Commission
    token: int
    book: PaperBook
    step: Quantity = NONE
    """Lot step: quantities on this symbol are whole multiples of it."""
    seen: SeenPrint | None = None
    """Last trade that was matched with the orders in the market; None if there was none."""
    _markets: dict[str, PaperMarket] = field(default_factory=dict[str, PaperMarket])
    _known: dict[int, PaperRow] = field(default_factory=dict[int, PaperRow])
    _written: dict[int, _Mark] = field(default_factory=dict[int, _Mark])
    _written_seen: SeenPrint | None = None
    _written_ms: int = 0
    _last: Price | None = None
    _reference: ReferencePrice = NO_REFERENCE

    @property
    def has_orders(self) -> bool:
        return bool(self._orders())

    @property
    def is_watching(self) -> bool:
        """Whether an order is in the market, so that no trade may be missed."""
        return any(each.is_in_market for each in self._orders())

    @property
    def next_arrival_ms(self) -> int | None:
        """Arrival time of the next order in transit, in ms; None if there is none."""
        return min((each.arrives_ms for each in self._orders() if each.is_on_its_way), default=None)

    @property
    def has_stops(self) -> bool:
        """Whether a stop waits for its trigger. When triggered, a stop takes from the book."""
        return any(each.is_stop and each.is_in_market for each in self._orders())

    async def load(self) -> None:
        """Load the open orders, and the tape position up to which they were matched."""

        def work(rows: Rows) -> tuple[list[PaperRow], SeenPrint | None]:
            return open_rows(rows, symbol=self.symbol), tape_seen(rows, self.symbol)

        found, self.seen = await self.store.read(work)
        self._written_seen = self.seen
        self._markets.clear()
        self._known.clear()
        self._written.clear()
        self._learn(found)

    async def look(self) -> frozenset[str]:
        """Add new orders and remove cancelled ones. Return the accounts of the cancelled orders."""
        return self._learn(await self.store.read(lambda rows: open_rows(rows, symbol=self.symbol)))

    def skip_to(self, newest: Trade) -> None:
        """Move the tape position to a trade, but do not match this trade."""
        self.seen = SeenPrint(newest.trade_id, newest.time_ms)
        self.last_was(newest)

    def last_was(self, newest: Trade) -> None:
        """Set the last price. The orders of a list must lie on both sides of it."""
        self._last = newest.price
        for market in self._markets.values():
            market.last = newest.price

    def reference_is(self, reference: ReferencePrice) -> None:
        """Set the reference price of the exchange, with its price range."""
        self._reference = reference
        for market in self._markets.values():
            market.reference = reference

    async def meet(self, trades: Sequence[Trade], now_ms: int, *, is_replay: bool = False) -> frozenset[str]:
        """Match trades and the current book with all orders, and write the result. Return the accounts with changes.

        In a replay of missed trades no order takes from the book, because the book of that time is unknown.

        Raises:
            LeaseLost: another process matches now; nothing was written.
        """
        changed, tape, is_over = frozenset[str](), iter(trades), False
        while not is_over:
            orders = self._orders()
            with localcontext(prec=EXACT_DIGITS):
                fills, is_over = self._met(tape, now_ms, is_replay=is_replay)
            changed |= await self._write(orders, fills, now_ms)
        return changed

    async def expire_unwatched(self, newest: Trade, now_ms: int) -> frozenset[str]:
        """Expire the orders in the market, because too many trades were missed. Return their accounts.

        Raises:
            LeaseLost: another process matches now; nothing was written.
        """
        orders = self._orders()
        for market in self._markets.values():
            market.end_unwatched(NOT_WATCHED)
        self.skip_to(newest)
        return await self._write(orders, [], now_ms)

    def _orders(self) -> list[PaperOrder]:
        return [order for market in self._markets.values() for order in (*market.waiting, *market.resting)]

    def _learn(self, rows: Iterable[PaperRow]) -> frozenset[str]:
        found = {each.order.order_id: each for each in rows}
        gone = {order_id: row.account for order_id, row in self._known.items() if order_id not in found}
        for order_id, account in gone.items():
            self._markets[account].cancel(order_id)
            self._forget(order_id)
        for order in self._orders():
            order.quantity = found[order.order_id].order.quantity  # the order may have been reduced
        for order_id, row in found.items():
            if order_id not in self._known:
                self._known[order_id] = row
                market = self._markets.setdefault(row.account, self._new_market())
                order = row.to_paper()
                self._written[order_id] = _Mark.of(order)
                is_waiting = not order.is_in_market or (order.is_stop and not order.is_triggered)
                (market.waiting if is_waiting else market.resting).append(order)
        return frozenset(gone.values())

    def _new_market(self) -> PaperMarket:
        return PaperMarket(self.book, last=self._last, reference=self._reference)

    def _forget(self, order_id: int) -> None:
        del self._known[order_id], self._written[order_id]

    def _met(self, tape: Iterator[Trade], now_ms: int, *, is_replay: bool) -> tuple[list[PaperFill], bool]:
        """Match trades until an entry of a list is filled.

        Its exits must be paid for before the next trade. Return the fills, and whether all trades were matched.
        """
        fills: list[PaperFill] = []
        markets = self._markets.values()
        for trade in tape:
            amounts = trade.price, trade.quantity
            for market in markets:
                fills += market.trade(
                    trade.time_ms,
                    trade.trade_id,
                    *amounts,
                    buyer_is_maker=trade.buyer_is_maker,
                    takes=not is_replay,
                )
            self.skip_to(trade)
            if any(market.filled_entries for market in markets):
                for market in markets:
                    market.start(trade.time_ms, takes=not is_replay)
                return fills, False
        if not is_replay:
            for market in markets:
                market.shown()
                fills += market.advance(now_ms)
                market.start(now_ms, takes=True)
        return fills, True

    async def _write(self, orders: list[PaperOrder], fills: list[PaperFill], now_ms: int) -> frozenset[str]:
        marks = {each.order_id: _Mark.of(each) for each in orders}
        changed = {each.order_id: each for each in orders if marks[each.order_id] != self._written[each.order_id]}
        news = [each for each in changed.values() if marks[each.order_id].told != self._written[each.order_id].told]
        has_moved = bool(changed) or (self.is_watching and self.seen != self._written_seen)
        if not news and not (has_moved and now_ms - self._written_ms >= FLUSH_MS):
            return frozenset()

        set_back = _setting_back([*changed.values()])

        def work(rows: Rows) -> None:
            if not is_matcher(rows, self.token):
                raise LeaseLost
            set_back()  # the work can run again, on rows that have changed
            # An order that was cancelled in the meantime is gone, with the rest of its list: the cancel came first.
            with localcontext(prec=EXACT_DIGITS):
                for together in _together(open_rows(rows, symbol=self.symbol)):
                    if any(row.order.order_id in changed for row in together):
                        self._settle(rows, together, changed, fills, now_ms)
            if self.seen is not None:
                write_tape_seen(rows, self.symbol, self.seen)

        await self.store.write(work)
        for market in self._markets.values():
            market.drop_over()
        self._written.update({each.order_id: _Mark.of(each) for each in orders})
        self._written_seen, self._written_ms = self.seen, now_ms
        accounts = frozenset(self._known[each.order_id].account for each in news)
        for order in news:
            if not order.is_open:
                self._forget(order.order_id)
        return accounts

    def _settle(
        self,
        rows: Rows,
        together: list[PaperRow],
        changed: Mapping[int, PaperOrder],
        fills: list[PaperFill],
        now_ms: int,
    ) -> None:
        """Settle the funds of an order, or of all orders of a list, and record their state."""
        account, found = together[0].account, [row.to_paper() for row in together]
        now = [changed.get(each.order_id, each) for each in found]
        holds = read_account(rows, account, self.start)
        before = holds.balances
        given = {each.order_id: _given(each, row, fills) for each, row in zip(now, together, strict=True)}
        holds.release(self.pair, *holding(found))
        holds.free_again(self.pair.base, set_aside(rows, found))
        for was, order, row in zip(found, now, together, strict=True):
            if own := given[order.order_id]:
                holds.hold(self.pair, was)
                for fill in own:
                    commission = holds.settle(order, fill, self.pair, self.rates)
                    asset = self.pair.base if order.side == "BUY" else self.pair.quote
                    insert_fill(rows, row, fill, commission, asset)
                holds.release(self.pair, order)
        starting = [order for was, order in zip(found, now, strict=True) if was.awaits_entry and order.is_in_market]
        if starting and (refusal := self._cannot_pay(rows, found[0].order_id, starting, holds)):
            for order in starting:
                order.status, order.reason = "EXPIRED", refusal
        holds.hold(self.pair, *holding(now))
        holds.set_aside(self.pair.base, set_aside(rows, now))
        if holds.balances != before:
            write_account(rows, account, holds)
        for order, row in zip(now, together, strict=True):
            if order.order_id in changed:
                write_order(rows, order, _spent(row, given[order.order_id]), now_ms)

    def _cannot_pay(self, rows: Rows, entry_id: int, exits: list[PaperOrder], holds: PaperAccount) -> str:
        """Set the quantity of the exits of a filled entry.

        Return the reason if the account cannot pay for them, otherwise "".
        """
        quantity = exit_quantity(exits, received_by(rows, entry_id), self.step)
        if not quantity:
            return TOO_LITTLE
        for order in exits:
            order.quantity = quantity
        try:
            holds.hold(self.pair, *exits)
        except InsufficientBalance as error:
            return error.message
        holds.release(self.pair, *exits)
        return ""


def _setting_back(orders: Sequence[PaperOrder]) -> Callable[[], None]:
    """Return a function that restores the present state of the orders. Call it before any payment."""
    now = [(each.quantity, each.filled, each.status, each.reason) for each in orders]

    def set_back() -> None:
        for order, was in zip(orders, now, strict=True):
            order.quantity, order.filled, order.status, order.reason = was

    return set_back


def _together(rows: Iterable[PaperRow]) -> Iterable[list[PaperRow]]:
    """Group the orders by list, each with its entry first. A single order is a group."""
    found: dict[tuple[str, str | int], list[PaperRow]] = {}
    for row in rows:
        found.setdefault((row.account, row.part.list_id if row.part else row.order.order_id), []).append(row)
    return found.values()


def _given(order: PaperOrder, row: PaperRow, fills: Iterable[PaperFill]) -> list[PaperFill]:
    """Return the fills of an order. If the order was reduced in between, drop fills beyond its quantity."""
    own = [each for each in fills if each.order_id == order.order_id]
    if row.part is not None or row.order.quantity == order.quantity:
        return own
    order.quantity, order.filled = row.order.quantity, row.order.executed
    kept: list[PaperFill] = []
    for fill in own:
        if order.left:
            kept.append(replace(fill, quantity=min(fill.quantity, order.left)))
            order.filled = Quantity(order.filled + kept[-1].quantity)
    if not order.left:
        order.status = "FILLED"
    return kept


def _spent(row: PaperRow, fills: list[PaperFill]) -> Quantity:
    return Quantity(row.order.quote_spent + sum(each.price * each.quantity for each in fills))


class MatchingRight(Protocol):
    """Lease to match orders for all processes.

    One process holds the lease; the fencing token increases with each new holder.
    """

    async def take(self, owner: str, now_ms: int, /) -> int | None:
        """Acquire or renew the lease. Return None while another process holds it."""
        ...

    async def give_back(self, token: int, /) -> None:
        """Release the lease, so that another process need not wait for its expiry."""
        ...


@dataclass(frozen=True, slots=True)
class RowRight:
    """Matching lease in a table, for processes that share one file and one machine's clock."""

    store: PaperStore

    async def take(self, owner: str, now_ms: int, /) -> int | None:
        return await matcher_token(self.store, owner, now_ms)

    async def give_back(self, token: int, /) -> None:
        await let_go(self.store, token)


async def matcher_token(store: PaperStore, owner: str, now_ms: int) -> int | None:
    """Acquire or renew the matching lease. Return None while another process holds it."""
    return await store.write(lambda rows: take_matcher(rows, owner, now_ms, LEASE_MS))


async def let_go(store: PaperStore, token: int) -> None:
    """Release the matching lease, so that another process need not wait for its expiry."""
    await store.write(lambda rows: release_matcher(rows, token))
