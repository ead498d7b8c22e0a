"""Numbers as the picture writes them: prices, volumes, percentages."""

from collections.abc import Sequence
from math import floor, log10

from mcp_binance_server.domain.candles import Candle
from mcp_binance_server.domain.money import decimals_of

MOST_DECIMALS = 10
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
MINUS = "\N{MINUS SIGN}"


def decimals_for(candles: Sequence[Candle]) -> int:
    """Return the decimals that write every price exactly: two at least from one upwards, ten at most."""
    most = max(decimals_of(each) for bar in candles for each in (bar.open, bar.high, bar.low, bar.close))
    least = 2 if float(candles[-1].close) >= 1 else 0
    return min(max(most, least), MOST_DECIMALS)


def fixed(value: float, decimals: int) -> str:
    """Write with this many decimals, thousands in groups, and a true minus sign."""
    text = f"{abs(value):,.{decimals}f}"
    return MINUS + text if value < 0 and text.strip("0.,") else text


def signed(value: float, decimals: int) -> str:
    """Write with a sign in front, none for nothing."""
    text = fixed(value, decimals)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def percent(value: float) -> str:
    """Write a change in percent, two decimals while they mean something."""
    return signed(value, 2 if abs(value) < 1000 else 0) + "%"


def compact(value: float) -> str:
    """Write a volume in three or four figures: 1.23K, 45.6M."""
    size = abs(value)
    for unit, letter in _UNITS:
        if size >= unit * 0.9995:
            scaled = size / unit
            return (
                MINUS if value < 0 else ""
            ) + f"{scaled:,.{2 if scaled < 10 else 1 if scaled < 100 else 0}f}{letter}"
    if 0 < size < 1:
        return fixed(value, min(2 - floor(log10(size)), MOST_DECIMALS))
    return fixed(value, 0 if size >= 100 or size == int(size) else 2)


def decimals_of_step(step: float) -> int:
    """Return the decimals that tell neighbouring ticks apart."""
    exponent = floor(log10(step) + 1e-9)
    # A step of 2.5 needs one figure more than its power of ten says.
    mantissa = step / 10.0**exponent
    return min(max(0, -exponent + (abs(mantissa - 2.5) < 0.01)), MOST_DECIMALS)
