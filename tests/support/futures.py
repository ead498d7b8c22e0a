"""A server with futures on the simulated exchange, and what that was asked."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.served import text_of

PLAIN = "SOLUSDT"  # a perpetual of the usual interval, without quarterlies
FUTURES = replace(NETWORK, futures_rest_url="http://futures.simulator.invalid")
LIQUIDATED = replace(FUTURES, futures_stream_url="ws://futures.simulator.invalid")


@dataclass(frozen=True, slots=True)
class FuturesPlace:
    """A server that reads futures, a client of it, and both hosts of its exchange."""

    clock: FakeClock
    exchange: SimulatedExchange
    app: App
    client: Client

    async def told(self, symbol: str) -> dict[str, Any]:
        """Return the structure of an answer that is no failure."""
        result = await self.client.call_tool("get_derivatives", {"symbol": symbol})
        assert not result.is_error, text_of(result)
        return result.structured_content

    async def refused(self, symbol: str) -> dict[str, Any]:
        """Return the structure of an answer that is one."""
        result = await self.client.call_tool("get_derivatives", {"symbol": symbol})
        assert result.is_error
        return result.structured_content

    async def page(self, symbol: str) -> str:
        return text_of(await self.client.call_tool("get_derivatives", {"symbol": symbol}))

    def sent(self) -> tuple[list[str], list[str]]:
        """Return what futures and spot were asked since last time, by path."""
        futures = [request.path for request in self.exchange.futures.requests]
        spot = [request.path for request in self.exchange.requests]
        self.exchange.futures.requests.clear()
        self.exchange.requests.clear()
        return futures, spot


@asynccontextmanager
async def futures_place(
    environment: Mapping[str, str] | None = None, *, seed: int = 7, scenario: str = "market"
) -> AsyncGenerator[FuturesPlace]:
    """Serve without streams, so that no time passes but by a test's own hand."""
    clock = FakeClock()
    exchange = SimulatedExchange(clock, seed=seed, scenario=scenario)
    async with (
        running_app(read_settings(environment or {}), clock=clock, network=FUTURES, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        yield FuturesPlace(clock, exchange, app, client)


async def warmed(place: FuturesPlace) -> None:
    """Have the lists loaded that are asked for once an hour."""
    await place.told("ETHUSDT")
    place.clock.advance(60_000)
    place.sent()


async def raw_futures(exchange: SimulatedExchange, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the futures host answers to a plain GET, past everything that is under test."""
    async with httpx2.AsyncClient(transport=Loop(exchange), base_url=str(FUTURES.futures_rest_url)) as http:
        return (await http.get(path)).json()
