"""Movers and breadth: who rose, who fell, who traded most, and how many."""

from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.market.scan.breadth import breadth
from mcp_binance_server.analytics.market.scan.movers import in_order, movers

SYMBOLS = ["DUSDT", "BUSDT", "AUSDT", "CUSDT", "EUSDT", "FUSDT"]
CHANGES = [5.0, -3.0, 5.0, None, 0.0, -3.0]
values = st.lists(st.none() | st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0]), max_size=40)


def names(places: tuple[int, ...] | list[int]) -> str:
    return "".join(SYMBOLS[place][0] for place in places)


def test_gainers_rose_losers_fell_and_equal_ones_are_in_order_of_their_names() -> None:
    got = movers(SYMBOLS, CHANGES, [1.0, 2.0, 2.0, 9.0, None, 0.0])

    assert names(got.gainers) == "AD"
    assert names(got.losers) == "BF"
    assert names(got.most_traded) == "CABDF"


def test_movers_are_found_among_the_places_asked_for_and_no_more_than_asked() -> None:
    got = movers(SYMBOLS, CHANGES, [1.0, 2.0, 2.0, 9.0, None, 0.0], places=[0, 1, 2, 5], count=1)

    assert (names(got.gainers), names(got.losers), names(got.most_traded)) == ("A", "B", "A")


def test_in_a_market_that_falls_there_are_no_gainers() -> None:
    got = movers(["A", "B"], [-1.0, -2.0], [1.0, 1.0])

    assert (got.gainers, got.losers) == ((), (1, 0))


def test_pairs_without_a_value_come_last_in_both_directions() -> None:
    values = [1.0, None, 3.0, float("nan"), 2.0, None]

    assert names(in_order(range(6), SYMBOLS, values)) == "AEDBCF"
    assert names(in_order(range(6), SYMBOLS, values, largest_first=False)) == "DEABCF"


@given(values, st.booleans(), st.integers(0, 99))
def test_order_depends_on_values_and_names_not_on_places(drawn: list[float | None], up: bool, seed: int) -> None:  # noqa: FBT001
    symbols = [f"S{number}" for number in range(len(drawn))]
    shuffled = list(range(len(drawn)))
    Random(seed).shuffle(shuffled)

    got = in_order(range(len(drawn)), symbols, drawn, largest_first=up)

    assert got == in_order(shuffled, symbols, drawn, largest_first=up)
    assert sorted(got) == list(range(len(drawn)))
    known = [value for place in got if (value := drawn[place]) is not None]
    assert known == sorted(known, reverse=up)


@given(values)
def test_breadth_counts_every_pair_once(drawn: list[float | None]) -> None:
    got = breadth(drawn)

    known = [each for each in drawn if each is not None]
    assert (got.up, got.down, got.flat) == tuple(
        sum(1 for each in known if (each > 0) - (each < 0) == sign) for sign in (1, -1, 0)
    )
    assert got.n == len(known)
    assert got.changes.median == (pytest.approx(median(known)) if known else None)
    assert got.share_up == (got.up / len(known) if known else None)


def test_breadth_of_known_changes() -> None:
    got = breadth([-4.0, None, 0.0, 2.0, 6.0, 8.0])

    assert (got.share_up, got.n) == (0.6, 5)
    assert (got.changes.lower, got.changes.median, got.changes.upper) == (0.0, 2.0, 6.0)
    assert breadth([None]).share_up is None
    assert breadth([float("inf"), 1.0]).n == 1
