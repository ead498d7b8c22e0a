"""Broker of one paper account.

It has the protocol of the live broker, and this server's tables replace the exchange.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Gate,
    Outcome,
    Replacement,
    Target,
    Written,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange, with_loss
from mcp_binance_server.trading.paper.lists import problem_of
from mcp_binance_server.trading.paper.order import PENDING
from mcp_binance_server.trading.paper.tables import PaperRow

# Longest wait for an order to reach the market, in addition to its latency, and the interval of the checks, in ms.
PATIENCE_MS, LOOK_MS = 2_000, 25
NO_ORDER, NO_LIST = "order not found", "list not found"
WORDS = {
    PENDING: "the live market data of this symbol is not ready yet; the order waits",
    "EXPIRED_IN_MATCH": "the rest would have matched an order of your own",
}


@dataclass(frozen=True, slots=True)
class PaperBroker:
    """Orders of one paper account. The matcher, in this or another process, decides their outcome."""

    account: str
    exchange: PaperExchange
    pair_of: Callable[[Symbol], Awaitable[Pair]]
    venue: Venue
    clock: Clock
    wake: Callable[[], None] = lambda: None
    """Callback when an order was placed or cancelled, so that the matcher checks the tables."""
    horizon_ms: int = 0
    """Time in which a sent order can be invisible: 0, because it is in the tables at once."""

    async def place(self, request: Written, gate: Gate) -> Outcome:
        pair = await self.pair_of(request.symbol)
        await gate()
        try:
            match request:
                case WrittenOrder():
                    placed = await self._place(request, pair)
                case WrittenList():
                    placed = await self._place_list(request, pair)
                case Replacement():
                    placed = await self._replace(request, pair)
                case Amendment():
                    placed = await self._amend(request, pair)
        except InsufficientBalance as error:
            placed = Outcome(Fate.REFUSED, reason=error.message)
        return placed

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        pair = await self.pair_of(target.symbol)
        await gate()
        rows = await self.exchange.cancel(self.account, target, pair)
        self.wake()
        if not rows:
            told = NO_LIST if target.is_list else NO_ORDER
            return Outcome(Fate.REFUSED, reason=with_loss(told, self.exchange.loss()))
        legs = tuple(row.order for row in rows)
        told = Outcome(Fate.ACCEPTED, legs=legs) if target.is_list else Outcome(Fate.ACCEPTED, legs[0])
        if any(each.status == "CANCELED" for each in legs):
            return told
        what = "every order of the list is closed" if target.is_list else f"the order is {legs[0].status}"
        return replace(told, fate=Fate.REFUSED, reason=what)

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        row = await self.exchange.find(self.account, symbol, client_order_id)
        return None if row is None else row.order

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        found = (row.order for row in await self.exchange.open_orders(self.account))
        return tuple(each for each in found if symbol in (None, each.symbol))

    async def _place(self, order: WrittenOrder, pair: Pair) -> Outcome:
        row = await self.exchange.accept(self.account, order, pair)
        self.wake()
        (row,) = await self._arrived([row])
        return _outcome(row)

    async def _place_list(self, listed: WrittenList, pair: Pair) -> Outcome:
        if problem := problem_of(listed):
            return Outcome(Fate.REFUSED, reason=problem)
        rows = await self.exchange.accept_list(self.account, listed, pair)
        self.wake()
        rows = await self._arrived(rows)
        told = _outcome(rows[0])
        reason = told.reason or next((row.reason for row in rows if row.reason), "")
        return replace(told, order=None, reason=reason, legs=tuple(row.order for row in rows))

    async def _replace(self, replacement: Replacement, pair: Pair) -> Outcome:
        replaced = await self.exchange.replace(self.account, replacement, pair)
        self.wake()
        old = None if replaced.old is None else replaced.old.order
        if replaced.new is not None:
            (new,) = await self._arrived([replaced.new])
            return replace(_outcome(new), target=old)
        if replaced.refusal:
            return Outcome(Fate.REFUSED, reason=replaced.refusal, target=old)
        return Outcome(Fate.REFUSED, reason=self._not_open(old))

    async def _amend(self, amendment: Amendment, pair: Pair) -> Outcome:
        row = await self.exchange.amend(self.account, amendment, pair)
        self.wake()
        if row is None or not row.to_paper().is_open:
            return Outcome(Fate.REFUSED, row and row.order, reason=self._not_open(row and row.order))
        if row.part is not None:
            return Outcome(Fate.REFUSED, row.order, reason="an order of a list cannot be reduced on paper")
        if row.order.quantity != amendment.quantity:
            return Outcome(
                Fate.REFUSED, row.order, reason="the new quantity must be below the old one and above the filled part"
            )
        return Outcome(Fate.ACCEPTED, row.order)

    def _not_open(self, order: Order | None) -> str:
        return with_loss(NO_ORDER, self.exchange.loss()) if order is None else f"the order is {order.status}"

    async def _arrived(self, rows: list[PaperRow]) -> list[PaperRow]:
        left_ms = self.exchange.latency_ms + PATIENCE_MS
        while any(row.to_paper().is_on_its_way for row in rows) and left_ms > 0:
            await self.clock.sleep_ms(LOOK_MS)
            left_ms -= LOOK_MS
            rows = [await self._look(row) for row in rows]
        return rows

    async def _look(self, row: PaperRow) -> PaperRow:
        return await self.exchange.find(self.account, row.order.symbol, row.order.client_order_id) or row


def _outcome(row: PaperRow) -> Outcome:
    fate = Fate.REFUSED if row.order.status == "REJECTED" else Fate.ACCEPTED
    return Outcome(fate, row.order, reason=row.reason or WORDS.get(row.order.status, ""))
