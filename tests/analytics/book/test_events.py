"""What single prices did: refills of one size, size that came and went, size that stood."""

import pytest

from mcp_binance_server.analytics.book.events import PassedSize, Passing, Refills, came_and_went
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.standing import MOST_BINS, StandingProfile, StandingReader

GRID = PriceGrid(0.01, 0.001)


def refilled(sizes: list[float], *, before: float = 5.0) -> int:
    """Let each message take 2 from a price and add one of the sizes to it."""
    refills = Refills(GRID)
    for size in sizes:
        refills.add("bid", 99.0, 2.0, before, before - 2.0 + size)
    found = refills.largest()
    return found[0].refills if found else 0


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ([1.0, 1.0, 1.0], 3),
        ([1.0, 1.004, 0.996], 3),
        ([1.0, 1.0, 2.0, 3.0], 4),
        ([1.0, 1.0, 4.0, 1.5], 2),
        ([1.0, 2.0, 3.0], 0),
        ([0.7, 1.1, 1.9, 3.2], 0),
        ([0.0, 0.0, 0.0], 0),
    ],
)
def test_only_additions_of_one_size_count_as_refills(sizes: list[float], count: int) -> None:
    assert refilled(sizes) == count


def test_of_a_peak_of_a_few_lots_multiples_do_not_count() -> None:
    assert refilled([0.002, 0.002, 0.004, 0.006]) == 2


def test_a_price_at_which_nothing_stood_has_nothing_to_refill() -> None:
    assert refilled([3.0, 3.0, 3.0], before=0.0) == 0


def test_more_executed_than_displayed_is_a_number_beside_and_ranks_equal_counts() -> None:
    refills = Refills(GRID)
    for price, traded in ((99.0, 1.0), (98.0, 7.0)):
        for _ in range(3):
            refills.add("bid", price, traded, 5.0, 5.0 - traded + 3.0)

    first, second = refills.largest()

    assert (first.price, first.refills, first.beyond_displayed) == (98.0, 3, 6.0)
    assert (second.price, second.beyond_displayed) == (99.0, 0.0)
    assert 3 < second.score < first.score < 4


def passing(*levels: tuple[int, float, float, float]) -> tuple[PassedSize, ...]:
    followed = Passing({"bid": 100.0, "ask": 100.0})
    for time_ms, before, after, traded in levels:
        followed.read(("ask", 101.0), time_ms, before, after, traded)
    return followed.largest()


def test_a_large_addition_that_is_soon_withdrawn_has_come_and_gone() -> None:
    assert passing((0, 1.0, 21.0, 0.0), (1500, 21.0, 1.0, 0.0)) == (PassedSize(0.2, "ask", 101.0, 1500),)


@pytest.mark.parametrize(
    "levels",
    [
        [(0, 1.0, 1.9, 0.0), (1500, 1.9, 1.0, 0.0)],
        [(0, 1.0, 21.0, 0.0), (3500, 21.0, 1.0, 0.0)],
        [(0, 1.0, 21.0, 0.0), (1500, 21.0, 1.0, 5.0)],
        [(0, 1.0, 21.0, 0.0), (1500, 21.0, 11.0, 0.0)],
    ],
    ids=["small", "stood too long", "was traded", "half is left"],
)
def test_what_is_small_stays_or_trades_has_not(levels: list[tuple[int, float, float, float]]) -> None:
    assert passing(*levels) == ()


def test_an_addition_may_grow_before_it_goes() -> None:
    (found,) = passing((0, 0.0, 5.0, 0.0), (500, 5.0, 30.0, 0.0), (900, 30.0, 0.0, 0.0))

    assert found.share == pytest.approx(0.3)


def test_one_withdrawal_alone_is_ordinary() -> None:
    one = PassedSize(0.5, "ask", 101.0, 900)

    assert came_and_went([one]) == 0
    assert came_and_went([one, one._replace(share=0.1), one._replace(share=0.05)]) == pytest.approx(0.15)


BIDS = [(100.00 - 0.01 * at, 5.0) for at in range(20)]
ASKS = [(100.01 + 0.01 * at, 5.0) for at in range(20)]


def with_size(at: int, size: float) -> list[tuple[float, float]]:
    return [(price, size if place == at else each) for place, (price, each) in enumerate(BIDS)]


def test_a_size_that_stands_beyond_its_usual_is_found_at_its_price() -> None:
    profile = StandingProfile()
    for _ in range(10):
        calm = StandingReader(GRID)
        calm.look(BIDS, ASKS)
        book = calm.book()
        assert book is not None
        profile.add(book)
    reader = StandingReader(GRID)
    for _ in range(3):
        reader.look(with_size(7, 80.0), ASKS)
    book = reader.book()
    assert book is not None

    found, *smaller = profile.sizes(book, least=1.0)

    assert (found.side, found.price, found.distance) == ("bid", pytest.approx(99.93), 7)
    assert found.score > 0.5 > max(each.score for each in smaller)
    assert profile.sizes(book, least=1000.0) == []


def test_only_the_least_that_was_there_all_the_time_has_stood() -> None:
    reader = StandingReader(GRID)
    for size in (80.0, 5.0, 80.0):
        reader.look(with_size(7, size), ASKS)
    book = reader.book()
    assert book is not None

    assert max(each.size for each in book.bins) == pytest.approx(5.0)
    assert StandingReader(GRID).book() is None


def test_a_kept_profile_is_read_back_and_another_length_refused() -> None:
    reader, profile, again = StandingReader(GRID), StandingProfile(), StandingProfile()
    reader.look(BIDS, ASKS)
    book = reader.book()
    assert book is not None
    profile.add(book)

    again.restore(profile.series())

    assert again.minutes == 1
    assert again.usual("bid", 3) == profile.usual("bid", 3) == 5.0
    with pytest.raises(ValueError, match=f"{1 + 2 * MOST_BINS} values"):
        again.restore([1.0])


def test_a_band_is_never_less_than_some_ticks() -> None:
    coarse = PriceGrid(1e-8, 1.0)

    assert GRID.band(100.0, 10) == pytest.approx(0.1)
    assert coarse.band(8.31e-6, 10) == pytest.approx(3e-8)
    assert coarse.tick_bps(8.31e-6) == pytest.approx(12.03, abs=0.01)
