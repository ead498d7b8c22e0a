"""A server on a simulated exchange with futures, and what both hosts were asked."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import Clock
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.settings import read_settings
from support.desk import NETWORK, Loop

WITH_FUTURES = replace(NETWORK, futures_rest_url="http://futures.simulator.invalid")


@dataclass(frozen=True)
class WholeMarket:
    """The server under test, and the exchange behind it."""

    app: App
    exchange: SimulatedExchange

    @property
    def boards(self) -> BoardService:
        return self.app.context.screener.boards

    def asked(self, name: str) -> list[str]:
        """Return the queries of each request of that name, spot's and futures'."""
        requests = [*self.exchange.requests, *self.exchange.futures.requests]
        return [each.path for each in requests if each.path.endswith(name)]

    def spot_weight(self) -> int:
        return self.exchange.meter.used(self.exchange.now_ms())

    def futures_weight(self) -> int:
        return self.exchange.futures.meter.used(self.exchange.now_ms())


@asynccontextmanager
async def whole_market(
    clock: Clock, exchange: SimulatedExchange, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[WholeMarket]:
    """Serve an exchange in this process, its futures under a host name of their own."""
    settings = read_settings({**(environment or {})})
    async with running_app(settings, clock=clock, network=WITH_FUTURES, transport=Loop(exchange)) as app:
        yield WholeMarket(app, exchange)


async def raw_futures(exchange: SimulatedExchange, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the futures host answers to a plain GET, past everything that is under test."""
    base = WITH_FUTURES.futures_rest_url or ""
    async with httpx2.AsyncClient(transport=Loop(exchange), base_url=base) as http:
        return (await http.get(path if path.startswith("/") else f"/fapi/v1/{path}")).json()
