"""Whether a level held when the price came back to it, and that on walks none is better than another."""

import random

import pytest

from mcp_binance_server.analytics.trend.approaches import (
    Approaches,
    Bar,
    approaches,
    beats_chance,
    share_held_anywhere,
    strength,
)


def path(*closes: float) -> list[Bar]:
    """Return bars that reach from one close to the next."""
    return [Bar(max(pair), min(pair), pair[1]) for pair in zip((closes[0], *closes), closes, strict=False)]


def walk(seed: int, bars: int = 200) -> list[Bar]:
    chance, last, made = random.Random(seed), 100.0, list[Bar]()
    for _ in range(bars):
        steps = [last]
        for _ in range(12):
            steps.append(steps[-1] + chance.gauss(0, 0.2))
        made.append(Bar(max(steps), min(steps), steps[-1]))
        last = steps[-1]
    return made


@pytest.mark.parametrize(
    ("closes", "seen"),
    [
        ((102, 100.2, 101), Approaches(1, 1)),
        ((102, 100.2, 99), Approaches(0, 1)),
        ((98, 99.8, 99), Approaches(1, 1)),
        ((98, 99.8, 101), Approaches(0, 1)),
        ((102, 100.2, 100.9), Approaches(0, 0)),
        ((102, 100.3, 102), Approaches(0, 0)),
        ((100.9, 100.2, 101), Approaches(0, 0)),
        ((102, 100.2, 99, 100, 98, 100, 102), Approaches(1, 3)),
    ],
    ids=[
        "held from above", "broke from above", "held from below", "broke from below", "still open", "not near enough",
        "came from too near", "three times",
    ],
)  # fmt: skip
def test_an_approach_comes_from_an_atr_away_and_is_settled_an_atr_away(
    closes: tuple[float, ...], seen: Approaches
) -> None:
    assert approaches(100, path(*closes), 1.0) == seen


def test_few_approaches_say_little_and_many_say_more() -> None:
    assert strength(Approaches(0, 0), 0.5) == 0
    assert strength(Approaches(2, 2), 0.5) == pytest.approx(7 / 12 - 0.5)
    assert strength(Approaches(20, 20), 0.5) == pytest.approx(25 / 30 - 0.5)
    assert strength(Approaches(0, 2), 0.5) < 0


def test_a_claim_allows_for_how_many_levels_were_tried() -> None:
    assert beats_chance(Approaches(8, 9), 0.5, 2)
    assert not beats_chance(Approaches(8, 9), 0.5, 3)
    assert beats_chance(Approaches(8, 8), 0.5, 3)
    assert not beats_chance(Approaches(7, 7), 0.01, 1)


def test_bars_without_an_approach_are_a_coin() -> None:
    assert share_held_anywhere(path(100, 100), 1.0) == 0.5


def test_on_a_walk_arbitrary_prices_hold_about_half_the_time() -> None:
    shares = [share_held_anywhere(walk(seed), 1.0) for seed in range(12)]

    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.08)


def test_a_floor_that_turns_a_walk_every_time_is_found_and_a_price_above_it_is_not() -> None:
    reflected = [
        Bar(100 + abs(bar.high - 100), 100 + abs(bar.low - 100), 100 + abs(bar.close - 100)) for bar in walk(1)
    ]
    bars = [Bar(max(bar), min(bar), bar.close) for bar in reflected]

    usual = share_held_anywhere(bars, 0.7)
    floor, above = approaches(100, bars, 0.7), approaches(102, bars, 0.7)

    assert floor.held == floor.n >= 8
    assert beats_chance(floor, usual, 5)
    assert not beats_chance(above, usual, 5)
