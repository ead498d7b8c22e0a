"""Report on one order book: measures and largest levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
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
from mcp_binance_server.analytics.metric import Unknown
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.reference_price import ANY_RANGE, TakerRange
from mcp_binance_server.domain.symbols import SymbolRules

# Amounts in quote units. They are meaningful only if the quote asset is a dollar.
USUAL_AMOUNTS = (10_000, 25_000, 50_000)
CAPACITY_BPS = (1, 5, 10)
NEAR_BPS = 10
LARGEST_BPS, MOST_LARGEST = 50, 3
# A book without a change for this many usual gaps is frozen. After `SILENT_MS` a page gives the time.
QUIET_GAPS = 10
SILENT_MS = 60_000
SIDES: tuple[Taker, Taker] = ("buy", "sell")

# Reason why no stream is used: streams are disabled, all places for watched symbols are taken, or the data is old.
NoFeed = Literal["off", "full", "late"]


class LargestLevel(NamedTuple):
    """A level and its share of its side within 50 bps of the mid."""

    level: PriceLevel
    share: float


class Reach(NamedTuple):
    """Distance from the mid that the known levels of each side cover, up to the band of the largest levels, in bps."""

    bids: float
    asks: float

    @property
    def is_whole(self) -> bool:
        return min(self) >= LARGEST_BPS

    @property
    def coverage(self) -> float:
        """Share of the band that both sides cover."""
        return min(self) / LARGEST_BPS


def reach_of(bids: Sequence[PriceLevel], asks: Sequence[PriceLevel], mid: float | None) -> Reach:
    """Return how far the known levels of a book reach. Without a mid it is zero."""
    return Reach(*(_reach_bps(levels, mid) for levels in (bids, asks)))


def _reach_bps(levels: Sequence[PriceLevel], mid: float | None) -> float:
    if mid is None or not levels:
        return 0.0
    return min(float(LARGEST_BPS), abs(float(levels[-1].price) - mid) / mid * 10_000)


def largest_levels(levels: Sequence[PriceLevel], mid: float | None) -> tuple[LargestLevel, ...]:
    """Return the largest levels of one side near the mid. Of equal levels the nearest comes first."""
    if mid is None:
        return ()
    near = [each for each in levels if each.quantity and abs(float(each.price) - mid) <= mid * LARGEST_BPS / 10_000]
    total = sum(each.quantity for each in near)
    largest = sorted(near, key=lambda each: -each.quantity)[:MOST_LARGEST]
    return tuple(LargestLevel(each, float(each.quantity / total)) for each in largest)


@dataclass(frozen=True, slots=True)
class BookReport:
    """Measures of one book, the microprice fitted to the last hour, and the illiquidity of the last days.

    `walks` maps an amount to the results of a purchase and a sale.
    """

    top: TopOfBook
    five: Imbalance
    twenty: Imbalance
    near: BandImbalance
    bid_volume: float
    ask_volume: float
    largest_bids: tuple[LargestLevel, ...]
    largest_asks: tuple[LargestLevel, ...]
    reach: Reach
    walks: dict[int, tuple[BookWalk, BookWalk]]
    microprice: Microprice | Unknown | None = None
    illiquidity: IlliquidityRank | Unknown | None = None


@dataclass(frozen=True, slots=True)
class CostReport:
    """Result of one market order, and the depth within each distance of the mid."""

    top: TopOfBook
    walk: BookWalk
    capacities: dict[int, Depth]
    expires_beyond: Price | None = None
    """End of the exchange's price range, if the order reaches it: the rest expires there."""


def describe_book(book: BookSnapshot) -> BookReport:
    """Compute all measures of a book. In a crossed book they say that it is crossed."""
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
        reach=reach_of(bids, asks, top.mid),
        walks={
            amount: (walk(asks, amount, top.mid, "buy"), walk(bids, amount, top.mid, "sell"))
            for amount in USUAL_AMOUNTS
        },
    )


def cost_of(
    book: BookSnapshot, amount: float, side: Taker, unit: AmountUnit, within: TakerRange = ANY_RANGE
) -> CostReport:
    """Walk the book with one order, inside a price range. A crossed book or an empty side has nothing to walk."""
    top = top_of_book(book.bids, book.asks)
    shown = () if top.state == "crossed" else book.asks if side == "buy" else book.bids
    levels = tuple(takewhile(lambda level: within.holds(level.price), shown))
    taken = walk(levels, amount, top.mid, side, unit)
    is_cut = not taken.complete and len(levels) < len(shown)
    if is_cut and taken.why_null is not None:
        taken = replace(taken, why_null="outside_price_filter")
    capacities = {} if top.mid is None else {bps: capacity(levels, top.mid, side, bps) for bps in CAPACITY_BPS}
    return CostReport(top, taken, capacities, within.edge(shown[len(levels)].price) if is_cut else None)


@dataclass(frozen=True, slots=True)
class BookView:
    """A book at one moment, from a stream or from a request.

    `as_of_ms` and `age_ms` are those of its newest change, not of the request. `no_feed` is the reason why no stream
    will follow.
    """

    rules: SymbolRules
    snapshot: BookSnapshot
    is_live: bool
    as_of_ms: int
    age_ms: int
    gaps: int
    no_feed: NoFeed | None = None
    lag_ms: int = 0
    thresholds: Thresholds = DEFAULTS
    usual_gap_ms: float = 0.0
    """Usual time between two changes of the book, or 0 if no stream has measured it."""

    @property
    def reach(self) -> Reach:
        bids, asks = self.snapshot.bids, self.snapshot.asks
        return reach_of(bids, asks, top_of_book(bids, asks).mid)

    @property
    def is_stale(self) -> bool:
        """Whether the book is unchanged for too long: its values are no longer exact for the present."""
        return self.age_ms > quiet_after_ms(self.thresholds.stale_ms, self.usual_gap_ms)

    @property
    def is_frozen(self) -> bool:
        """Whether the book is unchanged for too long to be judged."""
        return self.age_ms > quiet_after_ms(self.thresholds.dead_ms, self.usual_gap_ms)

    @property
    def silent_since_ms(self) -> int | None:
        """Time of the newest change, if it is long ago: a page then gives it."""
        return self.as_of_ms if self.age_ms > quiet_after_ms(SILENT_MS, self.usual_gap_ms) else None


def quiet_after_ms(least_ms: int, usual_gap_ms: float) -> float:
    """Return the time without a change that is not usual: ten usual gaps, and at least `least_ms`."""
    return max(least_ms, QUIET_GAPS * usual_gap_ms)
