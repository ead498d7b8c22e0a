"""An account on paper, read as the exchange's own: the same questions, the same answers."""

from dataclasses import dataclass
from typing import TypeVar

from mcp_binance_server.domain.account import Account, Commission, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.preview import USUAL

ValueT = TypeVar("ValueT")

HOST = "paper"
MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class PaperReads:
    """Reads of one account on paper."""

    exchange: PaperExchange
    account_id: str
    network: str
    rates: Commission = USUAL

    @property
    def has_key(self) -> bool:
        return True

    def venue(self, _host: str) -> Venue:
        return Venue(self.network, HOST, simulated=True)

    async def account(self) -> Sourced[Account]:
        holds = await self.exchange.account(self.account_id)
        return self._read(
            Account(
                balances=tuple(each for each in holds.balances if each.total),
                can_trade=True,
                can_withdraw=False,
                can_deposit=False,
                updated_ms=self.exchange.now_ms(),
                commission=self.rates,
            )
        )

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]:
        rows = await self.exchange.open_orders(self.account_id)
        return self._read(tuple(each.order for each in rows if symbol in (None, each.order.symbol)))

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first: the newest, or with a start those that follow it."""
        rows = await self.exchange.orders(self.account_id, symbol, MOST_ROWS)
        found = [
            each.order
            for each in rows
            if (start_ms is None or each.order.created_ms >= start_ms)
            and (end_ms is None or each.order.created_ms <= end_ms)
        ]
        return self._read(tuple(found[-limit:] if start_ms is None else found[:limit]))

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by either of its ids."""
        rows = await self.exchange.orders(self.account_id, symbol, MOST_ROWS)
        for each in rows:
            if order_id == each.order.order_id or client_order_id == each.order.client_order_id:
                return self._read(each.order)
        raise ExchangeRejected(exchange_code=-2013, exchange_message="Order does not exist.")

    async def fills(self, symbol: Symbol, limit: int, order_id: int | None = None) -> Sourced[tuple[Fill, ...]]:
        return self._read(tuple(await self.exchange.fills(self.account_id, symbol, limit, order_id)))

    def _read(self, value: ValueT) -> Sourced[ValueT]:
        return Sourced(value, HOST, "configured", self.exchange.now_ms())
