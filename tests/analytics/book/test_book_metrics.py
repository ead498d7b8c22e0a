"""One book: what its measures promise for any book, and what they refuse."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import books, levels, quantity
from mcp_binance_server.analytics.book.metrics import (
    Levels,
    capacity,
    imbalance_of_band,
    imbalance_of_levels,
    top_of_book,
    walk,
)
from mcp_binance_server.analytics.book.report import largest_levels, reach_of
from mcp_binance_server.domain.market import PriceLevel

Book = tuple[list[PriceLevel], list[PriceLevel]]
BIDS, ASKS = levels([("100.00", 3), ("99.99", 5)]), levels([("100.02", 1), ("100.03", 4)])


def scaled(side: Levels, factor: int) -> list[PriceLevel]:
    return [PriceLevel(each.price, quantity(each.quantity * factor)) for each in side]


def mirrored(side: Levels) -> list[PriceLevel]:
    """Return the levels reflected at a price of 1000, so that a bid becomes an ask just as far from the middle."""
    return [PriceLevel(type(each.price)(1000 - each.price), each.quantity) for each in side]


def middle(book: Book) -> float:
    mid = top_of_book(*book).mid
    assert mid is not None
    return mid


@given(books(), st.integers(1, 40), st.floats(0.1, 500))
def test_imbalance_lies_between_minus_one_and_one(book: Book, n: int, bps: float) -> None:
    by_levels, by_band = imbalance_of_levels(*book, n), imbalance_of_band(*book, bps)

    assert by_levels.value is not None
    assert -1 <= by_levels.value <= 1
    assert (by_levels.bid_levels, by_levels.ask_levels) == (min(n, len(book[0])), min(n, len(book[1])))
    assert by_band.value is None or -1 <= by_band.value <= 1
    assert (by_band.value is None) == (by_band.why_null is not None)


@given(books(), st.integers(1, 40))
def test_swapping_the_sides_negates_the_imbalance(book: Book, n: int) -> None:
    bids, asks = book

    there, back = imbalance_of_levels(bids, asks, n), imbalance_of_levels(mirrored(asks), mirrored(bids), n)

    assert there.value is not None
    assert back.value == pytest.approx(-there.value)


@given(books(), st.integers(2, 1000), st.floats(0.1, 500))
def test_scaling_every_size_leaves_ratios_and_prices_unchanged(book: Book, factor: int, bps: float) -> None:
    larger = scaled(book[0], factor), scaled(book[1], factor)

    assert top_of_book(*larger).weighted_mid == pytest.approx(top_of_book(*book).weighted_mid)
    assert imbalance_of_band(*larger, bps).value == pytest.approx(imbalance_of_band(*book, bps).value)
    amount = 1234.5
    once, more = (
        walk(side, size, middle(book), "buy") for side, size in ((book[1], amount), (larger[1], amount * factor))
    )
    assert more.slip_mid_bps == pytest.approx(once.slip_mid_bps)
    assert more.complete == once.complete


@given(books(), st.floats(0.01, 10**7), st.sampled_from(["buy", "sell"]))
def test_walking_by_quote_then_by_the_base_it_filled_agrees(book: Book, amount: float, side: str) -> None:
    taker, rows = ("buy", book[1]) if side == "buy" else ("sell", book[0])

    by_quote = walk(rows, amount, middle(book), taker)
    by_base = walk(rows, by_quote.base, middle(book), taker, "base")

    assert by_base.complete
    assert by_base.quote == pytest.approx(by_quote.quote, rel=1e-9)
    assert by_base.vwap == pytest.approx(by_quote.vwap, rel=1e-9)
    assert by_quote.filled + by_quote.unfilled == pytest.approx(amount, rel=1e-9)


@given(books(), st.floats(0.01, 10**7), st.sampled_from(["buy", "sell"]))
def test_a_cost_is_never_negative_on_either_side(book: Book, amount: float, side: str) -> None:
    taker, rows = ("buy", book[1]) if side == "buy" else ("sell", book[0])

    taken = walk(rows, amount, middle(book), taker)

    assert taken.slip_mid_bps is not None
    assert taken.slip_touch_bps is not None
    assert taken.slip_mid_bps >= taken.slip_touch_bps - 1e-9
    assert taken.slip_touch_bps >= -1e-9


@given(books(), st.floats(0.1, 300), st.floats(0, 300))
def test_capacity_grows_with_the_distance(book: Book, bps: float, more: float) -> None:
    near, far = (capacity(book[1], middle(book), "buy", each) for each in (bps, bps + more))

    assert near.base <= far.base
    assert near.quote <= far.quote
    assert near.levels <= far.levels
    assert far.truncated or not near.truncated


def test_a_level_exactly_on_the_edge_is_inside_whatever_floats_make_of_it() -> None:
    asks = levels([("100.01", 1), ("100.02", 1)])

    assert capacity(asks, 100.0, "buy", 1).worst_price == Decimal("100.01")


def test_a_crossed_book_measures_nothing() -> None:
    bids, asks = levels([(101, 1)]), levels([(100, 1)])

    assert top_of_book(bids, asks).weighted_mid is None
    assert imbalance_of_levels(bids, asks, 5).why_null == "crossed_book"
    assert imbalance_of_band(bids, asks, 5).why_null == "crossed_book"


def test_a_book_with_one_side_has_no_mid_and_so_no_band() -> None:
    band = imbalance_of_band(BIDS, [], 10)

    assert (band.bids, band.asks, band.value, band.why_null) == (None, None, None, "one_sided_book")
    assert imbalance_of_levels([], [], 5).why_null == "one_sided_book"


def test_the_capacity_of_an_unknown_side_is_a_lower_bound() -> None:
    assert capacity([], 100.0, "buy", 10).truncated


def test_a_band_too_narrow_for_any_level_has_no_imbalance() -> None:
    band = imbalance_of_band(BIDS, ASKS, 0.1)

    assert (band.value, band.why_null) == (None, "degenerate")


def test_an_empty_level_is_passed_over_and_nothing_is_no_order() -> None:
    with_a_hole = levels([(100, 1), (101, 0), (102, 1)])

    taken = walk(with_a_hole, 2, None, "buy", "base")

    assert (taken.levels, taken.vwap, taken.complete, taken.slip_mid_bps) == (2, 101, True, None)
    assert walk(ASKS, 0, 100.01, "buy").why_null == "degenerate"
    assert walk([], 5, 100.01, "buy").why_null == "one_sided_book"


def test_a_book_reaches_as_far_as_its_last_known_levels() -> None:
    near, far = levels([("99.99", 1), ("99.84", 1)]), levels([("100.01", 1), ("100.9", 1)])

    reach, whole, unknown = (
        reach_of(near, far, 100.0),
        reach_of(levels([("99.5", 1)]), far, 100.0),
        reach_of([], far, None),
    )

    assert reach == (pytest.approx(16), 50)
    assert (reach.is_whole, reach.coverage) == (False, pytest.approx(0.32))
    assert (whole.is_whole, whole.coverage) == (True, pytest.approx(1))
    assert unknown == (0, 0)


def test_the_largest_levels_are_listed_and_not_judged() -> None:
    bids = levels([("100", 2), ("99.9", 5), ("99.8", 0), ("99.7", 5), ("99.6", 1), ("99.5", 7), ("99.49", 90)])

    found = largest_levels(bids, 100.0)

    assert [(str(each.level.price), each.share) for each in found] == [("99.5", 0.35), ("99.9", 0.25), ("99.7", 0.25)]
    assert largest_levels([], 100.0) == largest_levels(bids, None) == ()
