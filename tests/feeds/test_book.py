"""The local book: what joins, what is refused, what goes out."""

from decimal import Decimal

import pytest

from feeds.recorded import book_of, delta_of
from mcp_binance_server.domain.market import BookDelta, BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.feeds.book import (
    Applied,
    JoinBuffer,
    Joined,
    KnownTo,
    LevelCounts,
    LocalBook,
    MissedUpdates,
    Stale,
    TooOld,
)

SNAPSHOT = book_of(
    100,
    [("10.00", "1.0"), ("9.90", "2.0"), ("9.50", "3.0")],
    [("10.10", "1.5"), ("10.20", "2.5"), ("10.90", "3.5")],
)


@pytest.fixture
def book() -> LocalBook:
    loaded = LocalBook()
    loaded.load(SNAPSHOT)
    return loaded


def test_a_book_without_a_snapshot_takes_nothing() -> None:
    book = LocalBook()

    assert book.apply(delta_of(1)) == MissedUpdates(0, 1)
    assert not book.is_loaded
    assert (book.best_bid, book.best_ask) == (None, None)
    assert book.top(5) == BookSnapshot(-1, (), ())
    assert not book.is_crossed


@pytest.mark.parametrize(
    ("first", "last", "outcome"),
    [
        (90, 99, Stale(100, 99)),
        (90, 100, Stale(100, 100)),
        (90, 101, Applied(0, is_crossed=False)),
        (101, 101, Applied(0, is_crossed=False)),
        (101, 110, Applied(0, is_crossed=False)),
        (102, 110, MissedUpdates(101, 102)),
    ],
)
def test_the_first_delta_must_contain_the_id_after_the_snapshot(
    book: LocalBook, first: int, last: int, outcome: Applied | Stale | MissedUpdates
) -> None:
    assert book.apply(delta_of(first, last)) == outcome
    assert book.last_update_id == (last if isinstance(outcome, Applied) else 100)


def test_a_gap_counts_the_ids_that_never_came() -> None:
    assert MissedUpdates(expected=101, received=105).missing == 4


def test_levels_are_set_and_removed_and_an_unknown_removal_is_no_change(book: LocalBook) -> None:
    outcome = book.apply(
        delta_of(
            101, bids=[("10.00", "0.00"), ("9.95", "4.0"), ("9.50", "0.5"), ("1.00", "0")], asks=[("10.10", "9.0")]
        )
    )

    assert outcome == Applied(changed=4, is_crossed=False)
    assert book.written_top(9) == (
        [("9.95", "4.0"), ("9.90", "2.0"), ("9.50", "0.5")],
        [("10.10", "9.0"), ("10.20", "2.5"), ("10.90", "3.5")],
    )
    assert book.level_counts == LevelCounts(3, 3)


def test_what_came_in_goes_out_however_small_or_differently_written() -> None:
    book = LocalBook()
    book.load(book_of(1, [("0.00000001", "0.00000010"), ("0.00000002", "100000000000.00")], []))

    book.apply(delta_of(2, bids=[("0.000000020", "7.000")]))

    assert book.written_top(2)[0] == [("0.000000020", "7.000"), ("0.00000001", "0.00000010")]
    assert book.best_bid == PriceLevel(Price(Decimal("0.00000002")), Quantity(Decimal(7)))
    assert book.best_ask is None


@pytest.mark.parametrize("zero", ["0", "0.0", "0.00", "0.00000000", "0.000000000000000000"])
def test_every_way_to_write_zero_removes(book: LocalBook, zero: str) -> None:
    book.apply(delta_of(101, asks=[("10.10", zero)]))

    assert book.best_ask == PriceLevel(Price(Decimal("10.20")), Quantity(Decimal("2.5")))


@pytest.mark.parametrize(("price", "is_crossed"), [("10.09", False), ("10.10", True), ("10.15", True)])
def test_a_bid_that_reaches_the_best_ask_crosses_the_book(book: LocalBook, price: str, is_crossed: bool) -> None:  # noqa: FBT001
    outcome = book.apply(delta_of(101, bids=[(price, "1")]))

    assert outcome == Applied(1, is_crossed)
    assert book.is_crossed is is_crossed


