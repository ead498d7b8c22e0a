"""The volume profile: nothing lost, nothing invented, ties always broken the same way."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import Number, candle, price, quantity, series
from mcp_binance_server.analytics.market.profile import profile_of_candles, profile_of_trades, value_area
from mcp_binance_server.analytics.metric import Window
from mcp_binance_server.analytics.thresholds import Rows, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.periods import Candle

SHARE = Decimal("0.70")
volumes_of_rows = st.lists(st.integers(0, 50), min_size=1, max_size=40).map(lambda each: [Decimal(v) for v in each])
ticks = st.sampled_from(["0.01", "0.5", "1", "7", "0.00000001"])


def trades_at(*prints: tuple[Number, Number]) -> list[Trade]:
    return [
        Trade(at, price(paid), quantity(size), 1000 + at, buyer_is_maker=False, first_id=at, last_id=at)
        for at, (paid, size) in enumerate(prints)
    ]


def decimals(*volumes: int) -> Sequence[Decimal]:
    return [Decimal(volume) for volume in volumes]


@given(volumes_of_rows, st.sampled_from([1, 2]))
def test_the_value_area_holds_its_share_and_the_busiest_row(volumes: list[Decimal], rows: Rows) -> None:
    area = value_area(volumes, SHARE, rows)

    if area is None:
        assert not any(volumes)
        return
    assert area.low <= area.poc <= area.high
    assert area.volume == sum(volumes[area.low : area.high + 1])
    assert area.volume >= SHARE * sum(volumes)
    assert volumes[area.poc] == max(volumes)


@given(volumes_of_rows, st.integers(2, 1000))
def test_scaling_every_volume_leaves_the_area_where_it_is(volumes: list[Decimal], factor: int) -> None:
    area = value_area(volumes, SHARE)
    scaled = value_area([volume * factor for volume in volumes], SHARE)

    assert (area and (area.poc, area.low, area.high)) == (scaled and (scaled.poc, scaled.low, scaled.high))


def test_a_tie_for_the_busiest_row_goes_to_the_centre_then_down() -> None:
    nearest_centre = value_area(decimals(9, 0, 0, 9, 0, 0), SHARE)
    both_as_near = value_area(decimals(0, 9, 0, 9, 0), SHARE)

    assert nearest_centre is not None
    assert nearest_centre.poc == 3
    assert both_as_near is not None
    assert both_as_near.poc == 1


def test_a_tie_between_neighbours_grows_upwards() -> None:
    area = value_area(decimals(2, 2, 6, 2, 2), Decimal("0.55"))

    assert area is not None
    assert (area.low, area.high) == (2, 3)


def test_growth_goes_down_when_there_is_nothing_above_and_up_when_there_is_nothing_below() -> None:
    at_the_top = value_area(decimals(3, 3, 4), Decimal("0.90"))
    at_the_bottom = value_area(decimals(4, 3, 3), Decimal("0.90"), 2)

    assert at_the_top is not None
    assert (at_the_top.low, at_the_top.high) == (0, 2)
    assert at_the_bottom is not None
    assert (at_the_bottom.low, at_the_bottom.high) == (0, 2)


def test_trades_fall_into_bins_on_the_grid_and_empty_bins_are_kept() -> None:
    trades = trades_at(("100.10", 1), ("100.14", 2), ("100.31", 4))

    profile = profile_of_trades(trades, price("0.01"), bin_size=price("0.10"))

    assert [(str(each.low), str(each.volume)) for each in profile.bins] == [
        ("100.10", "3"),
        ("100.20", "0"),
        ("100.30", "4"),
    ]
    assert (profile.bin_size, profile.total_volume, profile.n) == (Decimal("0.10"), 7, 3)
    assert (profile.poc, profile.val, profile.vah) == (Decimal("100.34"), Decimal("100.10"), Decimal("100.40"))
    assert (profile.source, profile.method, profile.window) == ("trades", "value_area_one_row", Window(1000, 1002))


def test_a_bin_of_one_tick_has_its_price_as_point_of_control() -> None:
    profile = profile_of_trades(trades_at((99, 1), (100, 5), (101, 1)), price(1))

    assert (profile.poc, profile.val, profile.vah) == (100, 100, 101)
    assert profile.area_share == pytest.approx(5 / 7)


def test_the_default_bin_is_a_fiftieth_of_the_range_in_whole_ticks() -> None:
    profile = profile_of_trades(trades_at((1000, 1), (1240, 1)), price("0.5"))

    assert profile.bin_size == Decimal("5.0")  # 240 / 50 = 4.8, ten ticks to the nearest


def test_a_bin_too_fine_for_the_range_is_widened_and_says_so() -> None:
    profile = profile_of_trades(trades_at((1, 1), (50_000, 1)), price("0.01"), bin_size=price("0.01"))

    assert len(profile.bins) <= 1001
    assert profile.bin_size == Decimal("50.00")


def test_the_two_row_rule_is_named() -> None:
    profile = profile_of_trades(trades_at((1, 1)), price(1), thresholds=Thresholds(profile_rows=2))

    assert profile.method == "value_area_two_row"


def test_a_bar_is_spread_over_every_price_it_touched() -> None:
    profile = profile_of_candles([candle(10, 13, 10, 12, 8)], price(1), bin_size=price(1))

    assert [each.volume for each in profile.bins] == [2, 2, 2, 2]
    assert (profile.source, profile.n) == ("klines_spread", 1)


def test_a_bar_of_one_price_is_one_bin() -> None:
    profile = profile_of_candles([candle(10, 10, 10, 10, 8)], price(1))

    assert [each.volume for each in profile.bins] == [8]


@pytest.mark.parametrize("candles", [[], [candle(10, 12, 9, 10, 0)]], ids=["no bars", "no volume"])
def test_nothing_traded_is_no_profile(candles: list[Candle]) -> None:
    profile = profile_of_candles(candles, price(1))

    assert profile.poc is profile.vah is profile.val is profile.bin_size is profile.area_share is None
    assert (profile.bins, profile.n, profile.why_null) == ((), len(candles), "no_trades")


@pytest.mark.night
@given(series(), ticks, st.sampled_from([1, 2]))
def test_spreading_candles_neither_loses_nor_invents_volume(candles: list[Candle], tick: str, rows: Rows) -> None:
    profile = profile_of_candles(candles, price(tick), thresholds=Thresholds(profile_rows=rows))

    assert profile.total_volume == sum(each.volume for each in candles)
    assert sum(each.volume for each in profile.bins) == profile.total_volume
    assert all(each.volume >= 0 for each in profile.bins)
    if profile.val is not None and profile.poc is not None and profile.vah is not None:
        assert profile.bins[0].low <= profile.val <= profile.poc < profile.vah <= profile.bins[-1].high
        assert all(edge % Decimal(tick) == 0 for edge in (profile.val, profile.poc, profile.vah))
        assert profile.area_volume >= SHARE * profile.total_volume


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 9)), min_size=1, max_size=40))
def test_bars_of_one_price_make_the_profile_of_the_same_trades(prints: list[tuple[int, int]]) -> None:
    candles = [candle(paid, paid, paid, paid, size, at=at) for at, (paid, size) in enumerate(prints)]

    spread = profile_of_candles(candles, price(1))
    exact = profile_of_trades(trades_at(*prints), price(1))

    assert spread.bins == exact.bins
    assert (spread.poc, spread.vah, spread.val) == (exact.poc, exact.vah, exact.val)


def test_a_symbol_without_a_tick_is_binned_by_the_finest_price() -> None:
    profile = profile_of_trades(trades_at(("0.00000010", 1), ("0.00000012", 3)), price(0))

    assert profile.bin_size == Decimal("0.00000001")
    assert profile.poc == Decimal("0.00000012")
