"""Orders on paper, met by what the exchange shows: one process matches for all, and each match is one transaction.

What an order got, and how far on the tape it has met the market, are written together: a process that dies at any
moment leaves a state from which the next one goes on, and no print is given twice. Where an order stands in its queue
is written with the next match, or once a second: the prints since are met again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import NamedTuple

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.market import PENDING, PaperBook, PaperFill, PaperMarket, PaperOrder
from mcp_binance_server.trading.paper.tables import (
    PaperRow,
    SeenPrint,
    insert_fill,
    is_matcher,
    open_rows,
    read_account,
    release_matcher,
    take_matcher,
    tape_seen,
    write_account,
    write_order,
    write_tape_seen,
)

LEASE_MS = 2_000
# So often, and not with each print, it is written down where orders stand that nothing happened to.
FLUSH_MS = 1_000
NOT_WATCHED = "not_watched"


class TookOver(Exception):
    """Another process matches now; what was found here is forgotten."""


class _Mark(NamedTuple):
    """What of an order is written: what its owner is told, and where it stands in the queue."""

    told: tuple[str, Quantity, bool]
    ahead: Quantity | None

    @classmethod
    def of(cls, order: PaperOrder) -> "_Mark":
        return cls((order.status, order.filled, order.is_triggered), order.ahead)


@dataclass(eq=False)
class SymbolMatcher:
    """The orders of every account on one symbol, in the process that matches.

    Once a write has failed, what is known here is more than what is written: it is to be loaded again.
    """

    symbol: Symbol
    pair: Pair
    store: Store
    start: Mapping[str, Decimal]
    rates: Commission
    token: int
    book: PaperBook
    seen: SeenPrint | None = None
    """The last print that the orders in the market have met; None where there never was one."""
    _markets: dict[str, PaperMarket] = field(default_factory=dict[str, PaperMarket])
    _known: dict[int, PaperRow] = field(default_factory=dict[int, PaperRow])
    _written: dict[int, _Mark] = field(default_factory=dict[int, _Mark])
    _written_seen: SeenPrint | None = None
    _written_ms: int = 0

    @property
    def has_orders(self) -> bool:
        return bool(self._orders())

    @property
    def is_watching(self) -> bool:
        """Whether an order is in the market, and no print may be missed."""
        return any(each.status != PENDING for each in self._orders())

    @property
    def next_arrival_ms(self) -> int | None:
        """When the next order arrives that is on its way."""
        return min((each.arrives_ms for each in self._orders() if each.status == PENDING), default=None)

    async def load(self) -> None:
        """Read the orders as they stand, and how far on the tape they have been met."""

        def work(rows: Rows) -> tuple[list[PaperRow], SeenPrint | None]:
            return open_rows(rows, symbol=self.symbol), tape_seen(rows, self.symbol)

        found, self.seen = await self.store.read(work)
        self._written_seen = self.seen
        self._markets.clear()
        self._known.clear()
        self._written.clear()
        self._learn(found)

    async def look(self) -> frozenset[str]:
        """Learn of orders that were placed, forget those that were cancelled; return the accounts of these."""
        return self._learn(await self.store.read(lambda rows: open_rows(rows, symbol=self.symbol)))

    def skip_to(self, newest: Trade) -> None:
        """Take note of a print that no order was in the market for."""
        self.seen = SeenPrint(newest.trade_id, newest.time_ms)

    async def meet(self, trades: Sequence[Trade], now_ms: int, *, is_replay: bool = False) -> frozenset[str]:
        """Let prints and the present book reach every order; write down what came of it, return whose orders changed.

        A replay is of prints that were missed: the book that stood then is gone, so nobody takes from this one.

        Raises:
            TookOver: another process matches now; nothing was written.
        """
        orders = self._orders()
        fills: list[PaperFill] = []
        with localcontext(prec=EXACT_DIGITS):
            for market in self._markets.values():
                fills += self._met(market, trades, now_ms, is_replay=is_replay)
        if trades:
            self.skip_to(trades[-1])
        return await self._write(orders, fills, now_ms)

    async def expire_unwatched(self, newest: Trade, now_ms: int) -> frozenset[str]:
        """End what was in the market while too much of the tape was missed; return whose orders these were.

        Raises:
            TookOver: another process matches now; nothing was written.
        """
        orders = [each for each in self._orders() if each.status != PENDING]
        for market in self._markets.values():
            for order in orders:
                market.cancel(order.order_id)
        for order in orders:
            order.status = "EXPIRED"
        self.skip_to(newest)
        return await self._write(orders, [], now_ms, NOT_WATCHED)

    def _orders(self) -> list[PaperOrder]:
        return [order for market in self._markets.values() for order in (*market.waiting, *market.resting)]

    def _learn(self, rows: Iterable[PaperRow]) -> frozenset[str]:
        found = {each.order.order_id: each for each in rows}
        gone = {order_id: row.account for order_id, row in self._known.items() if order_id not in found}
        for order_id, account in gone.items():
            self._markets[account].cancel(order_id)
            self._forget(order_id)
        for order_id, row in found.items():
            if order_id not in self._known:
                self._known[order_id] = row
                market = self._markets.setdefault(row.account, PaperMarket(self.book))
                order = row.to_paper()
                self._written[order_id] = _Mark.of(order)
                is_waiting = order.status == PENDING or (order.stop_price is not None and not order.is_triggered)
                (market.waiting if is_waiting else market.resting).append(order)
        return frozenset(gone.values())

    def _forget(self, order_id: int) -> None:
        del self._known[order_id], self._written[order_id]

    def _met(
        self, market: PaperMarket, trades: Sequence[Trade], now_ms: int, *, is_replay: bool
    ) -> Iterator[PaperFill]:
        for trade in trades:
            amounts = trade.price, trade.quantity
            yield from market.trade(
                trade.time_ms,
                trade.trade_id,
                *amounts,
                buyer_is_maker=trade.buyer_is_maker,
                takes=not is_replay,
            )
        if not is_replay:
            market.shown()
            yield from market.advance(now_ms)

    async def _write(
        self, orders: list[PaperOrder], fills: list[PaperFill], now_ms: int, reason: str = ""
    ) -> frozenset[str]:
        marks = {each.order_id: _Mark.of(each) for each in orders}
        changed = [each for each in orders if marks[each.order_id] != self._written[each.order_id]]
        news = [each for each in changed if marks[each.order_id].told != self._written[each.order_id].told]
        has_moved = bool(changed) or (self.is_watching and self.seen != self._written_seen)
        if not news and not (has_moved and now_ms - self._written_ms >= FLUSH_MS):
            return frozenset()

        def work(rows: Rows) -> None:
            if not is_matcher(rows, self.token):
                raise TookOver
            standing = {each.order.order_id: each for each in open_rows(rows, symbol=self.symbol)}
            with localcontext(prec=EXACT_DIGITS):
                for order in changed:
                    # One that was cancelled meanwhile is not there any more: the cancel was first.
                    if (row := standing.get(order.order_id)) is not None:
                        own = [each for each in fills if each.order_id == order.order_id]
                        self._settle(rows, order, row, own)
                        write_order(rows, order, _spent(row, own), now_ms, reason)
            if self.seen is not None:
                write_tape_seen(rows, self.symbol, self.seen)

        await self.store.write(work)
        self._written.update(marks)
        self._written_seen, self._written_ms = self.seen, now_ms
        accounts = frozenset(self._known[each.order_id].account for each in news)
        for order in news:
            if not order.is_open:
                self._forget(order.order_id)
        return accounts

    def _settle(self, rows: Rows, order: PaperOrder, row: PaperRow, fills: list[PaperFill]) -> None:
        account = row.account
        holds = read_account(rows, account, self.start)
        for fill in fills:
            commission = holds.settle(order, fill, self.pair, self.rates)
            asset = self.pair.base if order.side == "BUY" else self.pair.quote
            insert_fill(rows, row, fill, commission, asset)
        if not order.is_open:
            holds.release(order, self.pair)
        if fills or not order.is_open:
            write_account(rows, account, holds)


def _spent(row: PaperRow, fills: list[PaperFill]) -> Quantity:
    return Quantity(row.order.quote_spent + sum(each.price * each.quantity for each in fills))


async def matcher_token(store: Store, owner: str, now_ms: int) -> int | None:
    """Take or keep the right to match; None while another process has it."""
    return await store.write(lambda rows: take_matcher(rows, owner, now_ms, LEASE_MS))


async def let_go(store: Store, token: int) -> None:
    """Give the right back, so that another need not wait for its end."""
    await store.write(lambda rows: release_matcher(rows, token))
