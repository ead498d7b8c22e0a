"""Prices counted in ticks."""

from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from mcp_binance_server.domain.money import Price

# A tick of zero means that the exchange set no rule; its prices still have eight decimals.
_FINEST = Price(Decimal("0.00000001"))


def usable(tick: Price) -> Price:
    """Return the tick, or the finest one the exchange can print when it set none."""
    return tick or _FINEST


def index_of(price: Price, tick: Price) -> int:
    """Count the whole ticks in a price."""
    return int((price / tick).to_integral_value(ROUND_FLOOR))


def nearest(price: Decimal, tick: Price) -> Price:
    """Round a computed price to one the exchange could quote."""
    step = usable(tick)
    return Price((price / step).to_integral_value(ROUND_HALF_EVEN) * step)
