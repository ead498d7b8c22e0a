"""The accepting side of paper: orders are taken and cancelled in the journal's own file, by any process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext

from mcp_binance_server.domain.money import EXACT_DIGITS
from mcp_binance_server.domain.order_requests import Target, WrittenOrder
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.paper.account import Pair, PaperAccount
from mcp_binance_server.trading.paper.tables import (
    PaperRow,
    find_order,
    forget_account,
    insert_order,
    newest_fills,
    open_rows,
    orders_between,
    read_account,
    write_account,
    write_order,
)

RESET = "reset"


@dataclass(frozen=True, slots=True)
class PaperExchange:
    """Accounts on paper; each begins with the same balances."""

    store: Store
    start: Mapping[str, Decimal]
    latency_ms: int
    now_ms: Callable[[], int]

    async def accept(self, account: str, order: WrittenOrder, pair: Pair) -> PaperRow:
        """Take an order, on its way to the market, and hold back what it needs; one that is there already is returned.

        Raises:
            InsufficientBalance: so much is not free; nothing was taken.
        """
        now_ms = self.now_ms()

        def work(rows: Rows) -> PaperRow:
            if (found := find_order(rows, account, order.symbol, order.client_order_id)) is not None:
                return found
            holds = read_account(rows, account, self.start)
            made = insert_order(rows, account, order, now_ms, now_ms + self.latency_ms)
            with localcontext(prec=EXACT_DIGITS):
                holds.hold(made.to_paper(), pair)
            write_account(rows, account, holds)
            return made

        return await self.store.write(work)

    async def cancel(self, account: str, target: Target, pair: Pair) -> PaperRow | None:
        """Take an open order out and release its funds; None if there is no such order."""

        def work(rows: Rows) -> PaperRow | None:
            found = find_order(rows, account, target.symbol, target.client_order_id)
            if found is None or not (order := found.to_paper()).is_open:
                return found
            holds = read_account(rows, account, self.start)
            with localcontext(prec=EXACT_DIGITS):
                holds.release(order, pair)
            order.status = "CANCELED"
            write_order(rows, order, found.order.quote_spent, self.now_ms())
            write_account(rows, account, holds)
            return find_order(rows, account, target.symbol, target.client_order_id)

        return await self.store.write(work)

    async def reset(self, account: str) -> int:
        """Begin anew with the start; return how many open orders were cancelled. Orders and fills stay, as the past."""

        def work(rows: Rows) -> int:
            open_now = open_rows(rows, account)
            for found in open_now:
                order = found.to_paper()
                order.status = "CANCELED"
                write_order(rows, order, found.order.quote_spent, self.now_ms(), RESET)
            forget_account(rows, account)
            return len(open_now)

        return await self.store.write(work)

    async def find(
        self, account: str, symbol: Symbol, client_order_id: str | None = None, order_id: int | None = None
    ) -> PaperRow | None:
        return await self.store.read(lambda rows: find_order(rows, account, symbol, client_order_id, order_id))

    async def open_orders(self, account: str) -> list[PaperRow]:
        return await self.store.read(lambda rows: open_rows(rows, account))

    async def orders(
        self, account: str, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> list[PaperRow]:
        """Return the newest orders of a symbol, or with a start those that follow it; newest last."""
        return await self.store.read(
            lambda rows: orders_between(rows, account, symbol, limit, start_ms=start_ms, end_ms=end_ms)
        )

    async def fills(self, account: str, symbol: Symbol, limit: int, order_id: int | None = None) -> list[Fill]:
        """Return the newest fills of a symbol, or of one order, newest last."""
        return await self.store.read(lambda rows: newest_fills(rows, account, symbol, limit, order_id))

    async def account(self, account: str) -> PaperAccount:
        return await self.store.read(lambda rows: read_account(rows, account, self.start))
