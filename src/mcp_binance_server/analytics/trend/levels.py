"""Entry, stop and target of a strategy, by two rules."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from mcp_binance_server.analytics.market.profile import nearest, usable
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import SymbolRules

Rule = Literal["24h_range", "atr"]
TargetRule = Literal["range", "R1", "multiple", "least"]

# Minimum distances from the entry. At smaller distances the noise of one book would decide a trade.
LEAST_TICKS, LEAST_SPREADS = 3, 2
NO_SPREAD = Decimal(0)


@dataclass(frozen=True, slots=True)
class TradeLevels:
    """Entry band, stop and target of one long trade."""

    rule: Rule
    entry_low: Price
    entry_high: Price
    stop: Price
    target: Price
    target_rule: TargetRule

    @property
    def entry(self) -> Price:
        """Middle of the entry band, used for risk and size."""
        return Price((self.entry_low + self.entry_high) / 2)

    @property
    def reward_risk(self) -> float:
        return float((self.target - self.entry) / (self.entry - self.stop))

    @property
    def stop_first(self) -> float:
        """Probability that a driftless price reaches the stop before the target (gambler's ruin)."""
        return float((self.target - self.entry) / (self.target - self.stop))

    def expectation(self, fee: float) -> float:
        """Return the mean result without a trend, as a share of the position, with a fee on each side.

        Before fees it is zero, however far the target: the odds are against it in the same proportion.
        """
        entry, stop, target = float(self.entry), float(self.stop), float(self.target)
        sold = self.stop_first * stop + (1 - self.stop_first) * target
        return (sold * (1 - fee) - entry * (1 + fee)) / entry


@dataclass(frozen=True, slots=True)
class NoLevels:
    """A rule that gives no levels, and the reason."""

    rule: Rule
    why_null: WhyNull


def range_levels(
    price: Price,
    high: Price,
    low: Price,
    *,
    strategy: Strategy,
    risk: RiskTolerance,
    tick: Price,
    spread: Decimal = NO_SPREAD,
    thresholds: Thresholds = DEFAULTS,
) -> TradeLevels | NoLevels:
    """Derive levels from the range of the last 24 hours, rounded to ticks. No entry is above the price."""
    span = high - low
    if span <= 0:
        return NoLevels("24h_range", "flat_range")
    factors = thresholds.range_factors[strategy]
    band_low, band_high = low + factors.entry_low * span, low + factors.entry_high * span
    if price < band_low:
        band_low = min(low, price)
    stop = low - thresholds.range_stop[risk] * span
    if stop >= min(low, price):
        return NoLevels("24h_range", "stop_not_below_entry")
    band = nearest(band_low, tick), min(nearest(band_high, tick), price)
    gap = least_distance(tick, spread)
    return _checked(
        "24h_range",
        band,
        min(nearest(stop, tick), low - usable(tick), band[0] - gap),
        _target(nearest(high + factors.target * span, tick), "range", band[1] + gap),
    )


def atr_levels(
    price: Price,
    atr: float | None,
    *,
    support: Price | None,
    resistance: Price | None,
    tick: Price,
    strategy: Strategy,
    risk: RiskTolerance,
    spread: Decimal = NO_SPREAD,
    thresholds: Thresholds = DEFAULTS,
) -> TradeLevels | NoLevels:
    """Derive levels from support, resistance and the average true range (ATR), rounded to ticks."""
    if atr is None:
        return NoLevels("atr", "insufficient_bars")
    if atr <= 0:
        return NoLevels("atr", "flat_range")
    bar = Decimal(str(atr))
    width = thresholds.atr_band[strategy] * bar
    if strategy == "aggressive":
        band_low, band_high = nearest(price - width, tick), price
    elif support is None:
        return NoLevels("atr", "no_support")
    else:
        band_low, band_high = min(support, price), min(nearest(support + width, tick), price)
    gap = least_distance(tick, spread)
    stop = min(nearest(band_low - thresholds.atr_stop[risk] * bar, tick), band_low - gap)
    entry = (band_low + band_high) / 2
    least = thresholds.min_reward_risk[strategy]
    by_multiple = entry + least * (entry - stop)
    target: tuple[Decimal, TargetRule] = (nearest(by_multiple, tick), "multiple")
    if resistance is not None and resistance >= by_multiple:
        target = (resistance, "R1")
    return _checked("atr", (band_low, band_high), stop, _target(*target, band_high + gap))


def least_distance(tick: Price, spread: Decimal) -> Decimal:
    """Return the minimum distance of stop and target from the entry, rounded up to whole ticks."""
    step = usable(tick)
    ticks = (LEAST_SPREADS * max(spread, NO_SPREAD) / step).to_integral_value(ROUND_CEILING)
    return max(Decimal(LEAST_TICKS), ticks) * step


def placeable(levels: TradeLevels | NoLevels, rules: SymbolRules, price: Price) -> TradeLevels | NoLevels:
    """Replace levels that the exchange would refuse by `NoLevels`.

    The exchange limits prices per symbol and around the current price.
    """
    if isinstance(levels, NoLevels):
        return levels
    bought, sold = (levels.entry_low, levels.entry_high), (levels.stop, levels.target)
    bounds = (
        (rules.min_price, rules.max_price, (*bought, *sold)),
        (rules.bid_multiplier_down * price, rules.bid_multiplier_up * price, bought),
        (rules.ask_multiplier_down * price, rules.ask_multiplier_up * price, sold),
    )
    if any(each < least or (most and each > most) for least, most, prices in bounds for each in prices):
        return NoLevels(levels.rule, "outside_price_filter")
    return levels


def _target(price: Decimal, rule: TargetRule, least: Decimal) -> tuple[Decimal, TargetRule]:
    return (price, rule) if price >= least else (least, "least")


def _checked(
    rule: Rule, band: tuple[Decimal, Decimal], stop: Decimal, target: tuple[Decimal, TargetRule]
) -> TradeLevels | NoLevels:
    low, high = band
    if stop <= 0:  # the range exceeds the price, so there is no such stop
        return NoLevels(rule, "degenerate")
    return TradeLevels(rule, Price(low), Price(high), Price(stop), Price(target[0]), target[1])
