"""One symbol's feed: when its book may be shown, what breaks it, and what it remembers."""

from dataclasses import replace
from decimal import Decimal

import pytest

from feeds.recorded import book_of, delta_of, trade_of
from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.domain.market import BookDelta, BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.book import Joined, MissedUpdates, TooOld
from mcp_binance_server.feeds.feed import LEAST_KNOWN, FeedMemoryLimit, SymbolFeed

START_MS = 1_784_592_120_000
ASKED = 1_000


@pytest.fixture
def feed() -> SymbolFeed:
    return SymbolFeed(Symbol("XRPUSDT"), FeedMemoryLimit.shared_by(20))


def level(price: int, quantity: int = 1) -> tuple[str, str]:
    return f"{price}.00", f"{quantity}.000"


def bring_up(feed: SymbolFeed, *, last_id: int = 10, at_ms: int = START_MS) -> None:
    feed.on_depth(delta_of(last_id, last_id + 1), at_ms)
    bids, asks = [level(99), level(98)], [level(101), level(102)]
    assert isinstance(feed.on_snapshot(book_of(last_id, bids, asks), asked=ASKED, time_ms=at_ms), Joined)


def test_a_book_may_be_shown_only_after_a_snapshot_joined_the_stream(feed: SymbolFeed) -> None:
    assert (feed.state, feed.is_live, feed.needs_snapshot) == ("connecting", False, False)

    feed.on_depth(delta_of(10, 11), START_MS)
    assert (feed.state, feed.is_live, feed.needs_snapshot) == ("syncing", False, True)

    outcome = feed.on_snapshot(book_of(5, [level(99)], [level(101)]), asked=ASKED, time_ms=START_MS)
    assert isinstance(outcome, TooOld)
    assert not feed.is_live

    bring_up(feed)
    assert (feed.state, feed.is_live, feed.needs_snapshot) == ("live", True, False)
    assert feed.unbroken_ms == START_MS


@pytest.mark.parametrize(("newest_ms", "age_ms"), [(0, 6_000), (START_MS + 5_900, 100)])
def test_a_book_is_as_old_as_its_snapshot_or_the_newest_event_that_it_took(
    feed: SymbolFeed, newest_ms: int, age_ms: int
) -> None:
    feed.on_quiet()
    if newest_ms:
        feed.on_depth(replace(delta_of(10, 12), event_ms=newest_ms), newest_ms)
    came_ms = START_MS + 6_000

    feed.on_snapshot(book_of(10, [level(99)], [level(101)]), asked=ASKED, time_ms=came_ms, as_of_ms=START_MS)

    assert feed.is_live
    assert feed.age_ms(came_ms) == age_ms


@pytest.mark.parametrize(("ahead_ms", "age_ms"), [(0, 0), (250, 0), (3_000, 1_000)])
def test_an_event_from_a_time_to_come_may_have_been_on_its_way_for_long(
    feed: SymbolFeed, ahead_ms: int, age_ms: int
) -> None:
    bring_up(feed)

    feed.on_depth(replace(delta_of(12, 13), event_ms=START_MS + 100 + ahead_ms), START_MS + 100)

    assert feed.age_ms(START_MS + 100) == age_ms


def test_a_quiet_symbol_is_put_in_step_without_an_event(feed: SymbolFeed) -> None:
    feed.on_quiet()
    assert feed.needs_snapshot

    outcome = feed.on_snapshot(book_of(10, [level(99)], [level(101)]), asked=ASKED, time_ms=START_MS)

    assert outcome == Joined(applied=0, stale=0)
    assert feed.is_live
    feed.on_depth(delta_of(11, 12, bids=[level(100)]), START_MS + 100)
    assert feed.is_live
    assert feed.book.best_bid == (Decimal(100), Decimal(1))


def test_a_gap_takes_the_book_away_until_the_next_snapshot(feed: SymbolFeed) -> None:
    bring_up(feed)
    feed.on_depth(delta_of(12, 13), START_MS + 100)
    feed.on_depth(delta_of(15, 16), START_MS + 200)

    assert (feed.is_live, feed.needs_snapshot, feed.unbroken_ms) == (False, True, None)
    assert feed.counts.gaps == 1

    # The event that showed the gap is kept: with it a snapshot of the moment before joins.
    outcome = feed.on_snapshot(book_of(15, [level(90)], [level(91)]), asked=ASKED, time_ms=START_MS + 300)
    assert isinstance(outcome, Joined)
    assert feed.book.last_update_id == 16


def test_a_crossed_book_is_never_shown(feed: SymbolFeed) -> None:
    bring_up(feed)
    feed.on_depth(delta_of(12, 12, bids=[level(101)]), START_MS + 100)

    assert not feed.is_live
    assert feed.counts.crossed == 1

    crossed = book_of(12, [level(105)], [level(104)])
    assert isinstance(feed.on_snapshot(crossed, asked=ASKED, time_ms=START_MS + 200), MissedUpdates)
    assert not feed.is_live


