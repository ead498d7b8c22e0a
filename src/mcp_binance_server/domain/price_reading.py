"""The price that a page measures from: one price with one time, checked against the book."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Price

# Largest distance in ticks of a current last trade from bid and ask. A larger distance means that the trade is out of
# date.
TICKS_OUTSIDE = 3
LONGEST_AGE_MS = 60_000
# Two answers are milliseconds apart. In that time no working market moves this far.
FAR = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class PriceReading:
    """The price at a moment: the last trade, or the mid if that trade is out of date.

    `last_ms` is the time of the last trade, or None if it is unknown.
    """

    price: Price
    at_ms: int
    last: Price
    last_ms: int | None
    is_mid: bool


def read_price(
    last: Price, last_ms: int | None, *, bid: Price | None, ask: Price | None, tick: Decimal, at_ms: int
) -> PriceReading:
    """Return the last trade or the mid.

    The last trade is used if it is within three ticks of bid and ask and at most a minute old.
    """
    if bid and ask and bid <= ask:
        reach = TICKS_OUTSIDE * tick
        is_outside = not bid - reach <= last <= ask + reach
        is_old = last_ms is not None and at_ms - last_ms > LONGEST_AGE_MS
        if is_outside or is_old:
            return PriceReading(Price((bid + ask) / 2), at_ms, last, last_ms, is_mid=True)
    return PriceReading(last, at_ms, last, last_ms, is_mid=False)


def contradicts(close: Price | None, mid: Decimal | None) -> bool:
    """Return True if the newest candle and the book differ by more than a working market could move."""
    return close is not None and mid is not None and abs(close - mid) > FAR * mid
