"""Structure: walls that last, gaps that stand out, ranges hardly traded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle, levels, price, trade
from mcp_binance_server.analytics.book.report import WallSighting, gaps, judge_walls, wall_candidates, wide_gaps
from mcp_binance_server.analytics.liquidity.vacuums import Vacuum, find_vacuums
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles, profile_of_trades
from mcp_binance_server.analytics.robust import robust_z, robust_z_of, robust_zs
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.market import PriceLevel

FEW = Thresholds(vacuum_min_trades=1, vacuum_min_bars=1)


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


@given(st.lists(st.integers(1, 50).map(float), max_size=20))
def test_one_pass_gives_the_same_as_one_at_a_time(values: list[float]) -> None:
    assert robust_zs(values) == [robust_z(values, at, leave_out=False).z for at in range(len(values))]


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


def test_a_wide_gap_is_found_on_either_side_of_the_book() -> None:
    asks = [price(each) for each in ("100.02", "100.03", "100.05", "100.30", "100.31")]

    (gap,) = wide_gaps(asks, price("0.01"))

    assert (gap.low, gap.high, gap.ticks) == (price("100.05"), price("100.30"), 25)
    assert wide_gaps(asks[::-1], price("0.01")) == (gap,)
    assert gaps(asks[:1], price("0.01")) == ()
    assert [each.z for each in gaps([price(1), price(2), price(3)], price(1))] == [None, None]


def test_thin_bins_next_to_each_other_are_one_vacuum() -> None:
    found = find_vacuums(profile(10, 10, 0, 0, 10, 10, 10), thresholds=FEW)

    assert found.vacuums == (Vacuum(price(1020), price(1040), 1.0, "Critical"),)
    assert (found.median_volume, found.bins, found.n) == (10, 7, 5)


def test_vacuums_closer_than_the_merge_distance_are_one_and_less_severe() -> None:
    near = find_vacuums(profile(100, 100, 0, 100, 0, 100, 100, base=100_000, width=10), thresholds=FEW)
    far = find_vacuums(profile(100, 100, 0, 100, 0, 100, 100, base=1_000, width=10), thresholds=FEW)

    assert near.vacuums is not None
    assert far.vacuums is not None
    assert [(each.low, each.severity) for each in near.vacuums] == [(100_020, "Medium")]
    assert near.vacuums[0].deficit == pytest.approx(2 / 3)
    assert [each.severity for each in far.vacuums] == ["Critical", "Critical"]


def test_a_percentile_replaces_the_fraction() -> None:
    traded = profile(100, 15, 60, 100, 100, 100, 100, 100, 100, 100)

    assert find_vacuums(traded, thresholds=FEW).vacuums == ()
    chosen = find_vacuums(traded, percentile=30, thresholds=FEW).vacuums
    assert chosen is not None
    assert [(each.low, each.severity) for each in chosen] == [(1010, "Medium")]
    lower = find_vacuums(traded, percentile=20, thresholds=FEW).vacuums
    assert lower is not None
    assert [(each.low, each.severity) for each in lower] == [(1010, "High")]


def test_hardly_thinner_than_usual_is_low() -> None:
    chosen = find_vacuums(profile(100, 90, 100, 101), percentile=50, thresholds=FEW).vacuums

    assert chosen is not None
    assert [each.severity for each in chosen] == ["Low"]


def test_what_is_too_little_to_judge_says_so() -> None:
    bars = [candle(10, 12, 9, 10, 5, at=at) for at in range(119)]

    assert find_vacuums(profile(10, 0, 10)).why_null == "insufficient_events"
    assert find_vacuums(profile_of_candles(bars, price(1))).why_null == "insufficient_bars"
    assert find_vacuums(profile_of_candles([*bars, bars[0]], price(1))).vacuums == ()
    assert find_vacuums(profile_of_trades([], price(1))).why_null == "no_trades"
    assert find_vacuums(profile(10, 0, 0, 0, 10), thresholds=FEW).why_null == "degenerate"


def test_a_price_is_inside_below_or_above_a_vacuum() -> None:
    vacuum = Vacuum(price(100), price(110), 1.0, "Critical")

    assert vacuum.contains(price(100))
    assert not vacuum.contains(price(110))
    assert [vacuum.distance_percent(price(each)) for each in (80, 105, 110, 220)] == [25, 0, 0, -50]
