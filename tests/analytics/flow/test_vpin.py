"""VPIN: buckets of equal volume that lose none of it, and a rank that says nothing by itself."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.flow.vpin import SidedVolume, fill_buckets, vpin

bars = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1000)), min_size=1, max_size=60)


def week(seed: int, buy: float = 0.5) -> list[SidedVolume]:
    """Return 5 m bars of a week in which each of some orders is bought by a coin."""
    chance = random.Random(seed)
    rows = list[SidedVolume]()
    for _ in range(2_016):
        orders = [(chance.random() < buy, chance.lognormvariate(0, 1)) for _ in range(1 + chance.randrange(12))]
        rows.append(
            SidedVolume(sum(size for bought, size in orders if bought), sum(size for b, size in orders if not b))
        )
    return rows


@given(bars, st.integers(1, 5))
def test_buckets_lose_no_volume_and_every_lead_is_a_share(rows: list[tuple[int, int]], parts: int) -> None:
    sides = [SidedVolume(*map(float, row)) for row in rows]
    volume = sum(map(sum, sides)) / (parts + 0.5)

    got = fill_buckets(sides, volume)

    assert len(got.leads) * volume + got.leftover == pytest.approx(sum(map(sum, sides)))
    assert all(-1e-9 <= each <= 1 + 1e-9 for each in got.leads)


def test_a_bar_is_split_at_the_edge_with_its_sides_in_proportion() -> None:
    got = fill_buckets([SidedVolume(15, 5), SidedVolume(0, 10)], 10)

    assert got.leads == pytest.approx((0.5, 0.5, 1.0))
    assert got.leftover == 0


def test_a_week_has_a_value_and_its_rank_among_the_values_before() -> None:
    calm, pressed = week(7), week(7)[:-300] + week(8, buy=0.95)[:300]

    usual, high = vpin(calm), vpin(pressed)

    assert (usual.method, usual.why_null) == ("vpin_true_flags_5m", None)
    assert usual.buckets in (349, 350)
    assert usual.n == usual.buckets - 50
    assert usual.value is not None
    assert 0 < usual.value < 0.3
    assert high.value is not None
    assert high.value > 1.5 * usual.value
    assert high.p is not None
    assert high.p < 0.02


def test_a_market_that_hardly_trades_has_none() -> None:
    assert vpin([]).why_null == "insufficient_history"
    assert vpin([SidedVolume(0, 0)] * 2_016).why_null == "insufficient_history"
    assert vpin([SidedVolume(3, 1)], 8).buckets == 56
