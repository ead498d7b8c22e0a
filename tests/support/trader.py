"""A trader at the simulated exchange: signed writes, and the prices of the moment, with nothing of our client."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx2

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import SimulatedExchange

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Trader:
    """One account's way to the exchange."""

    api: httpx2.AsyncClient
    exchange: SimulatedExchange
    account: DemoAccount

    async def send(self, method: str, path: str, params: Mapping[str, object]) -> httpx2.Response:
        """Sign a request at the exchange's own time and send it; what is None is left out."""
        named = {"timestamp": self.exchange.now_ms(), **params}
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in named.items() if value is not None)
        signature = hmac.new(self.account.secret_key.encode(), query.encode(), hashlib.sha256).hexdigest()
        headers = {"X-MBX-APIKEY": self.account.api_key}
        address = path if path.startswith("/") else f"/api/v3/{path}"
        return await self.api.request(method, f"{address}?{query}&signature={signature}", headers=headers)

    async def place(self, **changes: object) -> httpx2.Response:
        """Place a limit order to buy 0.01 BTC far below the market, with changes."""
        usual = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01000"}
        return await self.send("POST", "order", usual | {"price": self.far_below()} | changes)

    async def cancel(self, client_order_id: str, **changes: object) -> httpx2.Response:
        named = {"symbol": "BTCUSDT", "origClientOrderId": client_order_id}
        return await self.send("DELETE", "order", named | changes)

    async def order(self, client_order_id: str) -> dict[str, Any]:
        """Ask for an order by its client id."""
        named = {"symbol": "BTCUSDT", "origClientOrderId": client_order_id}
        return (await self.send("GET", "order", named)).json()

    async def balances(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Return what is free and what is locked of each asset."""
        body = (await self.send("GET", "account", {"omitZeroBalances": "true"})).json()
        return {one["asset"]: (Decimal(one["free"]), Decimal(one["locked"])) for one in body["balances"]}

    def bid(self) -> Decimal:
        return self._top()[0]

    def ask(self) -> Decimal:
        return self._top()[1]

    def far_below(self) -> Decimal:
        """Return a price that the market does not reach while a test runs."""
        return (self.bid() * Decimal("0.9")).quantize(CENT)

    def far_above(self) -> Decimal:
        return (self.ask() * Decimal("1.1")).quantize(CENT)

    def _top(self) -> tuple[Decimal, Decimal]:
        symbol = self.exchange.listing.symbols["BTCUSDT"]
        top = self.exchange.stage.market.top(symbol, self.exchange.now_ms())
        assert top is not None
        return Decimal(symbol.price(top.bid[0])), Decimal(symbol.price(top.ask[0]))
