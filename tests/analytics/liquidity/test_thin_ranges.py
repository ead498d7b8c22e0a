"""Thin traded ranges: silent on walks, found where a band was jumped over, and never by their emptiness alone."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from analytics.samples import candle, price, trade
from mcp_binance_server.analytics.liquidity.path import MOST_PIECES, TradedPath, path_of_candles, path_of_trades
from mcp_binance_server.analytics.liquidity.thin_ranges import SHUFFLES, ThinRange, thin_ranges
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.domain.money import Price

TICK = price(1)


def walk(seed: int, steps: int, *, hole: float = 0.0) -> list[int]:
    """Return the ticks of a random walk with fat tails; a hole of so many deviations is jumped over half-way."""
    chance = random.Random(seed)
    ticks, at = list[int](), 100_000.0
    for _ in range(steps):
        at += chance.gauss(0, 10) * (3 if chance.random() < 0.05 else 1)
        ticks.append(round(at))
    if not hole:
        return ticks
    first, second = ticks[: steps // 2], ticks[steps // 2 :]
    lift = max(first) + round(hole * 11.8 * steps**0.5) - min(second)
    return [*first, *(each + lift for each in second)]


def traded(ticks: Sequence[int], seed: int = 0) -> TradedPath:
    chance = random.Random(seed)
    tape = [trade(each, round(chance.lognormvariate(-2, 1.3) + 0.001, 3)) for each in ticks]
    return path_of_trades(tape, TICK)


def barred(ticks: Sequence[int], size: int) -> TradedPath:
    pieces = [ticks[at : at + size] for at in range(0, len(ticks), size)]
    bars = [candle(each[0], max(each), min(each), each[-1], len(each)) for each in pieces]
    return path_of_candles(bars, TICK)


def hole_of(ticks: Sequence[int]) -> tuple[int, int]:
    half = len(ticks) // 2
    return max(ticks[:half]), min(ticks[half:])


def covers(found: Sequence[ThinRange] | None, ticks: Sequence[int]) -> bool:
    low, high = hole_of(ticks)
    return any(
        min(float(each.high), high) - max(float(each.low), low) >= 0.5 * (high - low)
        and float(each.high - each.low) <= 2.5 * (high - low)
        for each in found or ()
    )


@pytest.mark.night
@pytest.mark.slow
def test_a_walk_has_none_beyond_chance() -> None:
    spoke = [seed for seed in range(60) if thin_ranges(traded(walk(seed, 900), seed), TICK).found]

    assert len(spoke) <= 3, "one of twenty at most"


@pytest.mark.slow
@pytest.mark.night
def test_a_hole_of_half_a_deviation_is_found_where_it_is() -> None:
    tapes = [walk(seed, 900, hole=0.5) for seed in range(20)]

    found = [thin_ranges(traded(ticks, seed), TICK).found for seed, ticks in enumerate(tapes)]

    assert sum(covers(each, ticks) for each, ticks in zip(found, tapes, strict=True)) >= 16


@pytest.mark.parametrize(("hole", "least", "most"), [(0.0, 0, 1), (0.5, 10, 12)])
def test_bars_of_many_trades_tell_the_same(hole: float, least: int, most: int) -> None:
    tapes = [walk(seed, 300 * 20, hole=hole) for seed in range(100, 112)]

    found = [thin_ranges(barred(ticks, 20), TICK).found for ticks in tapes]

    assert least <= sum(covers(each, ticks) if hole else bool(each) for each, ticks in zip(found, tapes, strict=True))
    assert sum(bool(each) for each in found) <= most


def test_what_was_found_says_how_wide_how_empty_and_how_rare() -> None:
    ticks = walk(3, 900, hole=1.0)
    low, high = hole_of(ticks)

    judged = thin_ranges(traded(ticks), price(4))

    assert judged.found is not None
    (found,) = judged.found
    assert (judged.shuffles, judged.as_wide, judged.p) == (SHUFFLES, 0, 1 / 60)
    assert judged.widest == found.deviations == pytest.approx(float(found.high - found.low) / traded(ticks).deviation)
    assert found.spreads == float(found.high - found.low) / 4
    assert low - 100 <= found.low <= low + 100
    assert high - 100 <= found.high <= high + 100
    assert 0 <= found.of_median < 0.1


def test_equal_data_give_equal_words() -> None:
    ticks = walk(3, 2_000)

    assert thin_ranges(traded(ticks), TICK) == thin_ranges(traded(ticks), TICK)


def test_what_is_narrower_than_two_spreads_is_not_even_shuffled() -> None:
    path = traded(walk(3, 900, hole=1.0))

    wide = thin_ranges(path, Price(price(1_000_000)))

    assert (wide.found, wide.shuffles) == ((), 0)
    assert thin_ranges(path, None).found


def test_where_a_walk_turned_nothing_is_thin() -> None:
    edge = [*walk(5, 900)]
    edge[450] = max(edge) + 4_000  # a single print, far out

    assert thin_ranges(traded(edge), TICK).found == ()


def test_a_jump_to_and_fro_is_tempered_and_not_shuffled_into_other_holes() -> None:
    ticks = walk(3, 900, hole=1.0)
    low, high = hole_of(ticks)
    jump = max(abs(after - before) for before, after in pairwise(ticks))

    assert jump > high - low
    assert thin_ranges(traded(ticks), TICK).as_wide == 0


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (traded([]), "no_trades"),
        (traded(walk(1, 299)), "insufficient_events"),
        (barred([], 1), "no_trades"),
        (barred(walk(1, 239), 1), "insufficient_bars"),
        (traded([100] * 400), "degenerate"),
        (path_of_candles([candle(9, 9, 9, 9, 0, at=at) for at in range(300)], TICK), "degenerate"),
    ],
)
def test_what_is_too_little_to_judge_says_so(path: TradedPath, why: WhyNull) -> None:
    judged = thin_ranges(path, TICK)

    assert (judged.found, judged.p, judged.why_null) == (None, None, why)


@pytest.mark.slow
def test_a_long_tape_is_gathered_into_few_pieces_and_none_of_them_fills_a_hole() -> None:
    ticks = walk(3, 9_000, hole=0.5)
    low, high = hole_of(ticks)

    path = traded(ticks)

    assert len(path.pieces) <= 2 * MOST_PIECES
    assert path.n == 9_000
    assert not [each for each in path.pieces if each.low <= low and each.high >= high]
    assert covers(thin_ranges(path, TICK).found, ticks)


def test_a_price_that_leaps_all_the_time_has_no_more_pieces_than_another() -> None:
    path = traded([100_000, 200_000] * 2_000)

    assert len(path.pieces) <= 2 * MOST_PIECES


def test_a_price_is_inside_below_or_above_a_range() -> None:
    found = ThinRange(price(100), price(110), 1.0, None, 0.0, 0.0)

    assert found.contains(price(100))
    assert not found.contains(price(110))
    assert [found.distance_percent(price(each)) for each in (80, 105, 110, 220)] == [25, 0, 0, -50]
