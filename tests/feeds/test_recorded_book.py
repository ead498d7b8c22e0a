"""Eleven recorded minutes of two markets, rebuilt event by event and compared with the exchange's own best prices."""

from bisect import bisect_right

import pytest

from feeds.recorded import Pair, Recording, recording
from mcp_binance_server.domain.market import BookDelta, BookSnapshot
from mcp_binance_server.feeds.book import (
    Applied,
    JoinBuffer,
    Joined,
    LevelCounts,
    LocalBook,
    MissedUpdates,
    Stale,
    TooOld,
)
from support.fixtures import RECORDED_MARKET, needs

pytestmark = needs(RECORDED_MARKET)

PAIRS: tuple[Pair, ...] = ("btcusdt", "ethusdt")


@pytest.fixture(params=PAIRS)
def played(request: pytest.FixtureRequest) -> Recording:
    return recording(request.param)


def joined_book(played: Recording) -> tuple[LocalBook, tuple[BookDelta, ...]]:
    """Return the book in step with the deltas up to its snapshot, and the deltas that follow."""
    buffer, book = JoinBuffer(), LocalBook()
    for delta in played.deltas[: played.before_snapshot]:
        buffer.add(delta)
    assert isinstance(buffer.join(played.snapshot, book), Joined)
    return book, played.deltas[played.before_snapshot :]


@pytest.mark.parametrize(
    ("pair", "applied", "misses", "first_outside"),
    [("btcusdt", 6_493, [50093478174, 50093480542], 2_594), ("ethusdt", 6_468, [], None)],
)
def test_the_rebuilt_best_prices_are_those_of_the_book_ticker(
    pair: Pair, applied: int, misses: list[int], first_outside: int | None
) -> None:
    # In the two misses a tiny best bid of the last ticker is gone already; the next event heals them.
    played = recording(pair)
    quotes = sorted(played.quotes, key=lambda quote: quote.update_id)
    ids = [quote.update_id for quote in quotes]
    book = LocalBook()
    book.load(played.snapshot)
    taken, missed, outside = 0, list[int](), list[int]()

    for delta in played.deltas:
        outcome = book.apply(delta)
        if isinstance(outcome, Stale):
            continue
        assert isinstance(outcome, Applied)
        assert not outcome.is_crossed
        taken += 1
        if not book.knows_best:
            outside.append(taken)
        quote = quotes[bisect_right(ids, delta.last_update_id) - 1]
        (bid,), (ask,) = book.written_top(1)
        if (*bid, *ask) != (quote.bid, quote.bid_size, quote.ask, quote.ask_size):
            missed.append(delta.last_update_id)

    assert taken == applied
    assert missed == misses
    # A thousand bids of BTCUSDT are a third of a percent: after 260 s the market stood beyond all of them.
    assert (outside[0] if outside else None) == first_outside


def test_two_deltas_are_older_than_the_recorded_snapshot_and_the_third_contains_it() -> None:
    played = recording("btcusdt")
    buffer, book = JoinBuffer(), LocalBook()
    for delta in played.deltas[:3]:
        buffer.add(delta)

    outcome = buffer.join(played.snapshot, book)

    assert outcome == Joined(applied=1, stale=2)
    assert book.last_update_id == 50093239224


def test_the_book_outgrows_its_snapshot_and_pruning_leaves_what_is_known() -> None:
    book, rest = joined_book(recording("ethusdt"))
    for delta in rest:
        book.apply(delta)
    grown, best = book.level_counts, book.top(700)

    gone = book.prune()

    assert (grown, book.level_counts) == (LevelCounts(1_744, 1_665), LevelCounts(781, 1_152))
    assert gone == 1_744 + 1_665 - 781 - 1_152
    assert book.top(700) == best
    known = book.known_to
    assert known.bid is not None
    assert known.ask is not None
    assert book.top(781).bids[-1].price >= known.bid
    assert book.top(1_152).asks[-1].price <= known.ask


def test_pruning_spares_the_side_whose_best_level_has_left_what_is_known() -> None:
    book, rest = joined_book(recording("btcusdt"))
    for delta in rest:
        book.apply(delta)
    grown, best = book.level_counts, book.top(500)

    book.prune()
    spared = book.level_counts
    book.prune(most=500)

    assert grown == LevelCounts(1_971, 2_962)
    assert spared == LevelCounts(1_971, 1_930)
    assert book.level_counts == LevelCounts(500, 500)
    assert book.top(500) == best
    assert not book.knows_best


def test_a_snapshot_goes_out_as_it_was_written(played: Recording) -> None:
    book = LocalBook()

    book.load(played.snapshot)

    assert book.written_top(1_000) == (played.snapshot_rows.bids, played.snapshot_rows.asks)
    assert book.top(1_000) == played.snapshot


@pytest.mark.parametrize(("pair", "holes"), [("btcusdt", [1]), ("btcusdt", [30, 400, 1_200]), ("ethusdt", [100])])
def test_every_dropped_line_is_one_gap_and_the_book_waits_untouched(pair: Pair, holes: list[int]) -> None:
    played = recording(pair)
    book, rest = joined_book(played)
    whole, _ = joined_book(played)
    gaps: list[MissedUpdates] = []

    for place, delta in enumerate(rest[: holes[-1] + 100]):
        whole.apply(delta)
        if place in holes:
            continue
        before = book.last_update_id, book.written_top(5)
        outcome = book.apply(delta)
        if isinstance(outcome, MissedUpdates):
            gaps.append(outcome)
            assert (book.last_update_id, book.written_top(5)) == before
            # A new snapshot: what an observer who missed nothing holds.
            book.load(whole.top(5_000))

    assert gaps == [MissedUpdates(rest[hole].first_update_id, rest[hole].last_update_id + 1) for hole in holes]
    assert book.written_top(5_000) == whole.written_top(5_000)


def test_a_repeated_line_is_ignored(played: Recording) -> None:
    book, rest = joined_book(played)
    for delta in rest[:50]:
        book.apply(delta)
    before = book.written_top(5_000)

    again = [book.apply(delta) for delta in rest[:50]]

    assert {type(outcome) for outcome in again} == {Stale}
    assert book.written_top(5_000) == before


def test_a_lost_removal_of_the_best_level_shows_as_a_crossed_book() -> None:
    book, rest = joined_book(recording("btcusdt"))
    crossed = 0

    for delta in rest[:600]:
        kept = BookDelta(
            delta.first_update_id,
            delta.last_update_id,
            delta.event_ms,
            delta.bids,
            [change for change in delta.asks if float(change[1])],
        )
        outcome = book.apply(kept)
        assert isinstance(outcome, Applied)
        crossed += outcome.is_crossed

    assert crossed > 0
    assert book.is_crossed


def test_a_snapshot_from_before_the_stream_is_too_old_and_the_buffer_stays(played: Recording) -> None:
    buffer, book = JoinBuffer(), LocalBook()
    for delta in played.deltas[:3]:
        buffer.add(delta)
    first = played.deltas[0].first_update_id
    early = BookSnapshot(first - 1, played.snapshot.bids, played.snapshot.asks)

    outcome = buffer.join(early, book)

    assert outcome == TooOld(first - 1, first)
    assert not book.is_loaded
    assert isinstance(buffer.join(played.snapshot, book), Joined)
