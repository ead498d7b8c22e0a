"""A client that wants to hear of pages, in either era, and a ticker as a stream would tell it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import anyio
import msgspec
from mcp import Client, types
from mcp.client.subscriptions import ResourceUpdated

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.hub import Hub
from support.stepped import LiveMarket

BTC, ETH = "binance://market/btcusdt", "binance://market/ethusdt"


async def subscribe(client: Client, uri: str) -> None:
    await client.session.send_request(
        types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult
    )


async def unsubscribe(client: Client, uri: str) -> None:
    await client.session.send_request(
        types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)), types.EmptyResult
    )


@asynccontextmanager
async def hearing(target: Any, era: str, *uris: str) -> AsyncGenerator[list[str]]:  # noqa: ANN401 - what Client takes
    """Connect, ask to be told of pages as the era has it, and gather the addresses that are told."""
    heard: list[str] = []

    async def take(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(message.params.uri)

    if era == "legacy":
        async with Client(target, mode=era, cache=None, message_handler=take) as client:
            for uri in uris:
                await subscribe(client, uri)
            yield heard
        return
    async with (
        Client(target, mode=era, cache=None) as client,
        client.listen(resource_subscriptions=uris) as stream,
        anyio.create_task_group() as group,
    ):

        async def read() -> None:
            async for event in stream:
                assert isinstance(event, ResourceUpdated)
                heard.append(event.uri)

        group.start_soon(read)
        yield heard
        group.cancel_scope.cancel()


async def run_slowly(market: LiveMarket, seconds: float) -> None:
    """Let simulated time pass, slowly enough for a socket to carry what is said."""
    for _ in range(round(seconds * 10)):
        await market.run(0.1)
        await asyncio.sleep(0.002)  # noqa: TID251 - the socket is real


def hub_of(market: LiveMarket) -> Hub:
    hub = market.app.context.live.hub
    assert hub is not None
    return hub


def readers(market: LiveMarket) -> dict[str, int]:
    """Return how many read each symbol that is streamed."""
    return {each.feed.symbol: each.readers for each in hub_of(market).watched()}


def tell_ticker(market: LiveMarket, price: str, *, later_ms: int) -> None:
    """Have the stream tell BTCUSDT's last price, at a moment that much after the last."""
    hub = hub_of(market)
    feed = hub.peek(Symbol("BTCUSDT"))
    assert feed is not None
    assert feed.ticker is not None
    told = replace(feed.ticker, close_time_ms=feed.ticker.close_time_ms + later_ms)
    amounts = {
        "p": told.change, "P": told.change_percent, "w": told.weighted_average, "c": Decimal(price), "b": told.bid,
        "a": told.ask, "o": told.open_price, "h": told.high, "l": told.low, "v": told.volume, "q": told.quote_volume,
    }  # fmt: skip
    written = {name: str(amount) for name, amount in amounts.items()}
    event = {"e": "24hrTicker", "s": "BTCUSDT", **written, "O": told.open_time_ms, "C": told.close_time_ms}
    hub.on_event("btcusdt@ticker", msgspec.Raw(json.dumps({**event, "n": told.trade_count}).encode()))
