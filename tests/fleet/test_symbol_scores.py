"""Own pasts on a real server: what one process has learned another begins with, also when the server was emptied."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.past_keeper import EVERY_MS, ScorePersistence
from mcp_binance_server.feeds.score_store import EngineScoreStore
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.state_server import Connect, StateServer
from support.stepped import STREAMED, SteppedClock
from support.symbol_scores import BTC, MARKET, LearningFeed

REAL = SystemClock()
PATIENCE_SECS = 20


async def written(shelf: EngineScoreStore, clock: SteppedClock) -> None:
    """Let minutes pass until a record is there."""
    with anyio.fail_after(PATIENCE_SECS):
        while await shelf.read(BTC) is None:
            clock.advance(EVERY_MS)
            await REAL.sleep_ms(20)


@pytest.mark.night
async def test_what_the_leader_learned_is_there_for_a_process_that_comes_later(connect: Connect) -> None:
    clock, leader, late = SteppedClock(), LearningFeed(), LearningFeed()
    one, other = EngineScoreStore(await connect(), MARKET), EngineScoreStore(await connect(), MARKET)

    async with ScorePersistence(one, clock).running() as keeper:
        keeper.opened(leader)
        leader.learn(1.0, 2.0)
        await written(other, clock)

        async with ScorePersistence(other, clock, leads=lambda _: False).running() as elsewhere:
            elsewhere.opened(late)
            with anyio.fail_after(PATIENCE_SECS):
                while late.scores != [1.0, 2.0]:
                    await REAL.sleep_ms(20)
            elsewhere.closing(BTC)
        keeper.closing(BTC)

    assert await other.read(Symbol("ETHUSDT")) is None
    assert await EngineScoreStore(await connect(), "wss://testnet.test").read(BTC) is None


@pytest.mark.night
async def test_a_server_that_was_emptied_is_told_again(connect: Connect, server: StateServer) -> None:
    clock, leader = SteppedClock(), LearningFeed()
    shelf = EngineScoreStore(await connect(), MARKET)

    async with ScorePersistence(shelf, clock).running() as keeper:
        keeper.opened(leader)
        leader.learn(1.0)
        await written(shelf, clock)
        server.command("FLUSHALL")

        await written(shelf, clock)

        server.command("FLUSHALL")
        keeper.closing(BTC)
    assert await shelf.read(BTC) is not None


@asynccontextmanager
async def reading(server: StateServer, exchange: SimulatedExchange) -> AsyncGenerator[SymbolFeed]:
    """Run a whole server of the fleet that reads a symbol."""
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url, "MCP_BINANCE_STATE_DIR": "/nonexistent/state"})
    network, transport, dialer = STREAMED, Loop(exchange), Loopback(exchange)
    async with (
        running_app(settings, network=network, transport=transport, dialer=dialer) as app,
        app.context.live.watching("BTCUSDT", wait_ms=PATIENCE_SECS * 1000),
    ):
        assert app.context.live.hub is not None
        feed = app.context.live.hub.peek(BTC)
        assert feed is not None
        yield feed


async def known(feed: SymbolFeed, scores: list[float]) -> None:
    with anyio.fail_after(PATIENCE_SECS):
        while feed.pasts.scores["flood"].scores().tolist() != scores:
            await REAL.sleep_ms(20)


@pytest.mark.night
async def test_a_server_that_ends_leaves_what_it_learned_to_the_next(server: StateServer) -> None:
    exchange = SimulatedExchange(REAL)
    async with reading(server, exchange) as feed:
        feed.pasts.scores["flood"].add(1.0)

    async with reading(server, exchange) as feed:
        await known(feed, [1.0])

        async with reading(server, exchange) as follower:
            await known(follower, [1.0])
            follower.pasts.scores["flood"].add(2.0)
        async with reading(server, exchange) as later:
            await known(later, [1.0])  # who does not lead has not written
