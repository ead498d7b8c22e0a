"""Entry, stop, target and size: the sample of the contract to the dollar, and never a level that cannot be traded."""

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.samples import price, quantity
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy
from mcp_binance_server.analytics.trend.levels import (
    NoLevels,
    NoPosition,
    PositionSize,
    TradeLevels,
    atr_levels,
    position_size,
    range_levels,
)
from mcp_binance_server.domain.money import Price

STRATEGIES = st.sampled_from(["aggressive", "balanced", "conservative"])
RISKS = st.sampled_from(["low", "medium", "high"])
prices = st.decimals(min_value="0.01", max_value=10**6, places=2).map(Price)
CENT = price("0.01")


def sample(strategy: Strategy = "balanced", risk: RiskTolerance = "medium", at: str = "50234.56") -> TradeLevels:
    levels = range_levels(price(at), price(51000), price(49000), strategy=strategy, risk=risk, tick=CENT)
    assert isinstance(levels, TradeLevels)
    return levels


def by_atr(strategy: Strategy, *, resistance: Price | None = None, risk: RiskTolerance = "medium") -> TradeLevels:
    levels = atr_levels(
        price("50234.56"), 312.40, support=price(49480), resistance=resistance, tick=CENT, strategy=strategy, risk=risk
    )
    assert isinstance(levels, TradeLevels)
    return levels


def test_the_range_rule_gives_the_sample_of_the_contract_to_the_dollar() -> None:
    levels = sample()

    assert (levels.entry_low, levels.entry_high, levels.stop, levels.target) == (49500, 50000, 48500, 52000)
    assert levels.entry == 49750
    assert levels.reward_risk == 1.8
    assert (levels.rule, levels.target_rule) == ("24h_range", "range")


@pytest.mark.parametrize(
    ("strategy", "risk", "expected"),
    [
        ("aggressive", "high", (50000, Decimal("50234.56"), 48000, 52500)),
        ("conservative", "low", (49000, 49500, 48800, 51500)),
    ],
)
def test_strategy_moves_entry_and_target_and_risk_moves_the_stop(
    strategy: Strategy, risk: RiskTolerance, expected: tuple[Decimal, ...]
) -> None:
    levels = sample(strategy, risk)

    assert (levels.entry_low, levels.entry_high, levels.stop, levels.target) == expected


@pytest.mark.parametrize(
    ("at", "band"),
    [("49100", (49000, 49100)), ("49500", (49500, 49500)), ("49700", (49500, 49700)), ("48900", (48900, 48900))],
)
def test_the_entry_band_is_clipped_to_the_price(at: str, band: tuple[int, int]) -> None:
    levels = sample(at=at)

    assert (levels.entry_low, levels.entry_high) == band


def test_a_day_without_a_range_has_no_levels() -> None:
    levels = range_levels(price(1), price(1), price(1), strategy="balanced", risk="medium", tick=CENT)

    assert levels == NoLevels("24h_range", "flat_range")


@pytest.mark.parametrize("at", [40000, 48500], ids=["below the stop", "at the stop"])
def test_a_price_that_fell_to_the_stop_has_no_levels(at: int) -> None:
    levels = range_levels(price(at), price(51000), price(49000), strategy="balanced", risk="medium", tick=CENT)

    assert levels == NoLevels("24h_range", "stop_not_below_entry")


def test_a_stop_of_a_fraction_of_a_cent_is_a_stop() -> None:
    fine = price("0.00001")

    levels = range_levels(
        price("0.0052"), price("0.006"), price("0.005"), strategy="balanced", risk="medium", tick=fine
    )

    assert isinstance(levels, TradeLevels)
    assert levels.stop == Decimal("0.00475")


def test_a_stop_below_zero_is_no_stop() -> None:
    after_a_tenfold_day = range_levels(price(9), price(10), price(1), strategy="balanced", risk="high", tick=CENT)
    wild = atr_levels(price(9), 8.0, support=price(2), resistance=None, tick=CENT, strategy="balanced", risk="medium")

    assert after_a_tenfold_day == NoLevels("24h_range", "degenerate")
    assert wild == NoLevels("atr", "degenerate")


@given(prices, prices, prices, STRATEGIES, RISKS)
def test_levels_by_the_range_are_always_in_order(
    at: Price, one: Price, other: Price, strategy: Strategy, risk: RiskTolerance
) -> None:
    low, high = Price(min(one, other)), Price(max(one, other))
    assume(low < high and low <= at <= high)

    levels = range_levels(at, high, low, strategy=strategy, risk=risk, tick=CENT)

    if isinstance(levels, TradeLevels):
        assert all(not each % CENT for each in (levels.entry_low, levels.entry_high, levels.stop, levels.target))
        assert 0 < levels.stop < levels.entry_low <= levels.entry <= levels.entry_high <= at <= levels.target
        assert levels.reward_risk > 0
    else:
        # A day of a few ticks leaves no room for a stop of its own between the low and the next tick below.
        assert levels.why_null == "degenerate" or (levels.why_null == "stop_not_below_entry" and high - low <= 5 * CENT)


