"""Stops by noise: as far as a usual move, beyond what stands about there, and with the chance of being touched."""

import random
from itertools import accumulate
from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle, price
from mcp_binance_server.analytics.liquidity.stops import Noise, StopSide, chance_of_touch, noise_of, stop_price
from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRange
from mcp_binance_server.domain.periods import Candle

TICK = price("0.01")
NOISE = Noise(day=0.02, bars=288, bar_ms=300_000)
FIVE_MS = 300_000
HOUR_MS = 3_600_000


def thin(low: str, high: str) -> ThinRange:
    return ThinRange(price(low), price(high), 0.5, 10.0, 0.0, 0.0)


def day(seed: int, sigma: float, *, trades: int = 40, bars: int = 288) -> list[Candle]:
    """Return bars of five minutes of a walk with so many steps each, whose day has a deviation of sigma."""
    chance, last, made = random.Random(seed), 100.0, list[Candle]()
    for at in range(bars):
        path = [last]
        for _ in range(trades):
            path.append(path[-1] * exp(chance.gauss(0, sigma / sqrt(288 * trades))))
        bar = candle(path[0], max(path), min(path), path[-1], at=at, span_ms=FIVE_MS)
        made.append(_counted(bar, trades))
        last = path[-1]
    return made


def _counted(bar: Candle, trades: int) -> Candle:
    return Candle(
        bar.open_time_ms, bar.close_time_ms, bar.open, bar.high, bar.low, bar.close, bar.volume, bar.quote_volume,
        trades, bar.taker_buy_volume,
    )  # fmt: skip


@pytest.mark.parametrize("sigma", [0.005, 0.03])
def test_noise_is_the_deviation_of_a_day(sigma: float) -> None:
    noise = noise_of(day(1, sigma, trades=200))

    assert noise is not None
    assert noise.day == pytest.approx(sigma, rel=0.12)
    assert noise.over(HOUR_MS) == pytest.approx(noise.day / sqrt(24))
    assert (noise.bars, noise.bar_ms) == (288, FIVE_MS)


def test_bars_with_few_trades_are_joined_until_they_have_enough() -> None:
    noise = noise_of(day(1, 0.03, trades=7))

    assert noise is not None
    assert (noise.bars, noise.bar_ms) == (96, 3 * FIVE_MS)
    assert noise.day == pytest.approx(0.03, rel=0.3)


def test_the_jump_between_two_bars_counts() -> None:
    calm = [_counted(candle(100 + at, 100 + at, 100 + at, 100 + at, at=at, span_ms=FIVE_MS), 50) for at in range(10)]

    noise = noise_of(calm)

    assert noise is not None
    assert noise.day > 0.05


@pytest.mark.parametrize(
    "bars", [[], day(1, 0.03)[:5], day(1, 0.03, trades=0), [_counted(candle(1, 1, 1, 1, at=at), 50) for at in range(9)]]
)
def test_where_hardly_anything_traded_there_is_no_noise_to_measure(bars: list[Candle]) -> None:
    assert noise_of(bars) is None


@pytest.mark.slow
def test_a_walk_touches_a_usual_move_as_often_as_is_said() -> None:
    chance = random.Random(7)
    touched = sum(min(accumulate(chance.gauss(0, 0.1) for _ in range(100))) <= -1.0 for _ in range(3_000))

    # Looked at in steps, a walk passes a line unseen: as if it lay 0.58 of a step further (Broadie et al. 1997).
    assert touched / 3_000 == pytest.approx(chance_of_touch(1.058, 1.0), abs=0.025)
    assert chance_of_touch(1.0, 1.0) == pytest.approx(0.3173, abs=1e-4)


def test_with_nothing_about_a_stop_is_a_usual_move_away() -> None:
    stop = stop_price(price(100), NOISE, tick=TICK)

    assert (stop.price, stop.origin, stop.edge) == (price("98.01"), "noise", None)
    assert stop.distance_percent == pytest.approx(1.99)
    assert stop.chance == pytest.approx(0.317, abs=0.003)


def test_a_longer_horizon_needs_more_room_for_the_same_chance() -> None:
    week = stop_price(price(100), NOISE, tick=TICK, horizon_ms=7 * 24 * HOUR_MS)

    assert week.price == price("94.84")
    assert week.chance == pytest.approx(0.317, abs=0.003)


def test_above_the_price_it_is_the_same_the_other_way() -> None:
    stop = stop_price(price(100), NOISE, tick=TICK, standing=[price("102.1")], side="short")

    assert (stop.price, stop.origin, stop.edge) == (price("102.30"), "standing_size", price("102.1"))


