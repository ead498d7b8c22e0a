"""Volatility: what the estimators agree on, and what they refuse."""

from itertools import pairwise
from math import exp, log, sqrt
from random import Random

import pytest
from hypothesis import given

from analytics.samples import candle, series
from mcp_binance_server.analytics.indicators.basic import closes
from mcp_binance_server.analytics.market import volatility
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.money import STABLECOINS, name_of
from mcp_binance_server.domain.periods import Candle


def alternating(days: int, move: float) -> list[float]:
    return [100.0 * (1 + move * (day % 2)) for day in range(days)]


@pytest.mark.parametrize("prices", [[], [100.0], [100.0, 101.0]])
def test_one_return_is_no_volatility(prices: list[float]) -> None:
    measured = volatility.realised_volatility(prices)

    assert measured.variance is measured.root is measured.stdev is None
    assert measured.n == max(0, len(prices) - 1)
    assert measured.why_null == "insufficient_bars"


def test_no_bars_are_no_estimate() -> None:
    measured = volatility.garman_klass([])

    assert measured.value is None
    assert (measured.n, measured.why_null) == (0, "insufficient_bars")


@pytest.mark.night
@given(series())
def test_no_estimate_of_a_variance_is_negative(candles: list[Candle]) -> None:
    measured = volatility.garman_klass(candles)

    assert measured.value is not None
    assert measured.value >= -1e-12
    assert measured.n == len(candles)


@given(series(min_size=3))
def test_scaling_every_price_leaves_volatility_unchanged(candles: list[Candle]) -> None:
    doubled = [candle(2 * each.open, 2 * each.high, 2 * each.low, 2 * each.close) for each in candles]

    before = volatility.garman_klass(candles).value
    assert volatility.garman_klass(doubled).value == pytest.approx(before, rel=1e-9, abs=1e-12)
    assert volatility.realised_volatility(closes(doubled)).root == pytest.approx(
        volatility.realised_volatility(closes(candles)).root, rel=1e-9, abs=1e-12
    )


def test_a_year_has_365_days_of_24_hours() -> None:
    assert volatility.annualise(0.02, 24 * 60) == pytest.approx(0.02 * sqrt(365))
    assert volatility.annualise(0.02, 60) == pytest.approx(0.02 * sqrt(365 * 24))


def test_an_asset_is_classed_by_what_it_did_not_by_its_name() -> None:
    closes_of_a_quiet_bitcoin = alternating(60, 0.001)

    measured = volatility.asset_volatility("BTC", closes_of_a_quiet_bitcoin)

    assert (measured.label, measured.basis, measured.n) == ("Stable", "measured", 59)
    assert measured.annual == pytest.approx(log(1.001) * sqrt(365), rel=0.02)


def test_thirty_returns_are_enough_and_twenty_nine_are_not() -> None:
    assert volatility.asset_volatility("XYZ", alternating(31, 0.05)).basis == "measured"
    assert volatility.asset_volatility("XYZ", alternating(30, 0.05)).basis == "none"


@pytest.mark.parametrize(
    ("asset", "label"),
    [
        ("BTC", "High volatility"),
        ("ETH", "Medium-high volatility"),
        ("BNB", "Medium volatility"),
        *((each, "Stable") for each in STABLECOINS),
    ],
)
def test_a_well_known_asset_without_history_has_the_default_class(asset: str, label: str) -> None:
    given_nothing = volatility.asset_volatility(asset, [])

    assert (given_nothing.annual, given_nothing.label, given_nothing.basis) == (None, label, "default")


def test_an_unknown_asset_without_history_is_not_measured() -> None:
    unknown = volatility.asset_volatility("XYZ", [1.0, 2.0])

    assert (unknown.label, unknown.basis, unknown.n) == ("Volatility not measured", "none", 1)


@pytest.mark.parametrize(
    ("annual", "label"),
    [
        (0.0, "Stable"),
        (0.05, "Low volatility"),
        (0.30, "Medium volatility"),
        (0.7499, "Medium-high volatility"),
        (0.75, "High volatility"),
        (9.0, "High volatility"),
    ],
)
def test_an_edge_belongs_to_the_class_above(annual: float, label: str) -> None:
    assert volatility.volatility_class(annual) == label


def test_the_edges_can_be_set() -> None:
    wide = Thresholds(vol_edges=(1.0, 2.0, 3.0, 4.0))

    assert volatility.asset_volatility("XYZ", alternating(60, 0.05), thresholds=wide).label == "Stable"


def test_assets_have_the_names_people_use_and_else_their_code() -> None:
    assert [name_of(each) for each in ("BTC", "BNB", "USDT", "WIF")] == ["Bitcoin", "Binance Coin", "Tether", "WIF"]


def swinging(*phases: tuple[float, int]) -> list[float]:
    """Return daily closes that move up and down by what makes a volatility, for so many days, and then the next."""
    closes = [100.0]
    for yearly, days in phases:
        for day in range(days):
            closes.append(closes[-1] * exp((1 if day % 2 else -1) * yearly / sqrt(365)))
    return closes


@pytest.mark.parametrize(
    ("after", "label", "near"),
    [
        (0.60, "Medium-high volatility", None),
        (0.78, "Medium-high volatility", "High volatility"),
        (0.90, "High volatility", None),
        (0.47, "Medium-high volatility", "Medium volatility"),
        (0.40, "Medium volatility", None),
    ],
)
def test_a_class_is_left_only_a_tenth_beyond_its_edge(after: float, label: str, near: str | None) -> None:
    measured = volatility.asset_volatility("XYZ", swinging((0.60, 40), (after, 400)))

    assert (measured.label, measured.near) == (label, near)


def test_a_class_that_was_kept_names_the_one_its_value_is_in() -> None:
    fallen = volatility.asset_volatility("XYZ", swinging((0.95, 60), (0.70, 400)))

    assert fallen.annual == pytest.approx(0.74, abs=0.01)
    assert (fallen.label, fallen.near) == ("High volatility", "Medium-high volatility")


@pytest.mark.night
@pytest.mark.slow
def test_beside_an_edge_the_word_changes_much_less_often() -> None:
    chance = Random(7)
    closes = [100.0]
    for _ in range(900):
        closes.append(closes[-1] * exp(chance.gauss(0, 0.75 / sqrt(365))))
    windows = [closes[at : at + 91] for at in range(len(closes) - 91)]

    kept = [volatility.asset_volatility("XYZ", each) for each in windows]
    plain = [volatility.volatility_class(each.annual) for each in kept]

    changes = sum(one.label != other.label for one, other in pairwise(kept))
    assert 0 < changes < 0.65 * sum(one != other for one, other in pairwise(plain))