def test_the_atr_rule_buys_at_support_and_aims_at_resistance_when_that_pays() -> None:
    levels = by_atr("balanced", resistance=price(51010))

    assert (levels.entry_low, levels.entry_high) == (49480, Decimal("49636.20"))
    assert levels.stop == Decimal("49011.40")
    assert (levels.target, levels.target_rule) == (51010, "R1")
    assert levels.reward_risk == pytest.approx(2.66, abs=0.005)


@pytest.mark.parametrize("resistance", [None, price(50000)], ids=["unknown", "too near"])
def test_the_atr_rule_aims_at_a_multiple_of_the_risk_otherwise(resistance: Price | None) -> None:
    levels = by_atr("balanced", resistance=resistance)

    assert levels.target_rule == "multiple"
    assert levels.reward_risk == pytest.approx(2.0, abs=1e-4)


def test_an_aggressive_entry_is_at_the_price_and_a_conservative_one_in_a_narrower_band() -> None:
    aggressive = by_atr("aggressive", risk="low")
    conservative = by_atr("conservative", risk="high")

    assert (aggressive.entry_low, aggressive.entry_high) == (Decimal("50156.46"), Decimal("50234.56"))
    assert aggressive.stop == Decimal("49844.06")
    assert (conservative.entry_low, conservative.entry_high) == (49480, Decimal("49558.10"))
    assert conservative.stop == Decimal("48699.00")
    assert conservative.reward_risk == pytest.approx(2.5, abs=1e-4)


def test_an_entry_band_above_the_price_is_clipped_to_it() -> None:
    levels = atr_levels(
        price(49500), 312.40, support=price(49480), resistance=None, tick=CENT, strategy="balanced", risk="medium"
    )

    assert isinstance(levels, TradeLevels)
    assert (levels.entry_low, levels.entry_high) == (49480, 49500)


@pytest.mark.parametrize(
    ("atr", "support", "why"),
    [(None, price(1), "insufficient_bars"), (0.0, price(1), "flat_range"), (1.0, None, "insufficient_components")],
)
def test_the_atr_rule_says_what_is_missing(atr: float | None, support: Price | None, why: str) -> None:
    levels = atr_levels(
        price(100), atr, support=support, resistance=None, tick=CENT, strategy="balanced", risk="medium"
    )

    assert isinstance(levels, NoLevels)
    assert (levels.rule, levels.why_null) == ("atr", why)


def test_the_page_sizes_ten_thousand_dollars_as_the_sample_does() -> None:
    levels = sample()

    size = position_size(
        Decimal(10_000),
        DEFAULTS.risk_fraction["medium"],
        levels.entry,
        levels.stop,
        step=quantity("0.00001"),
        min_notional=quantity(5),
    )

    assert size == PositionSize(quantity("0.08000"), Decimal(3980), Decimal(100), capped_by_equity=False)


def test_a_stop_at_the_entry_sizes_nothing() -> None:
    size = position_size(
        Decimal(100), Decimal("0.01"), price(10), price(10), step=quantity(1), min_notional=quantity(0)
    )

    assert size == NoPosition("stop_not_below_entry")


def test_an_order_of_exactly_the_least_allowed_is_a_position_and_equal_limits_are_no_cap() -> None:
    size = position_size(
        Decimal(500), Decimal("0.5"), price(10), price(5), step=quantity(1), min_notional=quantity(500)
    )

    assert size == PositionSize(quantity(50), Decimal(500), Decimal(250), capped_by_equity=False)


def test_less_than_one_step_is_no_position_even_without_a_minimum() -> None:
    size = position_size(Decimal(100), Decimal("0.01"), price(10), price(5), step=quantity(1), min_notional=quantity(0))

    assert size == NoPosition("below_min_notional")


@given(
    equity=st.decimals(min_value=1, max_value=10**9, places=2),
    fraction=st.sampled_from([Decimal("0.005"), Decimal("0.01"), Decimal("0.02")]),
    entry=prices,
    stop=prices,
    step=st.sampled_from(["0.00001", "0.03", "1", "0"]),
)
def test_a_position_never_risks_or_costs_more_than_allowed(
    equity: Decimal, fraction: Decimal, entry: Price, stop: Price, step: str
) -> None:
    assume(stop < entry)

    size = position_size(equity, fraction, entry, stop, step=quantity(step), min_notional=quantity(5))

    if isinstance(size, PositionSize):
        assert size.risk <= equity * fraction
        assert 5 <= size.notional <= equity
        assert not Decimal(step) or size.quantity % Decimal(step) == 0
