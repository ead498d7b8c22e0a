"""The price a page measures from: one reading with one time, checked against the book of the same moment."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Price

# So far outside bid and ask a last trade is history; within it a book has moved on by a blink.
TICKS_OUTSIDE = 3
LONGEST_AGE_MS = 60_000


@dataclass(frozen=True, slots=True)
class PriceReading:
    """The price at a moment: the last trade, or the middle of the book where that trade says nothing of now.

    `last_ms` is when the last trade was, where anybody told.
    """

    price: Price
    at_ms: int
    last: Price
    last_ms: int | None
    is_mid: bool


def read_price(
    last: Price, last_ms: int | None, *, bid: Price | None, ask: Price | None, tick: Decimal, at_ms: int
) -> PriceReading:
    """Take the last trade while it lies within three ticks of bid and ask and is no older than a minute."""
    if bid and ask and bid <= ask:
        reach = TICKS_OUTSIDE * tick
        is_outside = not bid - reach <= last <= ask + reach
        is_old = last_ms is not None and at_ms - last_ms > LONGEST_AGE_MS
        if is_outside or is_old:
            return PriceReading(Price((bid + ask) / 2), at_ms, last, last_ms, is_mid=True)
    return PriceReading(last, at_ms, last, last_ms, is_mid=False)
