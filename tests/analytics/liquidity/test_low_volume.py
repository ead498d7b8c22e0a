"""The bins with least volume."""

from analytics.samples import price, trade
from mcp_binance_server.analytics.liquidity.low_volume import LowVolumeRange, low_volume_ranges
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_trades


def profile(*volumes: int, base: int = 1000, width: int = 10) -> VolumeProfile:
    tape = [trade(base + row * width, volume) for row, volume in enumerate(volumes) if volume]
    return profile_of_trades(tape, price(1), bin_size=price(width))


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
