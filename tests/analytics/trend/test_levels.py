"""Entry, stop and target: the sample of the contract to the dollar, and never a level that cannot be traded."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.samples import price, quantity
from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.analytics.trend.levels import NoLevels, TradeLevels, atr_levels, placeable, range_levels
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

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


def test_by_its_own_odds_a_plan_earns_nothing_before_fees_and_loses_them_after() -> None:
    assert sample().expectation(0.0) == pytest.approx(0, abs=1e-12)
    assert sample().expectation(0.001) == pytest.approx(-0.002, abs=1e-12)


def test_a_driftless_price_meets_the_stop_first_as_the_gamblers_ruin_says() -> None:
    assert sample().stop_first == pytest.approx(1.8 / 2.8)


@pytest.mark.parametrize(("tick", "spread", "gap"), [("0.01", "0", "0.03"), ("1", "1", "3"), ("1", "2", "4")])
def test_stop_and_target_keep_three_ticks_and_two_spreads_from_the_entry(tick: str, spread: str, gap: str) -> None:
    a_day_of_one_tick = range_levels(
        price(100), Price(100 + Decimal(tick)), price(100),
        strategy="balanced", risk="low", tick=price(tick), spread=Decimal(spread),
    )  # fmt: skip
    a_calm_hour = atr_levels(
        price(100), 0.001, support=price(99), resistance=None,
        tick=price(tick), strategy="aggressive", risk="low", spread=Decimal(spread),
    )  # fmt: skip

    for levels in (a_day_of_one_tick, a_calm_hour):
        assert isinstance(levels, TradeLevels)
        assert levels.entry_low - levels.stop == Decimal(gap)
    assert isinstance(a_day_of_one_tick, TradeLevels)
    assert (a_day_of_one_tick.target - a_day_of_one_tick.entry_high, a_day_of_one_tick.target_rule) == (
        Decimal(gap),
        "least",
    )


def rules(**bounds: str) -> SymbolRules:
    given: dict[str, Any] = {name: Decimal(value) for name, value in bounds.items()}
    plain = SymbolRules(Symbol("XUSDT"), "X", "USDT", "TRADING", CENT, quantity("0.01"), quantity(5))
    return replace(plain, **given)


@pytest.mark.parametrize(
    ("bounds", "fits"),
    [
        ({}, True),
        ({"min_price": "48500", "max_price": "52000"}, True),
        ({"min_price": "48500.01"}, False),
        ({"max_price": "51999.99"}, False),
        ({"bid_multiplier_down": "0.95", "bid_multiplier_up": "1"}, True),
        ({"bid_multiplier_down": "0.99"}, False),
        ({"ask_multiplier_down": "0.96", "ask_multiplier_up": "1.04"}, True),
        ({"ask_multiplier_down": "0.97"}, False),
        ({"ask_multiplier_up": "1.03"}, False),
    ],
)
def test_levels_the_exchange_would_refuse_are_none(bounds: dict[str, str], *, fits: bool) -> None:
    levels = sample()

    placed = placeable(levels, rules(**bounds), price("50234.56"))

    assert placed == (levels if fits else NoLevels("24h_range", "outside_price_filter"))


def test_no_levels_stay_none() -> None:
    none = NoLevels("atr", "flat_range")

    assert placeable(none, rules(), price(1)) == none


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
        assert levels.stop <= min(low - CENT, levels.entry_low - 3 * CENT)
        assert levels.target >= levels.entry_high + 3 * CENT
        assert levels.reward_risk > 0
    else:
        assert levels.why_null == "degenerate"


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
    [(None, price(1), "insufficient_bars"), (0.0, price(1), "flat_range"), (1.0, None, "no_support")],
)
def test_the_atr_rule_says_what_is_missing(atr: float | None, support: Price | None, why: str) -> None:
    levels = atr_levels(
        price(100), atr, support=support, resistance=None, tick=CENT, strategy="balanced", risk="medium"
    )

    assert isinstance(levels, NoLevels)
    assert (levels.rule, levels.why_null) == ("atr", why)
