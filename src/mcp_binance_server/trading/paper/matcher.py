"""Orders on paper, met by what the exchange shows: one process matches for all, and each match is one transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.market import PENDING, PaperBook, PaperFill, PaperMarket, PaperOrder
from mcp_binance_server.trading.paper.tables import (
    PaperRow,
    insert_fill,
    is_matcher,
    open_rows,
    read_account,
    take_matcher,
    tape_seen,
    write_account,
    write_order,
    write_tape_seen,
)

LEASE_MS = 2_000
NOT_WATCHED = "not_watched"


class TookOver(Exception):
    """Another process matches now; what was found here is forgotten."""


@dataclass(eq=False)
class SymbolMatcher:
    """The orders of every account on one symbol, in the process that matches."""

    symbol: Symbol
    pair: Pair
    store: Store
    start: Mapping[str, Decimal]
    rates: Commission
    token: int
    book: PaperBook
    last_print: int | None = None
    _markets: dict[str, PaperMarket] = field(default_factory=dict[str, PaperMarket])
    _known: dict[int, PaperRow] = field(default_factory=dict[int, PaperRow])

    @property
    def has_orders(self) -> bool:
        return any(each.waiting or each.resting for each in self._markets.values())

    async def load(self) -> None:
        """Read the orders as they stand, and how far on the tape they have been met."""

        def work(rows: Rows) -> tuple[list[PaperRow], int | None]:
            return open_rows(rows), tape_seen(rows, self.symbol)

        found, self.last_print = await self.store.read(work)
        self._markets.clear()
        self._known.clear()
        self.take_over(found)

    def take_over(self, found: Iterable[PaperRow]) -> None:
        """Learn of orders that were placed, and forget those that were cancelled."""
        rows = {each.order.order_id: each for each in found if each.order.symbol == self.symbol}
        for order_id in [each for each in self._known if each not in rows]:
            self._markets[self._known.pop(order_id).account].cancel(order_id)
        for order_id, row in rows.items():
            if order_id not in self._known:
                self._known[order_id] = row
                market = self._markets.setdefault(row.account, PaperMarket(self.book))
                order = row.to_paper()
                is_waiting = order.status == PENDING or (order.stop_price is not None and not order.is_triggered)
                (market.waiting if is_waiting else market.resting).append(order)

    async def meet(self, trades: Sequence[Trade], now_ms: int, *, is_replay: bool = False) -> list[PaperFill]:
        """Let prints and the present book reach every order; write down what came of it.

        A replay is of prints that were missed: the book that stood then is gone, so nobody takes from this one.

        Raises:
            TookOver: another process matches now; nothing was written.
        """
        orders = {each.order_id: each for market in self._markets.values() for each in _orders(market)}
        before = {order_id: _mark(order) for order_id, order in orders.items()}
        fills: list[PaperFill] = []
        with localcontext(prec=EXACT_DIGITS):
            for market in self._markets.values():
                fills += self._met(market, trades, now_ms, is_replay=is_replay)
        for trade in trades:
            self.last_print = max(self.last_print or 0, trade.trade_id)
        changed = [order for order_id, order in orders.items() if _mark(order) != before[order_id]]
        if changed:
            await self._write(changed, fills, now_ms)
        return fills

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

    async def _write(self, changed: list[PaperOrder], fills: list[PaperFill], now_ms: int) -> None:
        def work(rows: Rows) -> None:
            if not is_matcher(rows, self.token):
                raise TookOver
            standing = {each.order.order_id: each for each in open_rows(rows)}
            with localcontext(prec=EXACT_DIGITS):
                for order in changed:
                    # One that was cancelled meanwhile is not there any more: the cancel was first.
                    if (row := standing.get(order.order_id)) is not None:
                        own = [each for each in fills if each.order_id == order.order_id]
                        self._settle(rows, order, row, own, now_ms)
            if self.last_print is not None:
                write_tape_seen(rows, self.symbol, self.last_print, now_ms)

        await self.store.write(work)
        for order in changed:
            if not order.is_open:
                self._known.pop(order.order_id, None)

    def _settle(self, rows: Rows, order: PaperOrder, row: PaperRow, fills: list[PaperFill], now_ms: int) -> None:
        account = row.account
        holds = read_account(rows, account, self.start)
        spent = row.order.quote_spent
        for fill in fills:
            commission = holds.settle(order, fill, self.pair, self.rates)
            asset = self.pair.base if order.side == "BUY" else self.pair.quote
            insert_fill(rows, row, fill, commission, asset)
            spent = Quantity(spent + fill.price * fill.quantity)
        if not order.is_open:
            holds.release(order, self.pair)
        write_order(rows, order, spent, now_ms)
        write_account(rows, account, holds)


def _orders(market: PaperMarket) -> list[PaperOrder]:
    return [*market.waiting, *market.resting]


def _mark(order: PaperOrder) -> tuple[object, ...]:
    return order.status, order.filled, order.ahead, order.is_triggered


async def matcher_token(store: Store, owner: str, now_ms: int) -> int | None:
    """Take or keep the right to match; None while another process has it."""
    return await store.write(lambda rows: take_matcher(rows, owner, now_ms, LEASE_MS))