def test_an_unreadable_event_takes_the_book_away(feed: SymbolFeed) -> None:
    bring_up(feed)
    feed.on_depth(BookDelta(12, 12, START_MS, [("not a price", "1")], []), START_MS + 100)

    assert (feed.is_live, feed.counts.malformed) == (False, 1)


def test_a_lost_connection_forgets_quotes_and_keeps_the_hours(feed: SymbolFeed) -> None:
    bring_up(feed)
    feed.on_quote(1, QuoteState(99, 1, 101, 1), START_MS)
    for tenth in range(1, 31):
        feed.on_depth(delta_of(11 + tenth, 11 + tenth), START_MS + 100 * tenth)
    seconds = len(feed.seconds)
    feed.on_lost()

    assert feed.state == "connecting"
    assert len(feed.quotes) == 0
    assert len(feed.seconds) == seconds == 3


def test_each_second_is_written_down_once(feed: SymbolFeed) -> None:
    bring_up(feed)
    feed.on_trade(trade_of(1, START_MS), START_MS + 50)
    feed.on_quote(1, QuoteState(99, 1, 101, 1), START_MS + 60)
    feed.on_quote(2, QuoteState(99, 3, 101, 1), START_MS + 70)
    feed.on_quote(2, QuoteState(99, 3, 101, 1), START_MS + 80)
    feed.on_depth(delta_of(12, 14, bids=[level(99, 2)]), START_MS + 100)
    feed.on_depth(delta_of(15, 15, asks=[level(101, 5)]), START_MS + 1_100)

    (second,) = feed.seconds.since(0)

    assert second.time_ms == START_MS + 1_000
    assert (second.mid, second.spread_bps) == (100.0, 200.0)
    assert (second.updates, second.additions_bid, second.additions_ask) == (3, 1, 0)
    assert (second.trades, second.ofi, second.quotes) == (1, 2.0, 1)
    assert (second.bid_depth, second.ask_depth) == (0.0, 0.0)  # nothing stands within 10 bps


def deep(best_bid: int, last_id: int) -> BookSnapshot:
    bids = [level(best_bid - each) for each in range(ASKED)]
    asks = [level(best_bid + 1 + each) for each in range(ASKED)]
    return book_of(last_id, bids, asks)


def test_a_market_that_nears_the_end_of_what_is_known_is_renewed_without_a_break(feed: SymbolFeed) -> None:
    feed.on_depth(delta_of(10, 11), START_MS)
    feed.on_snapshot(deep(5_000, 10), asked=ASKED, time_ms=START_MS)
    eaten = [level(5_000 - each, 0) for each in range(ASKED - LEAST_KNOWN + 1)]
    feed.on_depth(delta_of(12, 12, bids=eaten), START_MS + 100)
    assert not feed.needs_snapshot  # looked at once a second

    feed.on_depth(delta_of(13, 13), START_MS + 1_000)
    assert feed.is_live
    assert feed.needs_snapshot
    feed.on_depth(delta_of(14, 14, bids=[level(4_249, 7)]), START_MS + 1_100)

    # Older than what was seen since the renewal began: it would take the book back.
    assert isinstance(feed.on_snapshot(deep(4_000, 11), asked=ASKED, time_ms=START_MS + 1_200), TooOld)
    assert isinstance(feed.on_snapshot(deep(4_249, 14), asked=ASKED, time_ms=START_MS + 1_300), Joined)
    assert feed.is_live
    assert not feed.needs_snapshot
    assert feed.unbroken_ms == START_MS
    assert not feed.book.is_thin(LEAST_KNOWN)


def test_what_is_cheap_to_take_is_kept_for_half_a_minute(feed: SymbolFeed) -> None:
    feed.on_quiet()
    bids, asks = (
        [("99.99", "5.000"), ("99.00", "90.000")],
        [("100.01", "3.000"), ("100.02", "4.000"), ("101.00", "9.000")],
    )
    feed.on_snapshot(book_of(10, bids, asks), asked=ASKED, time_ms=START_MS)

    for at in range(1, 41):
        gone = [("100.02", "0.000")] if at == 20 else []
        feed.on_depth(delta_of(10 + at, asks=gone), START_MS + at * 1000)

    kept = [*feed.cheap]
    assert len(kept) == 30
    assert kept[-1].time_ms - kept[0].time_ms == 29_000
    assert {(each.cheap, each.touch) for each in kept} == {(500.0, 300.0), (300.0, 300.0)}
    assert not any(each.truncated for each in kept)


def test_a_book_that_ends_within_reach_is_kept_as_a_lower_bound(feed: SymbolFeed) -> None:
    feed.on_quiet()
    feed.on_snapshot(book_of(10, [("99.99", "5.000")], [("100.01", "3.000")]), asked=ASKED, time_ms=START_MS)

    feed.on_depth(delta_of(11, 11), START_MS + 2_000)

    assert [(each.cheap, each.truncated) for each in feed.cheap] == [(300.0, True)]
