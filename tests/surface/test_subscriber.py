"""One connection's letters: a slow reader gets fewer, a dead one none, and neither holds up anybody."""

import asyncio

import anyio

from mcp_binance_server.services.live.updates import MarketPage
from mcp_binance_server.surface.subscriptions import Subscriber
from support.stepped import LiveMarket, live_market, settled
from support.updates import BTC, hearing, readers


async def page_of(market: LiveMarket) -> MarketPage:
    return market.app.context.updates.market_page(await market.app.market.rules("BTCUSDT"))


async def test_a_slow_reader_is_told_once_of_all_it_slept_through_and_others_do_not_wait() -> None:
    sent: list[str] = []
    may_send = anyio.Event()

    async def send(uri: str) -> None:
        sent.append(uri)
        await may_send.wait()

    async with live_market("busy") as market, hearing(market.app.server, "legacy", BTC) as heard:
        subscriber = Subscriber(market.app.context.updates, send)
        subscriber.add(BTC, await page_of(market))
        await market.run(5)
        assert sent == [BTC]
        assert len(heard) >= 4
        may_send.set()
        await settled()

        assert sent == [BTC, BTC]
        subscriber.close()


async def test_a_connection_that_cannot_be_written_to_is_let_go() -> None:
    async def send(_uri: str) -> None:
        raise BrokenPipeError

    async with live_market("busy", environment={"MCP_BINANCE_FEED_LINGER_SECS": "5"}) as market:
        page = await page_of(market)
        before = len(asyncio.all_tasks())
        Subscriber(market.app.context.updates, send).add(BTC, page)
        await market.run(2)

        assert readers(market) == {"BTCUSDT": 0}
        await market.run(7)
        assert len(asyncio.all_tasks()) == before


async def test_a_connection_that_fails_in_an_unforeseen_way_ends_its_own_subscriptions_alone() -> None:
    async def send(_uri: str) -> None:
        raise RuntimeError("a defect of one client's connection")

    async with live_market("busy") as market, hearing(market.app.server, "legacy", BTC) as heard:
        page = await page_of(market)
        Subscriber(market.app.context.updates, send).add(BTC, page)
        await market.run(5)

        assert readers(market) == {"BTCUSDT": 1}
        assert len(heard) >= 3


async def test_somebody_who_cannot_be_told_keeps_the_news_from_nobody() -> None:
    def fail() -> None:
        raise RuntimeError("a defect of one who waits")

    async with live_market("busy") as market:
        updates, page = market.app.context.updates, await page_of(market)
        told: list[None] = []
        ended: list[object] = []
        updates.watch(page, fail, ended.append)
        release = updates.watch(page, lambda: told.append(None), ended.append)
        await market.run(5)

        assert len(told) >= 3
        release()
