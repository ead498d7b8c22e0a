"""A live market, a provider.v1 service on it, and a reader of its stream."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from grpc.aio import EOF, UnaryStreamCall

from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.provider import Provider, provided, until
from support.stepped import LiveMarket, live_market

BTC = pb.StreamRequest(symbols=["btcusdt"])


@dataclass
class Reader:
    """Reader of a stream, event by event."""

    call: UnaryStreamCall[bytes, pb.CloudEvent]
    events: list[pb.CloudEvent] = field(default_factory=list[pb.CloudEvent])

    async def read(self) -> None:
        while (event := await self.call.read()) is not EOF:
            assert isinstance(event, pb.CloudEvent)
            self.events.append(event)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [json.loads(event.data) for event in self.events if event.type == f"provider.v1.{kind}"]


@dataclass(frozen=True)
class Floor:
    """A live market and a service on it."""

    market: LiveMarket
    provider: Provider

    @property
    def hub(self) -> Hub:
        hub = self.market.app.context.live.hub
        assert hub is not None
        return hub

    @property
    def readers(self) -> list[int]:
        return [each.readers for each in self.hub.watched()]

    async def run(self, seconds: float) -> None:
        """Let simulated time pass, slowly enough for the socket to carry what is said."""
        for _ in range(round(seconds * 10)):
            await self.market.run(0.1)
            await asyncio.sleep(0.002)  # noqa: TID251 - the socket is real

    @asynccontextmanager
    async def reading(self, request: pb.StreamRequest = BTC) -> AsyncGenerator[Reader]:
        """Read a stream for as long as the block lasts, then leave it."""
        reader = Reader(self.provider.stream(request))
        task = asyncio.create_task(reader.read())
        try:
            await until(lambda: bool(self.readers) and all(self.readers))
            yield reader
        finally:
            reader.call.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_floor(scenario: str = "market", environment: Mapping[str, str] | None = None) -> AsyncGenerator[Floor]:
    """Open a live market and a service on it."""
    async with live_market(scenario, environment=environment) as market, provided(market.app.dispatcher) as provider:
        yield Floor(market, provider)
