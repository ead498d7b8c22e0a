"""Swings and the levels they make, the lean of the market and the words for its day."""

from decimal import Decimal

import pytest
from hypothesis import given

from analytics.samples import candle, price, series, walk
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles
from mcp_binance_server.analytics.robust import find_swings
from mcp_binance_server.analytics.trend.bias import Bias, find_bias, offers_entry, position_in_range, summarise_day
from mcp_binance_server.analytics.trend.support import SupportResistance, support_and_resistance
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


def test_a_swing_stands_out_on_both_sides() -> None:
    swings = find_swings(shaped())

    assert (swings.highs, swings.lows) == ((8,), (3,))


@given(series(max_size=30))
def test_neither_end_of_a_series_is_a_swing(candles: list[Candle]) -> None:
    swings = find_swings(candles)

    assert all(3 <= at < len(candles) - 3 for at in (*swings.highs, *swings.lows))


def test_a_level_names_its_members_and_counts_every_other_bar_that_touched_it() -> None:
    candles = [*shaped(), candle(100, 101, Decimal("90.4"), 100, at=12)]

    levels = levels_of(candles, 2.0)

    assert levels.support is not None
    assert levels.support.price == 90
    assert [(each.origin, each.time_ms) for each in levels.support.members] == [
        ("24h low", None),
        ("swing low", candles[3].open_time_ms),
    ]
    assert (levels.support.touches, levels.support.strength) == (1, 3)
    assert levels.resistance is not None
    assert [each.origin for each in levels.resistance.members] == ["24h high", "swing high"]
    assert (levels.resistance.price, levels.resistance.strength, levels.n) == (110, 2, 13)


def test_the_value_area_gives_three_more_reasons() -> None:
    candles = shaped()
    profile = profile_of_candles(candles, price(1), bin_size=price(1))

    levels = levels_of(candles, 0.5, profile=profile)

    origins = {each.origin for cluster in levels.clusters for each in cluster.members}
    assert {"POC", "VAH", "VAL"} <= origins


def test_a_profile_of_nothing_gives_no_reason() -> None:
    levels = levels_of(shaped(), 0.5, profile=profile_of_candles([], price(1)))

    origins = {each.origin for cluster in levels.clusters for each in cluster.members}
    assert origins == {"swing high", "swing low", "24h high", "24h low"}


def test_candidates_exactly_a_quarter_of_the_atr_apart_stay_apart() -> None:
    candles = [candle(100, 100, 100, 100)]

    apart = support_and_resistance(
        candles, price(100), 4.0, high_24h=price(91), low_24h=price(90), profile=None, tick=CENT
    )
    merged = support_and_resistance(
        candles, price(100), 4.1, high_24h=price(91), low_24h=price(90), profile=None, tick=CENT
    )

    assert [each.price for each in apart.clusters] == [90, 91]
    assert [each.price for each in merged.clusters] == [Decimal("90.5")]


def test_a_weak_level_is_better_than_none() -> None:
    levels = support_and_resistance(
        shaped()[:1], price(100), 1.0, high_24h=price(120), low_24h=price(80), profile=None, tick=CENT
    )

    assert levels.support is not None
    assert (levels.support.price, levels.support.strength) == (80, 1)
    assert levels.resistance is not None
    assert levels.resistance.price == 120


def test_a_nearer_level_of_one_member_gives_way_to_a_farther_one_of_two() -> None:
    candles = [candle(100, 101, 99, 100, at=at) for at in range(2)]
    candles += [candle(100, 101, Decimal("84.9"), 100, at=2)]

    levels = support_and_resistance(
        candles, price(100), 4.0, high_24h=price(95), low_24h=price(85), profile=None, tick=CENT
    )

    assert [(each.price, each.strength) for each in levels.clusters] == [(85, 2), (95, 1)]
    assert levels.support is not None
    assert levels.support.price == 85
    assert levels.resistance is None


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
    assert levels.support is None or levels.support.price < last
    assert levels.resistance is None or levels.resistance.price > last
    assert sum(len(each.members) for each in levels.clusters) >= 5


def test_three_votes_of_four_are_a_direction() -> None:
    rising = find_bias(50234.56, 50010.2, 49640.75, rsi=57.3, change_percent=2.5)
    mostly_falling = find_bias(90.0, 95.0, 100.0, rsi=40.0, change_percent=1.0)
    split = find_bias(90.0, 95.0, 100.0, rsi=60.0, change_percent=1.0)

    assert rising == Bias("up", 4, 0, 4)
    assert mostly_falling == Bias("down", 1, 3, 4)
    assert split == Bias("mixed", 2, 2, 4)


def test_a_market_that_stands_still_leans_nowhere() -> None:
    assert find_bias(5.0, 5.0, 5.0, rsi=50.0, change_percent=0.0) == Bias("mixed", 0, 0, 4)


def test_a_missing_indicator_does_not_vote_and_two_votes_are_no_direction() -> None:
    without_slow = find_bias(101.0, 100.0, None, rsi=60.0, change_percent=1.0)
    without_averages = find_bias(101.0, None, None, rsi=60.0, change_percent=1.0)

    assert without_slow == Bias("up", 3, 0, 3)
    assert without_averages == Bias(None, 2, 0, 2, "insufficient_components")


def test_only_the_conservative_strategy_waits_and_only_in_a_downtrend() -> None:
    down, mixed = Bias("down", 0, 4, 4), Bias("mixed", 2, 2, 4)

    assert not offers_entry("conservative", down)
    assert offers_entry("balanced", down)
    assert offers_entry("conservative", mixed)


@pytest.mark.parametrize(
    ("at", "change", "momentum", "sentiment"),
    [
        ("50234.56", "2.5", "positive", "bullish"),
        ("50000", "2.5", "positive", "bullish"),
        ("49999", "2.5", "positive", "unclear"),
        ("49500", "-1.5", "negative", "bearish"),
        ("50000", "-1.5", "negative", "bearish"),
        ("50500", "-1.5", "negative", "unclear"),
        ("50900", "0.5", "little", "unclear"),
        ("49100", "-0.5", "little", "unclear"),
    ],
)
def test_the_words_for_the_day_need_change_and_position_to_agree(
    at: str, change: str, momentum: str, sentiment: str
) -> None:
    day = summarise_day(price(at), price(51000), price(49000), Decimal(change))

    assert (day.momentum, day.sentiment) == (momentum, sentiment)


@pytest.mark.parametrize("change", ["3", "-3"])
def test_a_day_without_a_range_has_no_position_and_no_sentiment(change: str) -> None:
    day = summarise_day(price(1), price(1), price(1), Decimal(change))

    assert (day.position, day.sentiment) == (None, "unclear")


def test_the_position_runs_from_the_low_to_the_high() -> None:
    assert [position_in_range(price(at), price(20), price(10)) for at in (10, 15, 20)] == [0.0, 0.5, 1.0]
