"""One book as its readers get it: the levels asked for, and what they measure."""

from dataclasses import dataclass
from typing import Literal

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
from mcp_binance_server.analytics.book.walls import WallCandidate, wall_candidates
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import SymbolRules

# In units of the quote asset, so they say something only where that is a dollar.
USUAL_AMOUNTS = (10_000, 25_000, 50_000)
CAPACITY_BPS = (1, 5, 10)
NEAR_BPS = 10
SIDES: tuple[Taker, Taker] = ("buy", "sell")

# Why a stream is not used: there are none, as many symbols are in use as may be watched, or what it tells is old.
NoFeed = Literal["off", "full", "late"]


@dataclass(frozen=True, slots=True)
class BookReport:
    """Everything one snapshot tells; `walks` are by amount, a purchase and then a sale."""

    top: TopOfBook
    five: Imbalance
    twenty: Imbalance
    near: BandImbalance
    bid_volume: float
    ask_volume: float
    bid_walls: tuple[WallCandidate, ...]
    ask_walls: tuple[WallCandidate, ...]
    walks: dict[int, tuple[BookWalk, BookWalk]]


@dataclass(frozen=True, slots=True)
class CostReport:
    """What one market order would get, and how much could be taken before the price has moved so far."""

    top: TopOfBook
    walk: BookWalk
    capacities: dict[int, Depth]


def describe_book(book: BookSnapshot, *, thresholds: Thresholds = DEFAULTS) -> BookReport:
    """Measure a book of one moment; a crossed one is broken, and its measures say so."""
    bids, asks = book.bids, book.asks
    top = top_of_book(bids, asks)
    return BookReport(
        top=top,
        five=imbalance_of_levels(bids, asks, 5),
        twenty=imbalance_of_levels(bids, asks, 20),
        near=imbalance_of_band(bids, asks, NEAR_BPS),
        bid_volume=sum(float(level.quantity) for level in bids[:20]),
        ask_volume=sum(float(level.quantity) for level in asks[:20]),
        bid_walls=wall_candidates(bids, thresholds=thresholds),
        ask_walls=wall_candidates(asks, thresholds=thresholds),
        walks={
            amount: (walk(asks, amount, top.mid, "buy"), walk(bids, amount, top.mid, "sell"))
            for amount in USUAL_AMOUNTS
        },
    )


def cost_of(book: BookSnapshot, amount: float, side: Taker, unit: AmountUnit) -> CostReport:
    """Walk the book with one order; against a broken or one-sided book there is nothing to walk."""
    top = top_of_book(book.bids, book.asks)
    levels = () if top.state == "crossed" else book.asks if side == "buy" else book.bids
    taken = walk(levels, amount, top.mid, side, unit)
    capacities = {} if top.mid is None else {bps: capacity(levels, top.mid, side, bps) for bps in CAPACITY_BPS}
    return CostReport(top, taken, capacities)


@dataclass(frozen=True, slots=True)
class BookView:
    """A book of one moment: the live one, or one that was asked for, and then whether a live one will follow."""

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
