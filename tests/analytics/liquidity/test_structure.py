"""Structure: walls that last, the bins with least volume."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import levels, price, trade
from mcp_binance_server.analytics.book.report import WallSighting, judge_walls, wall_candidates
from mcp_binance_server.analytics.liquidity.low_volume import LowVolumeRange, low_volume_ranges
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_trades
from mcp_binance_server.analytics.robust import robust_z, robust_z_of
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.market import PriceLevel


def side(*, at: int = 5, size: int = 40, count: int = 21) -> list[PriceLevel]:
    return levels([(100 - row, size if row == at else 1 + row % 3 / 10) for row in range(count)])


def sightings(seen: int, of: int, apart_ms: int = 1000) -> list[WallSighting]:
    """Return snapshots in the last of which, and in `seen` of all, the wall stands."""
    wall = wall_candidates(side())
    return [WallSighting(at * apart_ms, wall if at >= of - seen else ()) for at in range(of)]


def profile(*volumes: int, base: int = 1000, width: int = 10) -> VolumeProfile:
    tape = [trade(base + row * width, volume) for row, volume in enumerate(volumes) if volume]
    return profile_of_trades(tape, price(1), bin_size=price(width))


@given(st.lists(st.floats(0.1, 1000), min_size=3, max_size=20), st.floats(0.5, 50))
def test_scaling_every_size_leaves_z_unchanged(sizes: list[float], factor: float) -> None:
    before, after = robust_z(sizes, 0), robust_z([each * factor for each in sizes], 0)

    if before.scale == after.scale and before.z is not None:
        assert after.z == pytest.approx(before.z, rel=1e-5, abs=1e-6)


def test_where_all_others_are_equal_the_ratio_is_left() -> None:
    got = robust_z_of(5, [1, 1, 1])

    assert (got.z, got.ratio, got.why_null) == (None, 5, "degenerate")
    assert robust_z_of(5, [0, 0]).ratio is None
    assert robust_z_of(5, []).why_null == "degenerate"


def test_a_wall_is_large_for_its_neighbours_and_for_its_side() -> None:
    (wall,) = wall_candidates(side())

    assert (wall.price, wall.quantity) == (95, 40)
    assert wall.z >= 3.5
    assert wall.share == pytest.approx(40 / 62.0, rel=0.01)


def test_large_for_its_neighbours_alone_is_no_wall() -> None:
    small_share = side(size=3, count=100)

    assert wall_candidates(small_share) == ()
    assert wall_candidates(small_share, thresholds=Thresholds(wall_share=0.01)) != ()


def test_a_book_of_equal_or_few_levels_has_no_walls() -> None:
    assert wall_candidates(levels([(100 - row, 1) for row in range(20)])) == ()
    assert wall_candidates(side(at=2, count=5)) == ()
    assert wall_candidates([]) == ()
    assert wall_candidates(levels([(100, 0), (99, 0)])) == ()


@pytest.mark.parametrize(
    ("seen", "of", "apart_ms", "status", "why"),
    [
        (31, 31, 1000, "confirmed", None),
        (28, 40, 1000, "confirmed", None),
        (27, 40, 1000, "candidate", None),
        (29, 29, 2000, "candidate", "insufficient_snapshots"),
        (40, 40, 100, "candidate", "insufficient_snapshots"),
    ],
)
def test_a_wall_is_confirmed_by_lasting(seen: int, of: int, apart_ms: int, status: str, why: str | None) -> None:
    (wall,) = judge_walls(sightings(seen, of, apart_ms))

    assert (wall.status, wall.why_null, wall.span_ms) == (status, why, (of - 1) * apart_ms)
    assert wall.persistence is not None
    assert wall.persistence.low < wall.persistence.value == seen / of


def test_without_snapshots_there_are_no_walls() -> None:
    assert judge_walls([]) == ()


def test_a_percentile_lists_the_thinnest_bins_and_judges_nothing() -> None:
    traded = profile(100, 15, 60, 100, 100, 0, 0, 100, 100, 100)

    assert low_volume_ranges(traded, 50) == (
        LowVolumeRange(price(1010), price(1030), 0.375),
        LowVolumeRange(price(1050), price(1070), 0.0),
    )
    assert low_volume_ranges(traded, 10) == (LowVolumeRange(price(1050), price(1070), 0.0),)


def test_without_trades_there_are_no_bins_and_a_median_of_nothing_is_not_divided_by() -> None:
    assert low_volume_ranges(profile_of_trades([], price(1)), 50) == ()
    assert low_volume_ranges(profile(10, 0, 0, 0, 10), 10) == (LowVolumeRange(price(1010), price(1040), None),)
