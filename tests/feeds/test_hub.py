"""The hub on the simulated exchange: one stream for all readers, opened late, closed after idle, mended when broken."""

import asyncio
from contextlib import ExitStack
from itertools import pairwise

import anyio
import msgspec
import pytest

from binance_simulator.faults import StreamFault
from feeds.conftest import Floor, OpenFloor
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.dialing import StreamConnection
from mcp_binance_server.exchange.spot.streams import MarketSocket
from mcp_binance_server.feeds.feed import SymbolFeed
from support.requirement import requirement
from support.stepped import settled

pytestmark = pytest.mark.anyio

BTC, ETH, BNB, SOL = (Symbol(f"{base}USDT") for base in ("BTC", "ETH", "BNB", "SOL"))
DEPTH = "btcusdt@depth@100ms"


def true_top(floor: Floor, symbol: Symbol, count: int) -> list[list[tuple[str, str]]]:
    """Return what the exchange itself would show at the moment the stream has told of."""
    listed = floor.exchange.listing.symbols[symbol]
    depth = floor.exchange.stage.market.depth(listed, count, floor.exchange.now_ms() // 100 * 100)
    return [[(listed.price(price), listed.quantity(lots)) for price, lots in side] for side in (depth.bids, depth.asks)]


def stale_marks(seen: list[bool]) -> int:
    """Count how often a reader saw the book being taken away."""
    return sum(before and not after for before, after in pairwise(seen))


async def watch_for(floor: Floor, feed: SymbolFeed, duration_ms: int) -> list[bool]:
    seen = list[bool]()
    for _ in range(duration_ms // 100):
        await floor.run(100)
        seen.append(feed.is_live)
    return seen


async def test_a_book_is_live_soon_after_its_first_reader_and_equals_the_exchanges(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        assert floor.exchange.hub.open_connections == 0
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(1_000)
            assert feed.is_live
            await floor.run(5_000)

            assert floor.snapshots() == 1
            assert feed.counts.gaps == 0
            assert list(feed.book.written_top(100)) == true_top(floor, BTC, 100)
            assert len(feed.seconds) >= 5
            assert len(feed.quotes) > 0


@pytest.mark.night
@requirement("ruling/29")
async def test_a_hundred_readers_share_one_stream_and_after_idle_nothing_is_left(open_floor: OpenFloor) -> None:
    async with open_floor(linger_ms=60_000) as floor:
        before = len(asyncio.all_tasks())
        with ExitStack() as readers:
            feeds = [readers.enter_context(floor.hub.reading(BTC)) for _ in range(100)]
            await floor.run(3_000)
            assert all(feed is feeds[0] for feed in feeds)
            assert floor.exchange.hub.open_connections == 1
            assert floor.snapshots() == 1
            assert [each.readers for each in floor.hub.watched()] == [100]
        await floor.run(59_000, step_ms=1_000)
        assert floor.hub.peek(BTC) is feeds[0]
        await floor.run(3_000, step_ms=1_000)

        assert floor.hub.watched() == []
        assert floor.hub.sockets() == []
        assert floor.exchange.hub.open_connections == 0
        assert len(asyncio.all_tasks()) == before


async def test_a_reader_in_time_keeps_the_stream(open_floor: OpenFloor) -> None:
    async with open_floor(linger_ms=10_000) as floor:
        for _ in range(5):
            with floor.hub.reading(BTC) as feed:
                await floor.run(1_000)
            await floor.run(8_000, step_ms=1_000)
            assert floor.hub.peek(BTC) is feed
        assert floor.snapshots() == 1


async def test_at_most_so_many_symbols_and_an_idle_one_makes_room(open_floor: OpenFloor) -> None:
    async with open_floor(most=2) as floor:
        with floor.hub.reading(BTC), floor.hub.reading(ETH), floor.hub.reading(BNB) as third:
            assert third is None
            await floor.run(500)
        with floor.hub.reading(BTC):
            await floor.run(500)
            with floor.hub.reading(BNB) as third:
                assert third is not None
                assert [each.feed.symbol for each in floor.hub.watched()] == [BNB, BTC]


async def test_many_symbols_share_a_connection(open_floor: OpenFloor) -> None:
    async with open_floor() as floor, _readers(floor, BTC, ETH, BNB, SOL) as feeds:
        await floor.run(4_000)
        assert floor.exchange.hub.open_connections == 1
        assert [feed.is_live for feed in feeds] == [True] * 4


class _readers:  # noqa: N801 - reads as a function
    def __init__(self, floor: Floor, *symbols: Symbol) -> None:
        self._stack, self._floor, self._symbols = ExitStack(), floor, symbols

    async def __aenter__(self) -> list[SymbolFeed]:
        feeds = [self._stack.enter_context(self._floor.hub.reading(symbol)) for symbol in self._symbols]
        return [feed for feed in feeds if feed is not None]

    async def __aexit__(self, *_: object) -> None:
        self._stack.close()


@pytest.mark.parametrize("kind", ["drop", "gap", "swap", "crossed"])
async def test_a_broken_book_is_back_within_three_seconds(open_floor: OpenFloor, kind: str) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind=kind, stream=DEPTH))  # pyright: ignore[reportArgumentType]
            seen = await watch_for(floor, feed, 4_000)

            assert stale_marks([True, *seen]) <= 1
            assert len([live for live in seen if not live]) <= 30
            assert feed.is_live
            assert (floor.snapshots(), feed.counts.joins) == (2, 2)
            assert list(feed.book.written_top(50)) == true_top(floor, BTC, 50)


@pytest.mark.parametrize("stream", ["aggTrade", "bookTicker", "ticker"])
async def test_an_event_that_cannot_be_read_is_counted_and_harms_nothing(open_floor: OpenFloor, stream: str) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            for body in (b"{}", b'{"u":1,"b":"x","B":"1","a":"2","A":"1"}', b'{"a":1,"p":"1e5"}', b"[]"):
                floor.hub.on_event(f"btcusdt@{stream}", msgspec.Raw(body))

            assert (feed.is_live, feed.counts.malformed) == (True, 4)


async def test_who_waits_for_a_broken_book_waits_until_it_is_mended(open_floor: OpenFloor) -> None:
    async with open_floor() as floor, anyio.create_task_group() as tasks:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind="drop", stream=DEPTH))
            floor.exchange.hub.faults.add(StreamFault(kind="stale_snapshot"))
            await floor.run(200)
            assert not feed.is_live
            seen = list[bool]()

            async def wait() -> None:
                await floor.hub.wait_until_live(BTC, 60_000)
                seen.append(feed.is_live)

            tasks.start_soon(wait)
            await floor.run(3_000)
            assert seen == [True]