def test_what_stands_about_there_moves_it_a_little_beyond() -> None:
    held = stop_price(price(100), NOISE, tick=TICK, standing=[price("97.9"), price("98.1")])
    hole = stop_price(price(100), NOISE, tick=TICK, thin=[thin("97.0", "98.5")])

    assert (held.price, held.origin, held.edge) == (price("97.70"), "standing_size", price("97.9"))
    assert (hole.price, hole.origin, hole.edge) == (price("96.80"), "thin_range", price("97.0"))
    assert hole.chance < held.chance < 0.3


def test_nothing_moves_it_nearer_and_nothing_far_away_moves_it_at_all() -> None:
    near = stop_price(price(100), NOISE, tick=TICK, standing=[price("98.4"), price("101.9")], thin=[thin("99", "99.9")])
    far = stop_price(price(100), NOISE, tick=TICK, standing=[price("90")], thin=[thin("90", "97.4")])

    assert near.price == far.price == price("98.01")
    assert near.origin == far.origin == "noise"


def test_three_ticks_and_two_spreads_are_the_least() -> None:
    still = Noise(day=0.0001, bars=288, bar_ms=FIVE_MS)

    by_tick = stop_price(price("0.00000834"), still, tick=price("0.00000001"))
    by_spread = stop_price(price(100), still, tick=TICK, spread=price(1))

    assert (by_tick.price, by_tick.origin) == (price("0.00000831"), "ticks")
    assert (by_spread.price, by_spread.origin) == (price(98), "spread")


def test_a_stop_is_a_price_however_wild_the_market() -> None:
    stop = stop_price(price("0.00000002"), Noise(day=3.0, bars=288, bar_ms=FIVE_MS), tick=price("0.00000001"))

    assert stop.price == price("0.00000001")


def heavy(days: int = 40) -> Noise:
    """Return noise with days of which one in eight went two usual moves away and more."""
    far = tuple(sorted([0.5] * 21 * days + [2.5] * 3 * days))
    return Noise(day=0.02, bars=288, bar_ms=FIVE_MS, falls=far, rises=far)


def test_far_from_the_price_the_own_days_of_a_pair_say_how_often_noise_comes_there() -> None:
    far, near = (heavy().chance(moves * 0.02, 24 * HOUR_MS) for moves in (2.0, 1.0))

    assert near == chance_of_touch(1, 1)
    # 40 days at one in eight, and ten at the 4.6 % of a normal walk.
    assert far == pytest.approx((40 * 0.125 + 10 * 0.0455) / 50, abs=1e-4)
    assert NOISE.chance(0.04, 24 * HOUR_MS) == chance_of_touch(2, 1)


def test_the_farthest_moves_of_a_day_are_measured_in_moves_of_the_day_before() -> None:
    hours = [_counted(candle(100, 101, 99, 100, at=at, span_ms=HOUR_MS), 100) for at in range(96)]
    hours[60] = _counted(candle(100, 101, 80, 100, at=60, span_ms=HOUR_MS), 100)

    noise = noise_of(hours[-24:], hours)

    assert noise is not None
    assert noise.days == 2
    # Of the days, which begin every hour, twenty-four hold the crash.
    assert sum(each > 3 for each in noise.falls) == 24
    assert not any(each > 3 for each in noise.rises)


@pytest.mark.parametrize("hours", [24, 72])
@pytest.mark.parametrize("side", ["long", "short"])
@pytest.mark.parametrize("percent", [1, 5, 10, 31, 50])
def test_a_stop_of_a_chance_is_the_nearest_price_that_noise_reaches_as_seldom(
    percent: int, side: StopSide, hours: int
) -> None:
    at = stop_price(price(100), heavy(), tick=TICK, side=side, horizon_ms=hours * HOUR_MS, chance=percent / 100)
    nearer = abs(log(float(at.price) / 100)) - 0.0003

    assert at.chance <= percent / 100
    assert heavy().chance(nearer, hours * HOUR_MS, side) > percent / 100


@given(
    st.floats(0.001, 0.3),
    st.lists(st.floats(50, 150), max_size=4),
    st.lists(st.tuples(st.floats(50, 149), st.floats(0.1, 40)), max_size=3),
    st.sampled_from(["long", "short"]),
    st.integers(1, 168),
)
def test_noise_reaches_a_stop_in_at_most_35_of_100_horizons(
    sigma: float, sizes: list[float], ranges: list[tuple[float, float]], side: StopSide, hours: int
) -> None:
    stop = stop_price(
        price(100),
        Noise(day=sigma, bars=288, bar_ms=FIVE_MS),
        tick=TICK,
        standing=[price(round(each, 2)) for each in sizes],
        thin=[thin(f"{low:.2f}", f"{low + width:.2f}") for low, width in ranges],
        side=side,
        horizon_ms=hours * HOUR_MS,
    )

    assert stop.chance <= 0.35
    assert (stop.price < 100) is (side == "long")