def test_the_time_is_that_of_the_last_delta_and_a_snapshot_has_none(book: LocalBook) -> None:
    before = book.event_ms
    book.apply(delta_of(101, event_ms=1_700))
    after = book.event_ms
    book.load(SNAPSHOT)

    assert (before, after, book.event_ms) == (None, 1_700, None)


def test_a_malformed_number_leaves_a_book_that_asks_to_be_built_again(book: LocalBook) -> None:
    with pytest.raises(ValueError, match="ten"):
        book.apply(delta_of(101, bids=[("9.80", "1"), ("ten", "1")]))

    assert book.apply(delta_of(102)) == MissedUpdates(101, 102)


def test_top_is_best_first_and_never_more_than_asked(book: LocalBook) -> None:
    assert book.top(2) == BookSnapshot(100, SNAPSHOT.bids[:2], SNAPSHOT.asks[:2])
    assert book.top(99) == SNAPSHOT
    assert book.top(0) == book.top(-1) == BookSnapshot(100, (), ())


def test_a_band_includes_its_edges_and_stays_as_it_was_at_the_call(book: LocalBook) -> None:
    bids, asks = book.near(9.50, 10.20, 0, 99)
    book.apply(delta_of(101, bids=[("9.50", "0")], asks=[("10.20", "0")]))

    assert bids == [float(level.price) for level in SNAPSHOT.bids]
    assert asks == [float(level.price) for level in SNAPSHOT.asks[:2]]
    assert book.near(9.90, 10.10, 0, 99) == ([10.0, 9.9], [10.1])
    assert (book.sizes_at("bid", [10.0, 9.9]), book.sizes_at("ask", [10.1])) == ([1.0, 2.0], [1.5])


def test_what_is_known_ends_with_the_snapshot_unless_it_was_shorter_than_asked() -> None:
    book = LocalBook()
    book.load(SNAPSHOT, asked=3)
    full = book.known_to
    book.load(book_of(100, [("10.00", "1"), ("9.90", "1")], []), asked=3)
    short = book.known_to
    book.load(book_of(100, [("10.00", "1"), ("9.90", "1")], []))

    assert full == KnownTo(Price(Decimal("9.50")), Price(Decimal("10.90")))
    assert short == KnownTo(None, None)
    assert book.known_to == KnownTo(Price(Decimal("9.90")), None)


def test_the_best_is_no_longer_known_once_the_market_has_left_the_snapshot(book: LocalBook) -> None:
    book.apply(delta_of(101, bids=[("10.00", "0"), ("9.90", "0"), ("9.40", "1")]))
    inside = book.knows_best
    book.apply(delta_of(102, bids=[("9.50", "0")]))
    beyond = book.knows_best
    book.apply(delta_of(103, bids=[("9.40", "0")]))

    assert (inside, beyond, book.knows_best) == (True, False, False)


def test_what_stands_between_two_prices_is_told_only_where_all_of_it_is_known() -> None:
    book = LocalBook()
    book.load(book_of(10, [("100", "2"), ("99", "3"), ("98", "4")], [("101", "5"), ("102", "6")]), asked=3)

    assert book.size_between("bid", 98.0, 100.0) == 7
    assert book.size_between("bid", 98.5, 98.9) == 0
    assert book.size_between("bid", 97.9, 100.0) is None, "the snapshot ends at 98"
    assert book.size_between("ask", 101.0, 200.0) == 11, "fewer asks than were asked for: these are all"
    book.load(book_of(11, [("100", "2")], [("101", "5"), ("102", "6")]), asked=2)
    assert book.size_between("ask", 101.0, 102.0) == 5
    assert book.size_between("ask", 101.0, 102.1) is None


def test_a_side_known_as_a_whole_may_be_empty() -> None:
    book = LocalBook()
    book.load(book_of(1, [], [("2", "1")]), asked=5)

    assert book.knows_best


def test_pruning_forgets_what_lies_beyond_the_snapshot(book: LocalBook) -> None:
    book.apply(delta_of(101, bids=[("9.40", "1"), ("9.60", "1")], asks=[("11.00", "1"), ("12.00", "1")]))

    assert book.prune() == 3
    assert book.prune() == 0
    assert book.level_counts == LevelCounts(4, 3)


