"""Events that make no sense: each costs its own symbol a new book and a line, and nothing else."""

import logging
from contextlib import ExitStack

import anyio
import msgspec
import pytest

from binance_simulator.faults import StreamFault
from feeds.conftest import OpenFloor
from feeds.test_hub import BTC, DEPTH, ETH, true_top
from mcp_binance_server.domain.market import BookSnapshot, Ticker
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from mcp_binance_server.feeds.fleet.journal import SharedBook
from mcp_binance_server.feeds.snapshots import Snapshots, Troubles
from support.stepped import SteppedClock

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("text", ["abc", "NaN", "9" * 300])
async def test_a_bad_number_while_a_book_joins_or_stands_costs_one_resync(open_floor: OpenFloor, text: str) -> None:
    async with open_floor() as floor:
        faults = floor.exchange.hub.faults
        faults.add(StreamFault(kind="bad_price", stream=DEPTH, text=text))
        with floor.hub.reading(BTC) as feed, floor.hub.reading(ETH) as other:
            assert feed is not None
            assert other is not None
            await floor.run(2_000)
            assert (feed.is_live, feed.counts.malformed) == (True, 1)
            faults.add(StreamFault(kind="bad_quantity", stream=DEPTH, text=text))
            await floor.run(200)
            assert not feed.is_live
            await floor.run(3_000)

            assert (feed.is_live, feed.counts.malformed, feed.counts.joins) == (True, 2, 2)
            assert list(feed.book.written_top(50)) == true_top(floor, BTC, 50)
            assert (other.counts.joins, other.counts.malformed) == (1, 0)
            assert floor.hub.troubles.totals.refused == 2


