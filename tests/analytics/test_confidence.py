"""Confidence: no word without evidence, and the same words for the same window."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import trade
from mcp_binance_server.analytics.confidence import (
    Block,
    Interval,
    bootstrap_ratio,
    confidence,
    confidence_of_instant,
    wilson,
)
from mcp_binance_server.analytics.envelope import Confidence, Window
from mcp_binance_server.analytics.flow.direction import FlowDirection, direction_of, flow_direction
from mcp_binance_server.analytics.flow.volume import SecondFlow, seconds_of_trades
from mcp_binance_server.analytics.thresholds import Thresholds

WINDOW = Window(0, 60_000)
DIRECTIONAL = {"STRONG_BUY", "MODERATE_BUY", "MODERATE_SELL", "STRONG_SELL"}


def interval(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 100, "block_bootstrap_by_second")


def generated(seed: int) -> FlowDirection:
    """Judge a minute of clustered trades whose lean, activity and cluster size all depend on the seed."""
    chance = random.Random(seed)
    lean, busy = chance.uniform(0.2, 0.8), chance.randrange(1, 12)
    tape = [
        trade(100, round(chance.lognormvariate(0, 1) + 0.001, 3), sold=sold, at_ms=second * 1000 + at)
        for second in range(60)
        for sold in [chance.random() > lean]
        for at in range(chance.randrange(busy + 1))
    ]
    return flow_direction(seconds_of_trades(tape), WINDOW)


def seconds(buy: float, sell: float, count: int = 60, start: int = 0) -> list[SecondFlow]:
    return [SecondFlow(start + at, buy + at % 3 / 10, sell + at % 2 / 10, 3) for at in range(count)]


@pytest.mark.slow
def test_no_directional_word_while_the_interval_allows_for_an_even_market() -> None:
    judged = [generated(seed) for seed in range(200)]

    for each in judged:
        straddles = each.share is None or each.share.low <= 0.5 <= each.share.high
        assert not straddles or each.direction in {"NEUTRAL", "UNKNOWN"}
        assert not straddles or each.signal == "NO EDGE"
        assert (each.signal == "NO EDGE") == (each.confidence in {"none", "low"})
        assert (each.share is None) == (each.why_null is not None) == (each.direction == "UNKNOWN")
    assert len({each.direction for each in judged} & DIRECTIONAL) >= 3
    assert {each.confidence for each in judged} >= {"low", "medium", "high"}


def test_an_even_market_is_seldom_called_a_direction() -> None:
    chance = random.Random(7)
    called = 0
    for _ in range(200):
        rows = [SecondFlow(at, *((9.0, 1.0) if chance.random() < 0.5 else (1.0, 9.0)), 10) for at in range(60)]
        called += flow_direction(rows, WINDOW, thresholds=Thresholds(resamples=200)).confidence != "low"

    assert called <= 20  # 5 % are due, and percentile intervals of 60 blocks are a little narrow


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 100)), min_size=1, max_size=20),
    st.integers(0, 2**45),
)
def test_equal_inputs_give_equal_intervals_around_the_value(rows: list[tuple[float, float]], seed: int) -> None:
    blocks = [Block(buy, buy + sell) for buy, sell in rows]

    once, again = (bootstrap_ratio(blocks, seed, resamples=40) for _ in range(2))

    assert once is not None
    assert once == again
    assert 0 <= once.low <= once.value <= once.high <= 1


def test_the_draws_are_pinned() -> None:
    blocks = [Block(float(at), 10.0) for at in range(10)]

    got = bootstrap_ratio(blocks, 1_760_711_025_120)

    assert got is not None
    assert (got.value, got.n) == (0.45, 10)
    assert (got.low, got.high) == pytest.approx((0.27, 0.63))


def test_another_window_end_draws_other_seconds() -> None:
    blocks = [Block(float(at), 10.0 + at) for at in range(50)]

    assert bootstrap_ratio(blocks, 1_000) != bootstrap_ratio(blocks, 2_000)


def test_blocks_without_volume_are_no_blocks() -> None:
    assert bootstrap_ratio([Block(0, 0)], 1) is None
    assert wilson(0, 0) is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_inside_and_around_the_share(counts: tuple[int, int]) -> None:
    got = wilson(*counts)

    assert got is not None
    assert 0 <= got.low <= got.value <= got.high <= 1


@pytest.mark.parametrize(
    ("whole", "halves", "n", "gaps", "word"),
    [
        (None, [], 99, 0, "none"),
        (interval(0.6, 0.7), [], 29, 0, "none"),
        (interval(0.6, 0.7), [], 99, 1, "none"),
        (interval(0.4, 0.7), [interval(0.6, 0.7)] * 2, 99, 0, "low"),
        (interval(0.5, 0.7), [], 99, 0, "low"),
        (interval(0.6, 0.7), [], 99, 0, "medium"),
        (interval(0.6, 0.7), [interval(0.6, 0.7), None], 99, 0, "medium"),
        (interval(0.6, 0.7), [interval(0.6, 0.7), interval(0.4, 0.6)], 99, 0, "medium"),
        (interval(0.6, 0.7), [interval(0.6, 0.7), interval(0.2, 0.3)], 99, 0, "medium"),
        (interval(0.6, 0.7), [interval(0.6, 0.7), interval(0.51, 0.8)], 99, 0, "high"),
        (interval(0.3, 0.4), [interval(0.3, 0.4), interval(0.1, 0.2)], 99, 0, "high"),
    ],
)
def test_the_first_rule_that_holds_gives_the_word(
    whole: Interval | None, halves: list[Interval | None], n: int, gaps: int, word: Confidence
) -> None:
    assert confidence(whole, halves, 0.5, n=n, gaps=gaps) == word


def test_a_measure_of_an_instant_is_exact_while_fresh() -> None:
    assert (confidence_of_instant(2000), confidence_of_instant(2001)) == ("high", "none")


@pytest.mark.parametrize(
    ("buy", "sell", "word"),
    [
        (201, 100, "STRONG_BUY"), (200, 100, "MODERATE_BUY"), (120, 100, "MODERATE_BUY"), (119, 100, "NEUTRAL"),
        (80, 100, "NEUTRAL"), (79, 100, "MODERATE_SELL"), (50, 100, "MODERATE_SELL"), (49, 100, "STRONG_SELL"),
        (5, 0, "STRONG_BUY"), (0, 5, "STRONG_SELL"), (0, 0, "UNKNOWN"),
    ],
)  # fmt: skip
def test_the_ratio_has_a_word_once_the_interval_allows_one(buy: float, sell: float, word: str) -> None:
    assert direction_of(buy, sell, interval(0.6, 0.7)) == word
    assert direction_of(buy, sell, interval(0.4, 0.7)) == ("UNKNOWN" if word == "UNKNOWN" else "NEUTRAL")
    assert direction_of(buy, sell, None) == "UNKNOWN"


def test_a_steady_lean_is_certain_and_one_of_a_half_is_not() -> None:
    steady = flow_direction(seconds(3, 1), WINDOW)
    late = flow_direction([*seconds(1, 1.05, 30), *seconds(5, 1, 30, 30)], WINDOW)
    selling = flow_direction(seconds(1, 3), WINDOW)

    assert (steady.confidence, steady.direction, steady.signal) == ("high", "STRONG_BUY", "LONG BIAS")
    assert (late.confidence, late.signal) == ("medium", "LONG BIAS")
    assert (selling.confidence, selling.direction, selling.signal) == ("high", "STRONG_SELL", "SHORT BIAS")


def test_a_lean_seen_in_one_half_only_is_not_high() -> None:
    only_late = flow_direction(seconds(3, 1, 20, 40), WINDOW)

    assert (only_late.confidence, only_late.direction) == ("medium", "STRONG_BUY")


def test_what_cannot_be_judged_says_why() -> None:
    assert flow_direction([], WINDOW).why_null == "no_trades"
    assert flow_direction(seconds(3, 1), WINDOW, gaps=1).why_null == "gap_in_window"
    assert flow_direction(seconds(3, 1, 7), WINDOW).why_null == "insufficient_events"
    assert flow_direction([SecondFlow(at, 1, 0, 1) for at in range(20)], WINDOW).why_null == "insufficient_events"
