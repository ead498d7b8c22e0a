"""The broker of one account on paper: the same port as for money, and the exchange is our own file."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.market import PENDING
from mcp_binance_server.trading.paper.tables import PaperRow

# How long an answer waits for an order to arrive at the market, beyond its own latency, and how often it looks.
PATIENCE_MS, LOOK_MS = 2_000, 25
WORDS = {
    PENDING: "the live market of this symbol is not in step yet; the order waits",
    "EXPIRED_IN_MATCH": "the rest would have met an order of your own",
}


@dataclass(frozen=True, slots=True)
class PaperBroker:
    """Takes orders of one account; what becomes of them the matcher decides, in whichever process that is."""

    account: str
    exchange: PaperExchange
    pair_of: Callable[[Symbol], Awaitable[Pair]]
    venue: Venue
    clock: Clock
    wake: Callable[[], None] = lambda: None
    """Told that there is something to match, or no longer."""
    horizon_ms: int = 0
    """How long an order that was sent may stay unseen: not at all, it is in the file or it is not."""

    async def place(self, order: WrittenOrder, gate: Gate) -> Outcome:
        pair = await self.pair_of(order.symbol)
        await gate()
        try:
            row = await self.exchange.accept(self.account, order, pair)
        except InsufficientBalance as error:
            return Outcome(Fate.REFUSED, reason=error.message)
        self.wake()
        return _outcome(await self._arrived(row))

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        pair = await self.pair_of(target.symbol)
        await gate()
        row = await self.exchange.cancel(self.account, target, pair)
        self.wake()
        if row is None:
            return Outcome(Fate.REFUSED, reason="there is no such order")
        if row.order.status != "CANCELED":
            return Outcome(Fate.REFUSED, row.order, reason=f"the order is {row.order.status}")
        return Outcome(Fate.ACCEPTED, row.order)

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        row = await self.exchange.find(self.account, symbol, client_order_id)
        return None if row is None else row.order

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        found = (row.order for row in await self.exchange.open_orders(self.account))
        return tuple(each for each in found if symbol in (None, each.symbol))

    async def _arrived(self, row: PaperRow) -> PaperRow:
        order, left_ms = row.order, self.exchange.latency_ms + PATIENCE_MS
        while order.status == PENDING and left_ms > 0:
            await self.clock.sleep_ms(LOOK_MS)
            left_ms -= LOOK_MS
            row = await self.exchange.find(self.account, order.symbol, order.client_order_id) or row
            order = row.order
        return row


def _outcome(row: PaperRow) -> Outcome:
    if row.order.status == "REJECTED":
        return Outcome(Fate.REFUSED, row.order, reason="the order would immediately match and take")
    return Outcome(Fate.ACCEPTED, row.order, reason=row.reason or WORDS.get(row.order.status, ""))
