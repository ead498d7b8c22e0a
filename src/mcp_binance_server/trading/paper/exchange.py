"""Order entry of the paper exchange. Its tables of accepted and cancelled orders are shared by all processes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext

from mcp_binance_server.domain.money import EXACT_DIGITS
from mcp_binance_server.domain.order_requests import Amendment, Replacement, Target, WrittenList, WrittenOrder
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.journal.store import Rows
from mcp_binance_server.trading.paper.account import Pair, PaperAccount
from mcp_binance_server.trading.paper.lists import NO_ENTRY, holding, parts_of
from mcp_binance_server.trading.paper.store import PaperStore
from mcp_binance_server.trading.paper.tables import (
    PaperRow,
    fills_between,
    find_order,
    forget_account,
    insert_order,
    list_rows,
    open_rows,
    orders_between,
    read_account,
    set_aside,
    write_account,
    write_order,
)

RESET = "reset"


@dataclass(frozen=True, slots=True)
class Replaced:
    """Result of a replacement: the old order, and the new order or the reason for its refusal."""

    old: PaperRow | None
    new: PaperRow | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class PaperExchange:
    """Paper accounts. All start with the same balances."""

    store: PaperStore
    start: Mapping[str, Decimal]
    latency_ms: int
    now_ms: Callable[[], int]
    loss: Callable[[], str] = str
    """Message about lost accounts; "" if none were lost."""

    async def accept(self, account: str, order: WrittenOrder, pair: Pair) -> PaperRow:
        """Accept an order and lock its funds.

        The order reaches the market later. An order with an existing ID is returned as it is.

        Raises:
            InsufficientBalance: the funds are not free; nothing was accepted.
        """
        return await self.store.write(lambda rows: self._accepted(rows, account, order, pair))

    async def accept_list(self, account: str, listed: WrittenList, pair: Pair) -> list[PaperRow]:
        """Accept all orders of a list, or none. If only one of the orders can use the funds, they are locked once.

        Raises:
            InsufficientBalance: the funds are not free; nothing was accepted.
        """
        now_ms = self.now_ms()

        def work(rows: Rows) -> list[PaperRow]:
            if found := list_rows(rows, account, listed.symbol, listed.client_list_id):
                return found
            holds = read_account(rows, account, self.start)
            arrives_ms = now_ms + self.latency_ms
            made = [
                insert_order(rows, account, order, now_ms, arrives_ms, part=part)
                for order, part in zip(listed.orders, parts_of(listed), strict=True)
            ]
            with localcontext(prec=EXACT_DIGITS):
                holds.hold(pair, *holding(row.to_paper() for row in made))
            write_account(rows, account, holds)
            return made

        return await self.store.write(work)

    async def replace(self, account: str, replacement: Replacement, pair: Pair) -> Replaced:
        """Cancel an order and accept another in one transaction. If the cancel is impossible, nothing changes."""
        order = replacement.order

        def work(rows: Rows) -> Replaced:
            old = _find_target(rows, account, replacement.target)
            if (new := find_order(rows, account, order.symbol, order.client_order_id)) is not None:
                return Replaced(old, new)
            if old is None or not old.to_paper().is_open:
                return Replaced(old)
            self._cancel(rows, account, [old], pair)
            old = find_order(rows, account, old.order.symbol, order_id=old.order.order_id)
            rows.execute("SAVEPOINT placing")
            try:
                return Replaced(old, self._accepted(rows, account, order, pair))
            except InsufficientBalance as error:
                rows.execute("ROLLBACK TO placing")
                return Replaced(old, refusal=error.message)

        return await self.store.write(work)

    async def amend(self, account: str, amendment: Amendment, pair: Pair) -> PaperRow | None:
        """Reduce an open order in place and release the difference. Return None if there is no such order.

        An order is returned unchanged if it is finished, in a list, or already filled to the new quantity.
        """
        target = amendment.target

        def work(rows: Rows) -> PaperRow | None:
            found = _find_target(rows, account, target)
            if found is None or found.part is not None or not (order := found.to_paper()).is_open:
                return found
            if not order.filled < amendment.quantity < order.quantity:
                return found
            holds = read_account(rows, account, self.start)
            with localcontext(prec=EXACT_DIGITS):
                holds.release(pair, order)
                order.quantity = amendment.quantity
                holds.hold(pair, order)
            write_order(rows, order, found.order.quote_spent, self.now_ms())
            write_account(rows, account, holds)
            return _find_target(rows, account, target)

        return await self.store.write(work)

    async def cancel(self, account: str, target: Target, pair: Pair) -> list[PaperRow]:
        """Cancel an open order, with its whole list, and release the funds.

        Return the new state of the order, or of all orders of its list. The result is empty if there is no such order.
        """

        def find(rows: Rows) -> list[PaperRow]:
            if target.is_list:
                return list_rows(rows, account, target.symbol, target.client_order_id)
            found = _find_target(rows, account, target)
            return [] if found is None else [found]

        def work(rows: Rows) -> list[PaperRow]:
            self._cancel(rows, account, find(rows), pair)
            return find(rows)

        return await self.store.write(work)

    def _accepted(self, rows: Rows, account: str, order: WrittenOrder, pair: Pair) -> PaperRow:
        if (found := find_order(rows, account, order.symbol, order.client_order_id)) is not None:
            return found
        now_ms = self.now_ms()
        holds = read_account(rows, account, self.start)
        made = insert_order(rows, account, order, now_ms, now_ms + self.latency_ms)
        with localcontext(prec=EXACT_DIGITS):
            holds.hold(pair, made.to_paper())
        write_account(rows, account, holds)
        return made

    def _cancel(self, rows: Rows, account: str, named: list[PaperRow], pair: Pair) -> None:
        if not any(row.to_paper().is_open for row in named):
            return
        first, names = named[0], {row.order.order_id for row in named}
        if first.part is not None:
            named = list_rows(rows, account, first.order.symbol, first.part.list_id)
        ended = [(order, row.order.quote_spent) for row in named if (order := row.to_paper()).is_open]
        holds = read_account(rows, account, self.start)
        with localcontext(prec=EXACT_DIGITS):
            holds.release(pair, *holding(order for order, _ in ended))
            holds.free_again(pair.base, set_aside(rows, (order for order, _ in ended)))
        for order, spent in ended:
            is_left_over = order.awaits_entry and order.order_id not in names
            order.status, order.reason = ("EXPIRED", NO_ENTRY) if is_left_over else ("CANCELED", "")
            write_order(rows, order, spent, self.now_ms())
        write_account(rows, account, holds)

    async def reset(self, account: str) -> int:
        """Reset the account to its start balances. Return the number of cancelled orders.

        Orders and fills stay as history.
        """

        def work(rows: Rows) -> int:
            open_now = open_rows(rows, account)
            for found in open_now:
                order = found.to_paper()
                order.status, order.reason = "CANCELED", RESET
                write_order(rows, order, found.order.quote_spent, self.now_ms())
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
        """Return the newest orders of a symbol, newest last. With `start_ms`, return the first orders from then on."""
        return await self.store.read(
            lambda rows: orders_between(rows, account, symbol, limit, start_ms=start_ms, end_ms=end_ms)
        )

    async def fills(
        self,
        account: str,
        symbol: Symbol,
        limit: int,
        order_id: int | None = None,
        *,
        start_ms: int | None = None,
        end_ms: int | None = None,
    ) -> list[Fill]:
        """Return the newest fills of a symbol or order, newest last.

        With `start_ms`, return the first fills from then on.
        """
        return await self.store.read(
            lambda rows: fills_between(
                rows, account, symbol, limit, order_id=order_id, start_ms=start_ms, end_ms=end_ms
            )
        )

    async def account(self, account: str) -> PaperAccount:
        return await self.store.read(lambda rows: read_account(rows, account, self.start))


def with_loss(told: str, loss: str) -> str:
    """Add the message about lost accounts, if there is one."""
    return f"{told} ({loss})" if loss else told


def _find_target(rows: Rows, account: str, target: Target) -> PaperRow | None:
    return find_order(rows, account, target.symbol, target.client_order_id)
