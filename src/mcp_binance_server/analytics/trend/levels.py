"""Entry, stop and targets of a strategy, and the size that risks no more than was said."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.market.profile import nearest
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.domain.money import Price, Quantity, floor_to_step

Rule = Literal["24h_range", "atr"]
TargetRule = Literal["range", "R1", "multiple"]


@dataclass(frozen=True, slots=True)
class TradeLevels:
    """Where to buy, where to give up and where to sell, for one long trade."""

    rule: Rule
    entry_low: Price
    entry_high: Price
    stop: Price
    target: Price
    target_rule: TargetRule

    @property
    def entry(self) -> Price:
        """The middle of the entry band, from which risk and size are counted."""
        return Price((self.entry_low + self.entry_high) / 2)

    @property
    def reward_risk(self) -> float:
        return float((self.target - self.entry) / (self.entry - self.stop))


@dataclass(frozen=True, slots=True)
class NoLevels:
    """A rule that gives no levels here, and why."""

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
    thresholds: Thresholds = DEFAULTS,
) -> TradeLevels | NoLevels:
    """Place levels by the range of the last 24 hours, on the exchange's ticks; no entry lies above the price."""
    span = high - low
    if span <= 0:
        return NoLevels("24h_range", "flat_range")
    factors = thresholds.range_factors[strategy]
    band_low, band_high = low + factors.entry_low * span, low + factors.entry_high * span
    if price < band_low:
        band_low = min(low, price)
    return _checked(
        "24h_range",
        (nearest(band_low, tick), min(nearest(band_high, tick), price)),
        nearest(low - thresholds.range_stop[risk] * span, tick),
        (nearest(high + factors.target * span, tick), "range"),
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
    thresholds: Thresholds = DEFAULTS,
) -> TradeLevels | NoLevels:
    """Place levels by support, resistance and the average true range, on the exchange's ticks."""
    if atr is None:
        return NoLevels("atr", "insufficient_bars")
    if atr <= 0:
        return NoLevels("atr", "flat_range")
    bar = Decimal(str(atr))
    width = thresholds.atr_band[strategy] * bar
    if strategy == "aggressive":
        band_low, band_high = nearest(price - width, tick), price
    elif support is None:
        return NoLevels("atr", "insufficient_components")
    else:
        band_low, band_high = min(support, price), min(nearest(support + width, tick), price)
    stop = nearest(band_low - thresholds.atr_stop[risk] * bar, tick)
    entry = (band_low + band_high) / 2
    least = thresholds.min_reward_risk[strategy]
    by_multiple = entry + least * (entry - stop)
    target: tuple[Decimal, TargetRule] = (nearest(by_multiple, tick), "multiple")
    if resistance is not None and resistance >= by_multiple:
        target = (resistance, "R1")
    return _checked("atr", (band_low, band_high), stop, target)


def _checked(
    rule: Rule, band: tuple[Decimal, Decimal], stop: Decimal, target: tuple[Decimal, TargetRule]
) -> TradeLevels | NoLevels:
    low, high = band
    if stop <= 0:  # the range is wider than the price is high: no such stop can be placed
        return NoLevels(rule, "degenerate")
    if stop >= low:
        return NoLevels(rule, "stop_not_below_entry")
    return TradeLevels(rule, Price(low), Price(high), Price(stop), Price(target[0]), target[1])


@dataclass(frozen=True, slots=True)
class PositionSize:
    """A quantity on the lot step, what it costs at the entry and what it loses at the stop."""

    quantity: Quantity
    notional: Decimal
    risk: Decimal
    capped_by_equity: bool


@dataclass(frozen=True, slots=True)
class NoPosition:
    """No order is both safe enough and large enough, and why."""

    why_null: WhyNull


def position_size(
    equity: Decimal,
    fraction: Decimal,
    entry: Price,
    stop: Price,
    *,
    step: Quantity,
    min_notional: Quantity,
) -> PositionSize | NoPosition:
    """Size a position by the fraction of equity at risk, never beyond what the equity buys."""
    distance = entry - stop
    if distance <= 0:
        return NoPosition("stop_not_below_entry")
    with localcontext() as exact:
        exact.rounding = ROUND_DOWN  # a quotient rounded up could grow the order past its step
        by_risk = equity * fraction / distance
        by_equity = equity / entry
        quantity = floor_to_step(Quantity(min(by_risk, by_equity)), step)
    notional = quantity * entry
    if not quantity or notional < min_notional:
        return NoPosition("below_min_notional")
    return PositionSize(quantity, notional, quantity * distance, capped_by_equity=by_equity < by_risk)
