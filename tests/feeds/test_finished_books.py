"""A process whose readers need no more than the best levels is shown the book of the one that leads the symbol."""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest

from feeds.test_fleet_interest import BTC, LINGER_MS, Pair, pair
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from mcp_binance_server.feeds.fleet.journal import SharedBook
from mcp_binance_server.feeds.fleet.leader import FINISHED_MS, finished_channel
from mcp_binance_server.feeds.readers import FINISHED_LEVELS

pytestmark = pytest.mark.anyio

ETH = Symbol("ETHUSDT")
START_MS = 1_784_592_120_000


@contextmanager
def shown(both: Pair) -> Generator[SymbolFeed]:
    with both.second.hub.reading(BTC, needs="book") as feed:
        assert feed is not None
        yield feed


@asynccontextmanager
async def led_by_the_first() -> AsyncGenerator[tuple[Pair, SymbolFeed]]:
    async with pair() as both:
        with both.first.hub.reading(BTC) as feed:
            assert feed is not None
            await both.run(2_000)
            yield both, feed


@pytest.mark.slow
async def test_who_needs_the_best_levels_is_shown_the_leaders_and_replays_nothing() -> None:
    async with led_by_the_first() as (both, led):
        with shown(both) as feed:
            tops, seen = dict[int, BookSnapshot](), list[BookSnapshot]()
            for _ in range(100):
                await both.run(50)
                tops[led.book.last_update_id] = led.book.top(FINISHED_LEVELS)
                if feed.is_live:
                    seen.append(feed.book.top(FINISHED_LEVELS))
            age_ms = feed.age_ms(both.second.hub.time.now_ms())

            assert feed.is_finished
            assert all(top == tops[top.last_update_id] for top in seen)
            assert len({top.last_update_id for top in seen}) >= 15
            assert age_ms <= 600
            assert feed.ticker is not None
            assert led.last_trade_ms is not None
            assert 0 <= led.last_trade_ms - (feed.last_trade_ms or 0) <= 2_000
            assert (len(feed.tape), len(feed.seconds), len(feed.quotes)) == (0, 0, 0)
            assert feed.counts.lost == feed.counts.gaps == 0


@pytest.mark.slow
async def test_from_the_first_who_needs_events_on_they_are_replayed_and_the_book_never_goes_back() -> None:
    ids = list[int]()
    async with led_by_the_first() as (both, _), AsyncExitStack() as stack:
        feed = stack.enter_context(shown(both))
        for _ in range(20):
            await both.run(50)
            ids.append(feed.book.last_update_id)
        assert feed.is_finished
        with both.second.hub.reading(BTC):
            assert not feed.is_live
            for _ in range(60):
                await both.run(50)
                ids.append(feed.book.last_update_id)

            assert feed.is_live
            assert not feed.is_finished
            assert ids == sorted(ids)
            assert len(feed.book.top(1_000).bids) > FINISHED_LEVELS
            assert len(feed.seconds) >= 1
            assert feed.counts.lost == 0


@pytest.mark.slow
async def test_who_was_shown_books_leads_when_the_leader_has_gone_and_collects_from_then_on() -> None:
    async with pair() as both:
        both.first.hub.most = 1
        with both.first.hub.reading(BTC):
            await both.run(2_000)
        with shown(both) as feed:
            await both.run(1_000)
            assert feed.is_finished
            shown_id = feed.book.last_update_id
            with both.first.hub.reading(ETH):
                await both.run(5_000)

                assert both.second.leader(BTC)
                assert feed.is_live
                assert not feed.is_finished
                assert feed.book.last_update_id > shown_id
                assert len(feed.tape) > 0


@pytest.mark.slow
@pytest.mark.night
async def test_a_leader_writes_finished_books_only_as_long_as_somebody_needs_them() -> None:
    async with led_by_the_first() as (both, _):
        leader = both.first.leader(BTC)
        assert leader is not None
        channel = finished_channel(leader.channel)
        with shown(both):
            await both.run(2 * FINISHED_MS, step_ms=200)
            while_read = await both.first.engine.get(channel)
        await both.run(2 * LINGER_MS + FINISHED_MS, step_ms=200)

        assert while_read is not None
        assert await both.first.engine.get(channel) is None
        assert both.first.leader(BTC) is leader


def book_of(update_id: int, bid: str = "99", ask: str = "101") -> SharedBook:
    return SharedBook(update_id, [(bid, "1")], [(ask, "1")], FINISHED_LEVELS, START_MS)


def is_taken(feed: SymbolFeed, book: SharedBook, at_ms: int) -> bool:
    return feed.on_finished(book.last_update_id, book.finished, time_ms=at_ms, as_of_ms=at_ms, lag_ms=0, traded_ms=None)


async def test_an_older_book_is_not_shown_whether_somebody_looked_at_the_newer_one_or_not() -> None:
    looked_at, unseen = (SymbolFeed(BTC, FeedMemoryLimit.shared_by(1)) for _ in range(2))
    for feed in (looked_at, unseen):
        assert is_taken(feed, book_of(10), START_MS)
    assert looked_at.book.last_update_id == 10

    taken = [is_taken(feed, book_of(9), START_MS + 250) for feed in (looked_at, unseen)]

    assert taken == [False, False]
    assert [(feed.book.last_update_id, feed.book_ms) for feed in (looked_at, unseen)] == [(10, START_MS)] * 2


@pytest.mark.parametrize("book", [book_of(11, bid="102"), book_of(11, bid="101"), book_of(11, bid="nan")])
async def test_a_book_that_cannot_be_is_refused(book: SharedBook) -> None:
    with pytest.raises(ValueError, match=r"bids reach asks|not a price"):
        book.check()
