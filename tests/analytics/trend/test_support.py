"""Swings, the levels they make, and which of them are support and resistance."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given

from analytics.samples import candle, price, series, walk
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles
from mcp_binance_server.analytics.swings import find_swings
from mcp_binance_server.analytics.trend.approaches import Approaches
from mcp_binance_server.analytics.trend.support import SupportResistance, round_numbers, support_and_resistance
from mcp_binance_server.domain.periods import Candle

CENT = price("0.01")
# Lows at 90 (bar 3) and highs at 110 (bar 8); every other bar lies between 95 and 105.
SHAPE = [100, 100, 100, 90, 100, 100, 100, 100, 110, 100, 100, 100]


def around(middle: int, at: int) -> Candle:
    if middle == 90:
        return candle(98, 101, 90, 99, at=at)
    if middle == 110:
        return candle(99, 110, 99, 101, at=at)
    return candle(99, 100 + at % 3, 99 - at % 3, 100, at=at)


def shaped() -> list[Candle]:
    return [around(middle, at) for at, middle in enumerate(SHAPE)]


def levels_of(
    candles: list[Candle], atr: float | None, *, at: str = "100", profile: VolumeProfile | None = None
) -> SupportResistance:
    return support_and_resistance(
        candles, price(at), atr, high_24h=price(110), low_24h=price(90), profile=profile, tick=CENT
    )


def made_to_stand_out(levels: SupportResistance) -> SupportResistance:
    return replace(levels, clusters=tuple(replace(each, stands_out=True) for each in levels.clusters))


def test_a_swing_stands_out_on_both_sides() -> None:
    swings = find_swings(shaped())

    assert (swings.highs, swings.lows) == ((8,), (3,))


@pytest.mark.night
@given(series(max_size=30))
def test_neither_end_of_a_series_is_a_swing(candles: list[Candle]) -> None:
    swings = find_swings(candles)

    assert all(3 <= at < len(candles) - 3 for at in (*swings.highs, *swings.lows))


def test_a_level_names_its_members_and_counts_only_what_came_after_its_swing() -> None:
    candles = [*shaped(), candle(100, 101, Decimal("90.4"), 100, at=12), candle(100, 101, 99, 100, at=13)]

    levels = levels_of(candles, 2.0)

    assert levels.support is not None
    assert levels.support.price == 90
    assert [(each.origin, each.time_ms) for each in levels.support.members] == [
        ("24h low", None),
        ("swing low", candles[3].open_time_ms),
    ]
    assert levels.support.approaches == Approaches(held=1, n=1)
    assert levels.resistance is not None
    assert [each.origin for each in levels.resistance.members] == ["24h high", "swing high"]
    assert (levels.resistance.price, levels.resistance.approaches, levels.n) == (110, Approaches(0, 0), 14)
    assert levels.resistance.strength == pytest.approx(0)


def test_the_value_area_gives_three_more_reasons() -> None:
    candles = shaped()
    profile = profile_of_candles(candles, price(1), bin_size=price(1))

    levels = levels_of(candles, 0.5, profile=profile)

    origins = {each.origin for cluster in levels.clusters for each in cluster.members}
    assert {"POC", "VAH", "VAL"} <= origins


def test_a_profile_of_nothing_gives_no_reason() -> None:
    levels = levels_of(shaped(), 0.5, profile=profile_of_candles([], price(1)))

    origins = {each.origin for cluster in levels.clusters for each in cluster.members}
    assert origins == {"swing high", "swing low", "24h high", "24h low", "round number"}


def test_candidates_exactly_two_fifths_of_the_atr_apart_stay_apart() -> None:
    candles = [candle(85, 85, 85, 85)]

    apart = support_and_resistance(
        candles, price(85), 2.5, high_24h=price(91), low_24h=price(90), profile=None, tick=CENT
    )
    merged = support_and_resistance(
        candles, price(85), 2.6, high_24h=price(91), low_24h=price(90), profile=None, tick=CENT
    )

    assert [each.price for each in apart.clusters] == [90, 91]
    assert [each.price for each in merged.clusters] == [Decimal("90.5")]


def test_the_next_level_is_half_an_atr_away_and_a_nearer_one_is_at_the_price() -> None:
    candles = [candle(100, 101, 99, 100, at=at) for at in range(3)]

    levels = support_and_resistance(
        candles, price(80), 4.0, high_24h=price(82), low_24h=price("78.01"), profile=None, tick=CENT
    )

    assert levels.resistance is not None
    assert (levels.resistance.price, levels.support) == (82, None)
    assert [each.price for each in levels.at_price] == [Decimal("78.01")]


def test_a_level_within_three_ticks_is_at_the_price_however_small_the_atr() -> None:
    levels = support_and_resistance(
        [candle(8, 9, 8, 8)], price(8), 0.5, high_24h=price(10), low_24h=price(6), profile=None, tick=price(1)
    )

    assert (levels.support, levels.resistance) == (None, None)
    assert levels.reach == 3
    assert [each.price for each in levels.at_price] == [6, 10]


@pytest.mark.parametrize(
    ("low", "high", "near"),
    [("110.5", "111", True), ("110.51", "111", False), ("108", "109.5", True), ("108", "109.49", False)],
)
def test_near_is_a_quarter_of_the_atr(low: str, high: str, *, near: bool) -> None:
    levels = made_to_stand_out(levels_of(shaped(), 2.0))

    assert (levels.level_at(price(low), price(high)) is not None) is near


def test_of_several_levels_the_one_in_the_middle_is_named() -> None:
    levels = levels_of(shaped(), 2.0)

    found = made_to_stand_out(levels).level_at(price(80), price(111))

    assert found is not None
    assert found.price == 100
    assert levels.level_at(price(80), price(111)) is None, "none of them stands out"


def test_of_the_levels_with_the_most_swings_one_that_turns_every_approach_stands_out() -> None:
    turning = [100, 104, 108, 110, 108, 104] * 12
    candles = [candle(middle, middle + 1, middle - 1, middle, at=at) for at, middle in enumerate(turning)]

    levels = levels_of(candles, 2.0)

    assert [each.price for each in levels.clusters if each.stands_out] == [price("99"), price("111")]
    assert levels.level_at(price(98), price(99)) is not None
    assert levels.level_at(price(104), price(105)) is None


@pytest.mark.parametrize(
    ("at", "expected"),
    [("50234.56", [50000, 100000]), ("0.0000118", [Decimal("0.00001"), Decimal("0.00002")]), ("2", [2, 5])],
)
def test_round_numbers_are_one_two_and_five_times_a_power_of_ten(at: str, expected: list[Decimal]) -> None:
    assert [each.price for each in round_numbers(price(at), Decimal(0), Decimal(10**9))] == expected


def test_a_round_number_the_bars_never_came_near_is_no_level() -> None:
    assert round_numbers(price(7), Decimal(6), Decimal("9.99")) == []
    assert [each.price for each in round_numbers(price(7), Decimal(5), Decimal("9.99"))] == [5]
    assert round_numbers(price(0), Decimal(0), Decimal(1)) == []


@pytest.mark.parametrize(("atr", "why"), [(None, "insufficient_bars"), (0.0, "flat_range")])
def test_without_an_atr_there_are_no_levels(atr: float | None, why: str) -> None:
    levels = levels_of(shaped(), atr)

    assert (levels.support, levels.resistance, levels.clusters, levels.why_null) == (None, None, (), why)


@pytest.mark.parametrize("seed", range(5))
def test_levels_of_a_walk_are_on_ticks_apart_and_on_their_side_of_the_price(seed: int) -> None:
    candles = walk(seed, bars=200)
    atr = indicators.latest(indicators.atr(candles, 14))
    last = candles[-1].close
    day = candles[-24:]

    levels = support_and_resistance(
        candles,
        last,
        atr,
        high_24h=max(each.high for each in day),
        low_24h=min(each.low for each in day),
        profile=profile_of_candles(day, CENT),
        tick=CENT,
    )

    found = [each.price for each in levels.clusters]
    assert found == sorted(set(found))
    assert all(each % CENT == 0 for each in found)
    assert levels.support is None or levels.support.price < last - Decimal(str(atr)) / 2 + CENT
    assert levels.resistance is None or levels.resistance.price > last
    assert sum(len(each.members) for each in levels.clusters) >= 5
