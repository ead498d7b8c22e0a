"""How much to buy so that the stop costs no more than one is ready to lose."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.domain.money import Price, Quantity, floor_to_step


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
