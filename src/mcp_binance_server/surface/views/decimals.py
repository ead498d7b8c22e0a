"""Numbers for programs: exact decimal text, and the one rounding we do for size."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache

from mcp_binance_server.domain.money import decimals_of, round_to_places
from mcp_binance_server.surface.views.markdown import average_places

NO_STEP = Decimal(0)
# A volume of five digits is exact to a hundredth of a per cent; more would cost a fifth of a long list of candles.
VOLUME_DIGITS = 5


def exact(value: Decimal, step: Decimal = NO_STEP) -> str:
    """Write every digit that says something: the decimals of the step, and no zeros beyond them."""
    written = str(value)
    if "E" in written:  # a quarter of the time, where it is none of the few that come with an exponent
        written = f"{value:f}"
    whole, _, fraction = written.partition(".")
    fraction = fraction.rstrip("0")
    if step:
        fraction = fraction.ljust(decimals_of(step), "0")
    return f"{whole}.{fraction}" if fraction else whole


def exact_average(value: Decimal, tick: Decimal) -> str:
    """Write a mean of prices for programs, with the digits that pages show."""
    return exact(round_to_places(value, average_places(tick, value)), tick)


def volume(value: Decimal) -> str:
    """Write a traded quantity with five significant digits, or more where its whole part has more."""
    return exact(_rounding(max(VOLUME_DIGITS, value.adjusted() + 1)).plus(value))


@cache
def _rounding(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN)