@pytest.mark.night
async def test_a_stream_of_garbage_is_asked_for_ever_more_slowly_and_said_once_a_minute(
    open_floor: OpenFloor, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_floor() as floor:
        floor.exchange.hub.faults.add(StreamFault(kind="bad_price", stream=DEPTH, times=None))
        with caplog.at_level(logging.WARNING), floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(30_000)

            said = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
            assert feed.counts.malformed > 200
            assert floor.snapshots() <= 10
            assert said == ["BTCUSDT: ignored invalid stream events (1)"]


@pytest.mark.parametrize("stream", ["aggTrade", "bookTicker", "ticker"])
async def test_other_streams_lose_the_event_and_the_book_stays(open_floor: OpenFloor, stream: str) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(2_000)
            floor.exchange.hub.faults.add(StreamFault(kind="bad_quantity", stream=f"btcusdt@{stream}", text="1e5"))
            await floor.run(3_000)

            assert (feed.is_live, feed.counts.malformed, feed.counts.joins) == (True, 1, 1)


@pytest.mark.parametrize(
    "body",
    [
        b'{"e":"\xff"}',
        b"[" * 100_000,
        b'{"E":1,"s":"BTCUSDT","U":1,"u":' + b"9" * 5_000 + b',"b":[],"a":[]}',
        b'{"E":9999999999999,"s":"BTCUSDT","U":1,"u":2,"b":[],"a":[]}',
        b'{"E":1784592123456,"s":"ETHUSDT","U":1,"u":2,"b":[],"a":[]}',
        b"",
        b"null",
    ],
    ids=["no text", "too deep", "5000 digits", "a time to come", "another symbol", "nothing", "null"],
)
async def test_bytes_that_are_no_event_of_this_book_cost_it_a_resync(open_floor: OpenFloor, body: bytes) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(2_000)
            floor.hub.on_event(DEPTH, msgspec.Raw(body))
            assert (feed.is_live, feed.counts.malformed) == (False, 1)
            await floor.run(2_000)
            assert feed.is_live


async def test_frames_that_cannot_be_read_are_counted_and_said_ever_more_seldom(
    open_floor: OpenFloor, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_floor(linger_ms=1_000) as floor:
        floor.exchange.hub.faults.add(StreamFault(kind="malformed", times=20))
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(5_000)
            assert (feed.is_live, floor.hub.refused) == (True, 20)
        await floor.run(3_000)

        assert floor.hub.sockets() == []
        assert floor.hub.refused == 20
        assert caplog.text.count("could not be read") == 5


async def test_ids_that_begin_again_cost_a_resync_and_no_book_stands_still(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed:
            assert feed is not None
            await floor.run(2_000)
            last, now_ms = feed.book.last_update_id, floor.time.now_ms()
            leap: dict[str, object] = {"E": now_ms, "s": "BTCUSDT", "U": last + 1, "u": 10**15, "b": [], "a": []}
            floor.hub.on_event(DEPTH, msgspec.Raw(msgspec.json.encode(leap)))
            assert feed.book.last_update_id == 10**15
            await floor.run(8_000)

            assert feed.is_live
            assert list(feed.book.written_top(50)) == true_top(floor, BTC, 50)


async def test_a_defect_in_one_feed_begins_it_anew_and_touches_no_other(
    open_floor: OpenFloor, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_floor() as floor:
        with floor.hub.reading(BTC) as feed, floor.hub.reading(ETH) as other:
            assert feed is not None
            assert other is not None
            await floor.run(2_000)

            def defect(ticker: Ticker, time_ms: int) -> None:  # noqa: ARG001 - stands in for a method
                del feed.on_ticker
                raise ZeroDivisionError

            feed.on_ticker = defect
            await floor.run(1_500)
            assert feed.counts.restarts == 1
            await floor.run(3_000)

            assert feed.is_live
            assert list(feed.book.written_top(50)) == true_top(floor, BTC, 50)
            assert (other.counts.joins, other.counts.lost, other.counts.restarts) == (1, 0, 0)
            assert floor.hub.troubles.totals.restarts == 1
            assert "BTCUSDT: its feed failed" in caplog.text


async def test_a_reader_that_fails_when_told_keeps_the_news_from_nobody(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        told = list[None]()

        def fail() -> None:
            raise RuntimeError("a reader's own defect")

        with ExitStack() as readers:
            readers.enter_context(floor.hub.following(BTC, fail))
            feed = readers.enter_context(floor.hub.following(BTC, lambda: told.append(None)))
            assert feed is not None
            await floor.run(2_000)

            assert len(told) > 20
            assert (feed.is_live, feed.counts.joins) == (True, 1)


async def test_a_snapshot_looks_no_younger_once_a_clock_that_was_read_over_a_long_way_is_read_again() -> None:
    clock = SteppedClock()
    time, truth_ms = ServerTime(clock), clock.now_ms()
    time.learn(truth_ms, asked_at_ms=-12_000, answered_at_ms=0)
    feed = SymbolFeed(Symbol("BTCUSDT"), FeedMemoryLimit.shared_by(20))
    feed.on_quiet()

    async def fetch(_symbol: Symbol) -> BookSnapshot:
        return BookSnapshot(5, (), ())

    async with anyio.create_task_group() as tasks:
        Snapshots(fetch, time, clock, lambda _: None, Troubles(clock)).request(feed, tasks)
        await clock.run(5_000, lambda: None)
    time.forget()
    time.learn(truth_ms + 5_000, asked_at_ms=5_000, answered_at_ms=5_000)

    assert feed.age_ms(time.now_ms()) == 5_000


async def test_a_snapshot_that_fails_in_an_unforeseen_way_is_asked_for_again() -> None:
    clock = SteppedClock()
    feed = SymbolFeed(Symbol("BTCUSDT"), FeedMemoryLimit.shared_by(20))
    feed.on_quiet()
    tries = list[float]()

    async def fetch(_symbol: Symbol) -> BookSnapshot:
        tries.append(clock.monotonic_ms())
        if len(tries) < 4:
            raise ZeroDivisionError
        return BookSnapshot(5, (), ())

    async with anyio.create_task_group() as tasks:
        Snapshots(fetch, ServerTime(clock), clock, lambda _: None, Troubles(clock)).request(feed, tasks)
        await clock.run(5_000, lambda: None)

    assert feed.is_live
    assert feed.counts.restarts == 3
    assert tries[0] == tries[1] == 0
    assert 250 <= tries[2] <= 500 < tries[3] <= 1_600


def test_a_book_of_another_process_is_checked_as_the_exchanges_own() -> None:
    shared = SharedBook(5, [("100.00", "1")], [("NaN", "1")], asked=1_000, as_of_ms=0)

    with pytest.raises(ValueError, match="level"):
        shared.snapshot()
