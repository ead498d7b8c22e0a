"""Report on one book: its levels, their measures, and the largest levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.impact import IlliquidityRank
from mcp_binance_server.analytics.book.metrics import (
    AmountUnit,
    BandImbalance,
    BookWalk,
    Depth,
    Imbalance,
    Taker,
    TopOfBook,
    capacity,
    imbalance_of_band,
    imbalance_of_levels,
    top_of_book,
    walk,
)
from mcp_binance_server.analytics.book.microprice import Microprice
from mcp_binance_server.analytics.envelope import Unknown
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.symbols import SymbolRules

# In units of the quote asset; meaningful only if that is a dollar.
USUAL_AMOUNTS = (10_000, 25_000, 50_000)
CAPACITY_BPS = (1, 5, 10)
NEAR_BPS = 10
LARGEST_BPS, MOST_LARGEST = 50, 3
SIDES: tuple[Taker, Taker] = ("buy", "sell")

# Reason for not using a stream: none are enabled, all watched symbols are taken, or its data is old.
NoFeed = Literal["off", "full", "late"]


class LargestLevel(NamedTuple):
    """A level of a book and its share of its side within 50 bps of the mid, without a judgement."""

    level: PriceLevel
    share: float


def largest_levels(levels: Sequence[PriceLevel], mid: float | None) -> tuple[LargestLevel, ...]:
    """Return the few largest levels of one side near the mid, largest first; among equal ones the nearest first."""
    if mid is None:
        return ()
    near = [each for each in levels if each.quantity and abs(float(each.price) - mid) <= mid * LARGEST_BPS / 10_000]
    total = sum(each.quantity for each in near)
    largest = sorted(near, key=lambda each: -each.quantity)[:MOST_LARGEST]
    return tuple(LargestLevel(each, float(each.quantity / total)) for each in largest)


@dataclass(frozen=True, slots=True)
class BookReport:
    """Measures of one snapshot, and two measures of the hour and the days before it.

    `walks` maps an amount to a purchase and a sale.
    """

    top: TopOfBook
    five: Imbalance
    twenty: Imbalance
    near: BandImbalance
    bid_volume: float
    ask_volume: float
    largest_bids: tuple[LargestLevel, ...]
    largest_asks: tuple[LargestLevel, ...]
    walks: dict[int, tuple[BookWalk, BookWalk]]
    microprice: Microprice | Unknown | None = None
    illiquidity: IlliquidityRank | Unknown | None = None


@dataclass(frozen=True, slots=True)
class CostReport:
    """The result of one market order, and the depth up to each price distance."""

    top: TopOfBook
    walk: BookWalk
    capacities: dict[int, Depth]


def describe_book(book: BookSnapshot) -> BookReport:
    """Measure a book at one moment. A crossed book is broken, and its measures say so."""
    bids, asks = book.bids, book.asks
    top = top_of_book(bids, asks)
    return BookReport(
        top=top,
        five=imbalance_of_levels(bids, asks, 5),
        twenty=imbalance_of_levels(bids, asks, 20),
        near=imbalance_of_band(bids, asks, NEAR_BPS),
        bid_volume=sum(float(level.quantity) for level in bids[:20]),
        ask_volume=sum(float(level.quantity) for level in asks[:20]),
        largest_bids=largest_levels(bids, top.mid),
        largest_asks=largest_levels(asks, top.mid),
        walks={
            amount: (walk(asks, amount, top.mid, "buy"), walk(bids, amount, top.mid, "sell"))
            for amount in USUAL_AMOUNTS
        },
    )


def cost_of(book: BookSnapshot, amount: float, side: Taker, unit: AmountUnit) -> CostReport:
    """Walk the book with one order. A crossed book or an empty side has nothing to walk."""
    top = top_of_book(book.bids, book.asks)
    levels = () if top.state == "crossed" else book.asks if side == "buy" else book.bids
    taken = walk(levels, amount, top.mid, side, unit)
    capacities = {} if top.mid is None else {bps: capacity(levels, top.mid, side, bps) for bps in CAPACITY_BPS}
    return CostReport(top, taken, capacities)


@dataclass(frozen=True, slots=True)
class BookView:
    """A book at one moment, live or requested. `no_feed` is the reason if no live book will follow."""

    rules: SymbolRules
    snapshot: BookSnapshot
    is_live: bool
    as_of_ms: int
    age_ms: int
    gaps: int
    no_feed: NoFeed | None = None
    lag_ms: int = 0
    thresholds: Thresholds = DEFAULTS

    @property
    def is_stale(self) -> bool:
        return self.age_ms > self.thresholds.stale_ms
