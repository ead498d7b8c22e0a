"""What a local book says of itself: what stands at a price, how far it is known, and where its best prices are."""

import pytest

from feeds.recorded import book_of, delta_of
from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.feeds.book import JoinBuffer, LocalBook

BIDS = [("10.00", "1.0"), ("9.90", "2.0"), ("9.50", "3.0")]
ASKS = [("10.10", "1.5"), ("10.20", "2.5"), ("10.90", "3.5")]


def loaded(asked: int | None = 3) -> LocalBook:
    book = LocalBook()
    book.load(book_of(100, BIDS, ASKS), asked=asked)
    return book


@pytest.mark.parametrize(
    ("first", "last", "follows"),
    [(90, 100, False), (90, 101, True), (101, 101, True), (100, 102, True), (102, 102, False), (102, 110, False)],
)
def test_a_delta_follows_if_it_holds_the_next_id(first: int, last: int, *, follows: bool) -> None:
    assert loaded().follows(delta_of(first, last)) is follows


@pytest.mark.parametrize(
    ("side", "price", "size", "written"),
    [
        ("bid", 9.9, 2.0, "2.0"),
        ("ask", 10.2, 2.5, "2.5"),
        ("bid", 10.2, 0.0, None),
        ("ask", 9.9, 0.0, None),
        ("bid", 9.8, 0.0, None),
    ],
)
def test_what_stands_at_a_price_is_told_by_side(side: BookSide, price: float, size: float, written: str | None) -> None:
    book = loaded()

    assert book.size_at(side, price) == size
    told = book.written_at(side, price)
    assert (None if told is None else float(told)) == (None if written is None else float(written))


def test_a_book_is_loaded_once_it_has_a_snapshot() -> None:
    assert LocalBook().is_loaded is False
    assert loaded().is_loaded is True


def test_the_touch_is_the_best_of_both_sides_and_nothing_where_one_is_empty() -> None:
    without_bids, without_asks, one_each = LocalBook(), LocalBook(), LocalBook()
    without_bids.load(book_of(1, [], ASKS))
    without_asks.load(book_of(1, BIDS, []))
    one_each.load(book_of(1, BIDS[:1], ASKS[:1]))

    assert (loaded().touch(), one_each.touch()) == ((10.0, 10.1), (10.0, 10.1))
    assert (without_bids.touch(), without_asks.touch(), LocalBook().touch()) == (None, None, None)
    for book in (loaded(), one_each):
        assert book.best_bid is not None
        assert book.best_ask is not None
        assert (float(book.best_bid.price), float(book.best_ask.price)) == (10.0, 10.1)


def test_a_book_is_thin_where_either_side_has_fewer_levels_than_wanted_before_its_end() -> None:
    fewer_bids, fewer_asks = loaded(), loaded()
    fewer_bids.apply(delta_of(101, bids=[("10.00", "0")]))
    fewer_asks.apply(delta_of(101, asks=[("10.10", "0")]))

    assert [loaded().is_thin(least) for least in (2, 3, 4)] == [False, False, True]
    assert [book.is_thin(3) for book in (fewer_bids, fewer_asks)] == [True, True]
    assert [book.is_thin(2) for book in (fewer_bids, fewer_asks)] == [False, False]


def test_a_book_that_is_known_as_a_whole_is_never_thin() -> None:
    assert [loaded(asked).is_thin(1_000) for asked in (4, 3, None)] == [False, True, True]


def test_the_best_is_known_up_to_the_last_level_of_the_snapshot() -> None:
    book = loaded()

    book.apply(delta_of(101, asks=[("10.10", "0"), ("10.20", "0")]))
    at_the_end = book.knows_best
    book.apply(delta_of(102, asks=[("10.90", "0"), ("11.00", "1")]))
    beyond = book.knows_best

    assert (at_the_end, beyond) == (True, False)


def test_pruning_to_as_many_as_there_are_changes_nothing() -> None:
    whole = loaded(asked=10)

    assert whole.prune(most=3) == 0
    assert (whole.known_to.bid, whole.known_to.ask) == (None, None)


def test_what_was_pruned_no_longer_stands() -> None:
    book = loaded()

    assert book.prune(most=2) == 2
    assert [book.size_at("bid", 9.5), book.size_at("ask", 10.9)] == [0.0, 0.0]
    assert [book.size_at("bid", 9.9), book.size_at("ask", 10.2)] == [2.0, 2.5]


def test_a_buffer_keeps_five_thousand_deltas_and_drops_the_oldest() -> None:
    buffer = JoinBuffer()
    for number in range(1, 5_001):
        buffer.add(delta_of(number))
    full = buffer.first_update_id, len(buffer)

    buffer.add(delta_of(5_001))

    assert (full, (buffer.first_update_id, len(buffer))) == ((1, 5_000), (2, 5_000))


def test_the_newest_delta_of_a_buffer_tells_its_time() -> None:
    buffer = JoinBuffer()
    empty = buffer.newest_ms

    for number, event_ms in enumerate((5, 7, 9), start=1):
        buffer.add(delta_of(number, event_ms=event_ms))

    assert (empty, buffer.newest_ms) == (0, 9)
    single = JoinBuffer()
    single.add(delta_of(1, event_ms=5))
    assert single.newest_ms == 5
