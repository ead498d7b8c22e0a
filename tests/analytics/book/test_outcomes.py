"""What becomes of sizes that stood: traded into, withdrawn, or never known."""

import pytest

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.outcomes import (
    LEAST_OUTCOMES,
    MOST_FOLLOWED,
    MOST_OUTCOMES,
    NEAR_BINS,
    FollowedSizes,
    LeftSize,
    StandingOutcomes,
    TradedInto,
)
from mcp_binance_server.analytics.book.standing import StandingSize, bin_edges

STEP = 0.05


def standing(price: float = 99.93, size: float = 80.0, *, distance: int = 3) -> StandingSize:
    return StandingSize(0.4, "bid", price, size, 0.3, distance)


class Bin:
    """A book of which only the followed bin is asked for."""

    def __init__(self, *found: StandingSize) -> None:
        self.sizes = FollowedSizes()
        for each in found or (standing(),):
            self.sizes.follow(each, STEP)

    def holds(self, size: float | None) -> list[LeftSize]:
        def between(side: BookSide, low: float, high: float) -> float | None:
            assert (side, low, high) == ("bid", *bin_edges(99.93, STEP))
            return size

        return self.sizes.on_second(between)

    def falls(self, size: float) -> list[LeftSize]:
        assert self.holds(size) == [], "trades may be told a moment after the book"
        return self.holds(size)


@pytest.mark.parametrize("price", [99.90, 99.93, 99.9499])
def test_a_bin_reaches_from_its_lower_edge_up_to_the_next(price: float) -> None:
    low, high = bin_edges(price, STEP)

    assert low < 99.90 <= price < high < 99.95
    assert high > 99.9499


@pytest.mark.parametrize(
    ("traded", "side", "at", "was_traded"),
    [
        (35.0, "bid", 99.91, True),
        (34.9, "bid", 99.91, False),
        (70.0, "ask", 99.91, False),
        (70.0, "bid", 99.95, False),
        (70.0, "bid", 99.89, False),
        (0.0, "bid", 99.91, False),
    ],
)
def test_what_left_was_traded_when_half_of_it_was(traded: float, side: BookSide, at: float, was_traded: bool) -> None:  # noqa: FBT001
    book = Bin()
    book.sizes.on_trade(side, at, traded)

    assert book.falls(10.0) == [LeftSize(is_near=True, was_traded=was_traded)]
    assert len(book.sizes) == 0


def test_a_trade_told_just_after_the_book_counts() -> None:
    book = Bin()
    book.holds(0.0)
    book.sizes.on_trade("bid", 99.93, 80.0)

    assert book.holds(0.0) == [LeftSize(is_near=True, was_traded=True)]


def test_a_trade_told_just_before_the_book_counts() -> None:
    book = Bin()
    book.sizes.on_trade("bid", 99.93, 80.0)
    book.holds(80.0)

    assert book.falls(0.0) == [LeftSize(is_near=True, was_traded=True)]


def test_trades_that_were_made_good_do_not_count() -> None:
    book = Bin()
    book.sizes.on_trade("bid", 99.93, 70.0)
    book.holds(50.0)
    book.holds(80.0)

    assert book.falls(0.0) == [LeftSize(is_near=True, was_traded=False)]


def test_half_of_it_is_still_standing() -> None:
    book = Bin()

    assert book.falls(40.0) == []
    assert len(book.sizes) == 1
    assert book.falls(39.0) == [LeftSize(is_near=True, was_traded=False)]


def test_where_the_book_is_not_known_nothing_has_left() -> None:
    book = Bin()

    assert book.holds(None) == []
    assert len(book.sizes) == 0


def test_a_size_that_grew_is_followed_as_what_it_grew_to() -> None:
    book = Bin(standing(), standing(99.91, 200.0), standing(99.94, 90.0))

    assert len(book.sizes) == 1
    assert book.falls(99.0) == [LeftSize(is_near=True, was_traded=False)]


def test_only_so_many_are_followed_and_all_are_forgotten_at_once() -> None:
    sizes = FollowedSizes()
    for at in range(MOST_FOLLOWED + 3):
        sizes.follow(standing(99.0 - at), STEP)

    asked = list[float]()
    sizes.on_second(lambda _side, low, _high: asked.append(low) or 80.0)
    assert len(asked) == MOST_FOLLOWED
    assert max(asked) < 96.0, "the oldest made room"
    sizes.clear()
    assert len(sizes) == 0


def counted(near: str, far: str) -> StandingOutcomes:
    outcomes = StandingOutcomes()
    for is_near, row in ((True, near), (False, far)):
        for each in row:
            outcomes.add(LeftSize(is_near, each == "t"))
    return outcomes


def test_near_and_far_sizes_are_counted_apart_and_the_long_run_has_both() -> None:
    outcomes = counted("tttwwwww", "ttttwwww")

    assert outcomes.like(NEAR_BINS - 1) == TradedInto(3, 8, 7 / 16)
    assert outcomes.like(NEAR_BINS) == TradedInto(4, 8, 7 / 16)


def test_of_a_few_nothing_is_said() -> None:
    outcomes = counted("t" * (LEAST_OUTCOMES - 1), "")

    assert outcomes.like(0) is None
    outcomes.add(LeftSize(is_near=True, was_traded=False))
    assert outcomes.like(0) == TradedInto(4, 5, 0.8)
    assert outcomes.like(NEAR_BINS) is None


def test_the_newest_hundred_are_kept_and_read_back() -> None:
    outcomes, again = counted("t" * 30 + "w" * MOST_OUTCOMES, "tw"), StandingOutcomes()
    rows = outcomes.series()
    again.restore(rows["left_near"], rows["left_far"])

    assert outcomes.like(0) == TradedInto(0, MOST_OUTCOMES, 1 / (MOST_OUTCOMES + 2))
    assert again.series() == rows