def test_pruning_to_a_count_narrows_what_is_known(book: LocalBook) -> None:
    assert book.prune(most=2) == 2
    assert book.top(9) == BookSnapshot(100, SNAPSHOT.bids[:2], SNAPSHOT.asks[:2])
    assert book.known_to == KnownTo(Price(Decimal("9.90")), Price(Decimal("10.20")))
    assert book.prune(most=2) == 0
    with pytest.raises(ValueError, match="at least one level"):
        book.prune(most=0)


def test_pruning_to_a_count_bounds_a_side_that_was_known_as_a_whole() -> None:
    book = LocalBook()
    book.load(SNAPSHOT, asked=100)

    assert book.prune() == 0
    assert book.prune(most=1) == 4
    assert book.known_to == KnownTo(Price(Decimal("10.00")), Price(Decimal("10.10")))


def test_pruning_to_a_count_does_not_widen_what_is_known(book: LocalBook) -> None:
    book.apply(delta_of(101, bids=[("9.40", "1"), ("9.30", "1")], asks=[("11.00", "1"), ("12.00", "1")]))

    assert book.prune(most=4) == 4
    assert book.known_to == KnownTo(Price(Decimal("9.50")), Price(Decimal("10.90")))


def buffered(*deltas: BookDelta, most: int = 100) -> JoinBuffer:
    buffer = JoinBuffer(most)
    for delta in deltas:
        buffer.add(delta)
    return buffer


def test_a_snapshot_joins_a_stream_that_has_not_spoken_yet() -> None:
    buffer, book = JoinBuffer(), LocalBook()

    assert buffer.first_update_id is None
    assert not buffer.is_too_old(SNAPSHOT)
    assert buffer.join(SNAPSHOT, book) == Joined(0, 0)
    assert book.top(9) == SNAPSHOT


def test_joining_skips_what_the_snapshot_contains_and_replays_the_rest() -> None:
    buffer = buffered(
        delta_of(90, 95, bids=[("10.00", "0")]),
        delta_of(96, 103, bids=[("9.95", "1")]),
        delta_of(96, 103, bids=[("9.95", "1")]),
        delta_of(104, bids=[("9.96", "1")]),
    )
    book = LocalBook()

    outcome = buffer.join(SNAPSHOT, book, asked=5)

    assert outcome == Joined(applied=2, stale=2)
    assert len(buffer) == 0
    assert book.last_update_id == 104
    assert [price for price, _ in book.written_top(3)[0]] == ["10.00", "9.96", "9.95"]
    assert book.known_to == KnownTo(None, None)


@pytest.mark.parametrize(("first", "is_too_old"), [(100, False), (101, True), (150, True)])
def test_a_snapshot_older_than_the_first_delta_is_too_old(first: int, is_too_old: bool) -> None:  # noqa: FBT001
    buffer, book = buffered(delta_of(first, 200)), LocalBook()

    outcome = buffer.join(SNAPSHOT, book)

    assert outcome == (TooOld(100, first) if is_too_old else Joined(1, 0))
    assert book.is_loaded is not is_too_old
    assert len(buffer) == is_too_old


@pytest.mark.parametrize("last_update_id", [92, 97])
def test_a_hole_in_the_buffer_is_a_gap_and_what_came_after_it_stays(last_update_id: int) -> None:
    buffer, book = buffered(delta_of(90, 95), delta_of(99, 103), delta_of(104)), LocalBook()

    outcome = buffer.join(book_of(last_update_id, [], []), book)

    assert outcome == MissedUpdates(max(96, last_update_id + 1), 99)
    assert not book.is_loaded
    assert buffer.first_update_id == 99
    assert buffer.join(SNAPSHOT, book) == Joined(2, 0)


def test_a_hole_that_the_snapshot_covers_does_no_harm() -> None:
    buffer, book = buffered(delta_of(80, 85), delta_of(90, 103)), LocalBook()

    assert buffer.join(SNAPSHOT, book) == Joined(applied=1, stale=1)


def test_a_full_buffer_drops_the_oldest_and_needs_a_newer_snapshot() -> None:
    buffer = buffered(delta_of(99, 103), delta_of(104), delta_of(105), most=2)

    assert buffer.join(SNAPSHOT, LocalBook()) == TooOld(100, 104)