async def test_a_doubled_event_changes_nothing(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind="duplicate", stream="*", times=20))
            seen = await watch_for(floor, feed, 2_000)

            assert all(seen)
            assert floor.snapshots() == 1


async def test_an_old_snapshot_is_refused_and_asked_for_again(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        floor.exchange.hub.faults.add(StreamFault(kind="stale_snapshot", times=2))
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(5_000)
            assert feed.is_live
            assert floor.snapshots() == 3


async def test_after_a_cut_the_reader_sees_one_stale_mark(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind="cut", stream=DEPTH))
            seen = await watch_for(floor, feed, 10_000)

            assert stale_marks([True, *seen]) == 1
            assert feed.is_live
            assert feed.counts.lost == 1
            assert floor.exchange.hub.open_connections == 1


async def test_a_shutdown_notice_is_obeyed_before_the_server_goes(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind="shutdown"))
            seen = await watch_for(floor, feed, 6_000)

            (socket,) = floor.hub.sockets()
            assert all(seen)
            assert (socket.counts.renewed, socket.counts.lost) == (1, 0)
            assert floor.exchange.hub.open_connections == 1
            assert floor.snapshots() == 1


@pytest.mark.night
@pytest.mark.flood
async def test_a_day_passes_without_a_stale_mark(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            (socket,) = floor.hub.sockets()
            assert isinstance(socket, MarketSocket)
            # A day of a minute: the exchange ends every connection after 60 s, and we leave at 50.
            floor.exchange.hub.life_ms = 60_000
            socket.life_ms = 50_000
            floor.exchange.hub.faults.add(StreamFault(kind="shutdown"))
            await floor.run(5_000)
            seen = await watch_for(floor, feed, 200_000)

            assert socket.counts.renewed >= 3
            assert stale_marks([True, *seen]) <= 1
            assert feed.is_live


async def test_a_connection_that_falls_silent_is_replaced(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(3_000)
            floor.exchange.hub.faults.add(StreamFault(kind="silent", stream=DEPTH))
            await floor.run(36_000)

            (socket,) = floor.hub.sockets()
            assert socket.counts.renewed == 1
            assert feed.is_live
            assert feed.age_ms(floor.time.now_ms()) <= 200
            assert list(feed.book.written_top(50)) == true_top(floor, BTC, 50)


async def test_an_exchange_without_streams_is_asked_ever_more_slowly(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        dials = list[float]()
        refuse = _Refusing(dials, floor)
        floor.hub.dialer = refuse
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(600_000, step_ms=500)
            assert feed.state == "connecting"
        pauses = [after - before for before, after in pairwise(dials)]
        late = [pause for pause, at_ms in zip(pauses, dials, strict=False) if at_ms > 120_000]
        assert max(pauses[:35]) <= 2_500
        assert max(pauses) <= 30_500
        assert sum(pause > 5_000 for pause in late) > len(late) / 2
        assert 20 <= len(dials) <= 200
    await settled()


class _Refusing:
    def __init__(self, dials: list[float], floor: Floor) -> None:
        self._dials, self._floor = dials, floor

    async def connect(self, url: str) -> StreamConnection:
        self._dials.append(self._floor.clock.monotonic_ms())
        raise ConnectionRefusedError(url)
