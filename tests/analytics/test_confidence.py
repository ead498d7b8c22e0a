"""Intervals: around the value they belong to, and the same for the same window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.confidence import Block, bootstrap_ratio, shrunk_share, wilson


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


def test_a_share_of_few_is_drawn_to_its_long_run() -> None:
    assert shrunk_share(0, 1, 0.8) == pytest.approx(8 / 11)
