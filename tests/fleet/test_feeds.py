"""Several hubs that read the same markets: each symbol is streamed by one of them, and all see the same.

Time, the state server's too, passes only when a test lets it: how busy the machine is decides nothing.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.fleet.journal import OLDEST_MS
from support.desk import Loop
from support.engine_calls import is_answered
from support.fleet_member import Member, member
from support.held_fleet import PATIENCE_SECS, STEP_MS, HeldClock, HeldFleet
from support.state_server import Connect, StateServer, held_server
from support.stepped import STREAMED

pytestmark = pytest.mark.anyio

BTC, ETH, BNB, SOL = SYMBOLS = tuple(Symbol(f"{base}USDT") for base in ("BTC", "ETH", "BNB", "SOL"))
STREAMS_A_SYMBOL = 4


@pytest.fixture
def held() -> Iterator[tuple[StateServer, Path]]:
    with held_server() as running:
        yield running


@pytest.fixture
def server(held: tuple[StateServer, Path]) -> StateServer:
    return held[0]


@pytest.fixture
def fleet(held: tuple[StateServer, Path]) -> HeldFleet:
    clock = HeldClock(held[1])
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = True
    return HeldFleet(clock, exchange, held[0])


@asynccontextmanager
async def joined(connect: Connect, fleet: HeldFleet) -> AsyncGenerator[Member]:
    """Run one more process of the fleet."""
    engine = await connect(fleet.server.url, fleet.clock, call_secs=PATIENCE_SECS)
    exchange = fleet.exchange
    async with member(
        engine, STREAMED, transport=Loop(exchange), dialer=Loopback(exchange), clock=fleet.clock
    ) as running:
        yield running


@pytest.fixture
async def members(connect: Connect, fleet: HeldFleet) -> AsyncIterator[list[Member]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(joined(connect, fleet)) for _ in range(3)]


def opened(stack: ExitStack, members: list[Member], *symbols: Symbol) -> list[SymbolFeed]:
    feeds = [stack.enter_context(each.hub.reading(symbol)) for symbol in symbols for each in members]
    return [feed for feed in feeds if feed is not None]


def all_live(feeds: list[SymbolFeed]) -> Callable[[], bool]:
    return lambda: all(feed.is_live for feed in feeds)


def snapshots(exchange: SimulatedExchange) -> int:
    return sum(request.path.endswith("/depth") for request in exchange.requests)


def leading(members: list[Member], symbol: Symbol) -> Member:
    [leader] = [each for each in members if each.leader(symbol)]
    return leader


async def answering(members: list[Member]) -> None:
    """Wait, in real time, until every engine has found its server again."""
    with anyio.fail_after(PATIENCE_SECS):
        for each in members:
            while not await is_answered(each.engine):
                await anyio.lowlevel.checkpoint()


@pytest.mark.night
async def test_three_processes_that_read_four_symbols_open_four_and_fetch_four_books(
    members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, *SYMBOLS)
        await fleet.until(all_live(feeds))
        await fleet.run(1_000)

        streams = fleet.exchange.hub.streams()
        assert len(streams) == STREAMS_A_SYMBOL * len(SYMBOLS)
        assert set(streams.values()) == {1}
        assert snapshots(fleet.exchange) == len(SYMBOLS)
        assert all(leading(members, symbol) for symbol in SYMBOLS)
        assert [feed.counts.gaps + feed.counts.lost for feed in feeds] == [0] * len(feeds)


@pytest.mark.night
async def test_a_follower_sees_every_book_trade_and_quote_that_the_leader_saw(
    members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await fleet.until(all_live(feeds))
        leader = leading(members, BTC)
        led = leader.hub.peek(BTC)
        assert led is not None
        books = {led.book.last_update_id: led.book.top(100)}
        followed: list[tuple[SymbolFeed, int]] = []
        compared = 0
        for _ in range(60):
            await fleet.run(STEP_MS)
            books[led.book.last_update_id] = led.book.top(100)
            for feed in feeds:
                if feed is not led and feed.book.last_update_id in books:
                    assert feed.book.top(100) == books[feed.book.last_update_id]
                    compared += 1
                followed.append((feed, feed.book.last_update_id))

        assert compared > 100
        for feed in feeds:
            ids = [update_id for each, update_id in followed if each is feed]
            assert all(before <= after for before, after in pairwise(ids))
            mine, theirs = feed.tape.window(0).trades, led.tape.window(0).trades
            assert set(mine) <= set(theirs)
            assert len(feed.quotes) > 10
            # What is told second by second differs by the moments in which the pages came, not in what happened.
            assert sum(each.updates for each in feed.seconds.since(0)) > 0
            assert feed.age_ms(fleet.clock.now_ms()) < 2_000


@pytest.mark.night
async def test_a_reader_who_comes_late_needs_no_call_of_its_own(members: list[Member], fleet: HeldFleet) -> None:
    with ExitStack() as stack:
        await fleet.until(all_live(opened(stack, members[:1], BTC)))
        before = len(fleet.exchange.requests)

        await fleet.until(all_live(opened(stack, members[1:], BTC)))

        assert len(fleet.exchange.requests) == before


@pytest.mark.night
@pytest.mark.parametrize("skew_ms", [0, 9_000])
async def test_a_reader_who_comes_late_learns_how_old_the_leaders_book_is_though_its_clock_is_behind(
    members: list[Member], fleet: HeldFleet, skew_ms: int
) -> None:
    fleet.exchange.skew_ms = skew_ms
    with ExitStack() as stack:
        [first] = opened(stack, members[:1], BTC)
        await fleet.until(all_live([first]))
        await fleet.run(1_000)
        fleet.exchange.hub.faults.add(StreamFault(kind="drop", stream="btcusdt@depth*", times=None))
        await fleet.run(3_000)

        [late] = opened(stack, members[1:2], BTC)
        await fleet.until(all_live([late]))

        assert snapshots(fleet.exchange) == 1
        assert late.book_ms == first.book_ms
        assert late.age_ms(fleet.exchange.now_ms()) >= 3_000
        assert late.age_ms(members[1].hub.time.now_ms()) >= 3_000


@pytest.mark.night
async def test_a_leader_that_leaves_hands_its_symbols_over(
    connect: Connect, members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        async with joined(connect, fleet) as first:
            with first.hub.reading(BTC) as led:
                assert led is not None
                await fleet.until(lambda: led.is_live)
                feeds = opened(stack, members, BTC)
                await fleet.until(all_live(feeds))
                assert first.leader(BTC)

        await fleet.until(lambda: any(each.leader(BTC) for each in members))
        await fleet.until(all_live(feeds))
        assert set(fleet.exchange.hub.streams().values()) == {1}


@pytest.mark.parametrize("kind", ["drop", "gap", "crossed"])
async def test_what_breaks_at_the_leader_is_mended_everywhere_by_one_snapshot(
    members: list[Member], fleet: HeldFleet, kind: str
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await fleet.until(all_live(feeds))

        fleet.exchange.hub.faults.add(StreamFault(kind=kind, stream="btcusdt@depth@100ms"))  # pyright: ignore[reportArgumentType]
        await fleet.until(lambda: all(feed.counts.gaps + feed.counts.lost + feed.counts.crossed for feed in feeds))
        await fleet.until(all_live(feeds))

        assert snapshots(fleet.exchange) == 2


@pytest.mark.night
async def test_an_engine_that_is_killed_leaves_the_leader_live_and_followers_old_then_silent(
    members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await fleet.until(all_live(feeds))
        led = leading(members, BTC).hub.peek(BTC)
        followed = [feed for feed in feeds if feed is not led]

        fleet.server.kill()
        at_ms = fleet.clock.now_ms()
        await fleet.until(lambda: not any(feed.is_live for feed in followed))

        assert 4_000 < fleet.clock.now_ms() - at_ms < 15_000
        assert led is not None
        assert led.is_live
        fleet.server.start_empty()
        await answering(members)
        await fleet.until(all_live(feeds))
        assert leading(members, BTC)


@pytest.mark.night
async def test_an_engine_that_was_emptied_costs_no_stream_and_no_snapshot(
    members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await fleet.until(all_live(feeds))
        leader = leading(members, BTC)
        told = leader.leader(BTC)
        assert told is not None
        token = int(told.lease.token)

        fleet.server.command("FLUSHALL")
        await fleet.until(lambda: int(told.lease.token) > token)
        await fleet.until(lambda: all(feed.counts.lost for feed in feeds if feed is not leader.hub.peek(BTC)))
        await fleet.until(all_live(feeds))

        assert leading(members, BTC) is leader
        assert snapshots(fleet.exchange) == 1
        assert set(fleet.exchange.hub.streams().values()) == {1}


@pytest.mark.night
async def test_an_old_page_that_is_published_past_the_fence_is_refused_by_its_readers(
    members: list[Member], fleet: HeldFleet
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await fleet.until(all_live(feeds))
        leader = leading(members, BTC)
        channel = f"feeds:{leader.hub.url}:{BTC}"
        stolen = await leader.engine.get(channel)
        assert stolen is not None
        threads = [each.fleet.shares[BTC].follower.thread for each in members if each is not leader]
        await fleet.run(OLDEST_MS)
        ids = [feed.book.last_update_id for feed in feeds]

        await leader.engine.publish(channel, stolen)
        await fleet.run(STEP_MS)

        assert [thread.refused for thread in threads] == [1, 1]
        assert [(feed.counts.lost, feed.counts.gaps) for feed in feeds] == [(0, 0)] * len(feeds)
        assert all(feed.book.last_update_id >= before for feed, before in zip(feeds, ids, strict=True))
