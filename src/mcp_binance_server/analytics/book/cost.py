"""Size that a market order can fill at negligible cost, now and over the last seconds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mcp_binance_server.analytics.book.metrics import capacity, top_of_book
from mcp_binance_server.domain.market import BookSnapshot

# Cost counts as negligible for a fill within this distance of the mid.
CHEAP_BPS = 2
# Depth refilled a moment ago can be gone when an order arrives. So the minimum over this period counts.
HELD_MS = 30_000
# Binance's taker fee without a discount: https://www.binance.com/en/fee/trading
TAKER_FEE_BPS = 10


class CheapSize(NamedTuple):
    """Depth within 2 bps of the mid, and size at the best price, in quote units. The smaller side counts for each."""

    time_ms: int
    cheap: float
    touch: float
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketOrderCost:
    """The half spread, and the minimum sizes of the last `seconds` seconds.

    With `seconds` of 0 the sizes come from a single book. `dollars` is the price of a quote unit.
    """

    mid: float
    half_spread_bps: float
    cheap: float
    touch: float
    truncated: bool
    seconds: int
    dollars: float | None = None


def market_order_cost(
    book: BookSnapshot, before: Iterable[CheapSize], now_ms: int, *, dollars: float | None = None
) -> MarketOrderCost | None:
    """Return the cost from a book and the seconds before it, or None if the book has no mid."""
    top = top_of_book(book.bids, book.asks)
    if top.mid is None or top.spread_bps is None or top.bid is None or top.ask is None:
        return None
    sides = capacity(book.asks, top.mid, "buy", CHEAP_BPS), capacity(book.bids, top.mid, "sell", CHEAP_BPS)
    lesser = min(sides, key=lambda each: each.quote)
    touch = min(float(each.price * each.quantity) for each in (top.bid, top.ask))
    now = CheapSize(now_ms, lesser.quote, touch, lesser.truncated)
    held = [each for each in before if now_ms - HELD_MS <= each.time_ms <= now_ms]
    least = min([now, *held], key=lambda each: each.cheap)
    return MarketOrderCost(
        mid=top.mid,
        half_spread_bps=top.spread_bps / 2,
        cheap=least.cheap,
        touch=min(each.touch for each in [now, *held]),
        truncated=least.truncated,
        seconds=len(held),
        dollars=dollars,
    )
