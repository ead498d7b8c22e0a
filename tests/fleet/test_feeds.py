"""Several hubs that read the same markets: each symbol is streamed by one of them, and all see the same."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from itertools import pairwise

import anyio
import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.loopback import Loopback
from mcp_binance_server.simulator.stream_faults import StreamFault
from support.desk import Loop
from support.fleet_member import Member, member
from support.state_server import Connect, StateServer
from support.stepped import STREAMED

pytestmark = pytest.mark.anyio

BTC, ETH, BNB, SOL = SYMBOLS = tuple(Symbol(f"{base}USDT") for base in ("BTC", "ETH", "BNB", "SOL"))
STREAMS_A_SYMBOL = 4
CLOCK = SystemClock()


@pytest.fixture
def exchange() -> SimulatedExchange:
    return SimulatedExchange(CLOCK)


@pytest.fixture
async def members(connect: Connect, exchange: SimulatedExchange) -> AsyncIterator[list[Member]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                member(await connect(), STREAMED, transport=Loop(exchange), dialer=Loopback(exchange), clock=CLOCK)
            )
            for _ in range(3)
        ]


async def until(holds: Callable[[], bool], within_secs: float = 30) -> float:
    """Wait until something holds; return how many milliseconds that took."""
    began = CLOCK.monotonic_ms()
    with anyio.fail_after(within_secs):
        while not holds():
            await CLOCK.sleep_ms(5)
    return CLOCK.monotonic_ms() - began


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


async def test_three_processes_that_read_four_symbols_open_four_and_fetch_four_books(
    members: list[Member], exchange: SimulatedExchange
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, *SYMBOLS)
        await until(all_live(feeds))
        await CLOCK.sleep_ms(1_000)

        streams = exchange.hub.streams()
        assert len(streams) == STREAMS_A_SYMBOL * len(SYMBOLS)
        assert set(streams.values()) == {1}
        assert snapshots(exchange) == len(SYMBOLS)
        assert all(leading(members, symbol) for symbol in SYMBOLS)
        assert [feed.counts.gaps + feed.counts.lost for feed in feeds] == [0] * len(feeds)


async def test_a_follower_sees_every_book_trade_and_quote_that_the_leader_saw(members: list[Member]) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await until(all_live(feeds))
        leader = leading(members, BTC)
        led = leader.hub.peek(BTC)
        assert led is not None
        books = {led.book.last_update_id: led.book.top(100)}
        followed: list[tuple[SymbolFeed, int]] = []
        compared = 0
        for _ in range(300):
            await CLOCK.sleep_ms(10)
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
            assert feed.age_ms(CLOCK.now_ms()) < 2_000


async def test_a_reader_who_comes_late_needs_no_call_of_its_own(
    members: list[Member], exchange: SimulatedExchange
) -> None:
    with ExitStack() as stack:
        await until(all_live(opened(stack, members[:1], BTC)))
        before = len(exchange.requests)

        await until(all_live(opened(stack, members[1:], BTC)))

        assert len(exchange.requests) == before


async def test_a_leader_that_leaves_hands_its_symbols_over(
    connect: Connect, members: list[Member], exchange: SimulatedExchange
) -> None:
    with ExitStack() as stack:
        async with member(
            await connect(), STREAMED, transport=Loop(exchange), dialer=Loopback(exchange), clock=CLOCK
        ) as first:
            with first.hub.reading(BTC) as led:
                assert led is not None
                await until(lambda: led.is_live)
                feeds = opened(stack, members, BTC)
                await until(all_live(feeds))
                assert first.leader(BTC)

        await until(lambda: any(each.leader(BTC) for each in members))
        await until(all_live(feeds))
        assert set(exchange.hub.streams().values()) == {1}


@pytest.mark.parametrize("kind", ["drop", "gap", "crossed"])
async def test_what_breaks_at_the_leader_is_mended_everywhere_by_one_snapshot(
    members: list[Member], exchange: SimulatedExchange, kind: str
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await until(all_live(feeds))

        exchange.hub.faults.add(StreamFault(kind=kind, stream="btcusdt@depth@100ms"))  # pyright: ignore[reportArgumentType]
        await until(lambda: all(feed.counts.gaps + feed.counts.lost + feed.counts.crossed for feed in feeds))
        await until(all_live(feeds))

        assert snapshots(exchange) == 2


async def test_an_engine_that_is_killed_leaves_the_leader_live_and_followers_old_then_silent(
    members: list[Member], server: StateServer
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await until(all_live(feeds))
        led = leading(members, BTC).hub.peek(BTC)
        followed = [feed for feed in feeds if feed is not led]

        server.kill()
        at_ms = CLOCK.now_ms()
        await until(lambda: not any(feed.is_live for feed in followed))

        assert 4_000 < CLOCK.now_ms() - at_ms < 15_000
        assert led is not None
        assert led.is_live
        server.start_empty()
        await until(all_live(feeds))
        assert leading(members, BTC)


async def test_an_engine_that_was_emptied_costs_no_stream_and_no_snapshot(
    members: list[Member], exchange: SimulatedExchange, server: StateServer
) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await until(all_live(feeds))
        leader = leading(members, BTC)
        told = leader.leader(BTC)
        assert told is not None
        token = int(told.lease.token)

        server.command("FLUSHALL")
        await until(lambda: int(told.lease.token) > token)
        await until(lambda: all(feed.counts.lost for feed in feeds if feed is not leader.hub.peek(BTC)))
        await until(all_live(feeds))

        assert leading(members, BTC) is leader
        assert snapshots(exchange) == 1
        assert set(exchange.hub.streams().values()) == {1}


async def test_an_engine_that_stood_still_is_followed_again(members: list[Member], server: StateServer) -> None:
    with ExitStack() as stack:
        feeds = opened(stack, members, BTC)
        await until(all_live(feeds))

        server.freeze()
        await CLOCK.sleep_ms(3_000)
        server.thaw()

        await until(lambda: all(feed.is_live and feed.age_ms(CLOCK.now_ms()) < 2_000 for feed in feeds))
        assert leading(members, BTC)
