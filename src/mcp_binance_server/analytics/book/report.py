"""One book as its readers get it: levels, what they measure, and the walls among them."""

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
from mcp_binance_server.analytics.confidence import Interval, wilson
from mcp_binance_server.analytics.envelope import Unknown, WhyNull
from mcp_binance_server.analytics.robust import robust_z_of
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import SymbolRules

Status = Literal["candidate", "confirmed"]

# In units of the quote asset, so they say something only where that is a dollar.
USUAL_AMOUNTS = (10_000, 25_000, 50_000)
CAPACITY_BPS = (1, 5, 10)
NEAR_BPS = 10
SIDES: tuple[Taker, Taker] = ("buy", "sell")

# Why a stream is not used: there are none, as many symbols are in use as may be watched, or what it tells is old.
NoFeed = Literal["off", "full", "late"]


class WallCandidate(NamedTuple):
    """A level that is large for its neighbours and for its side in one snapshot."""

    price: Price
    quantity: Quantity
    z: float
    share: float


class WallPlace(NamedTuple):
    """Where a candidate stands among the levels of its side."""

    at: int
    z: float
    share: float


class WallSighting(NamedTuple):
    """The candidates of one side at one moment."""

    time_ms: int
    walls: tuple[WallCandidate, ...]


@dataclass(frozen=True, slots=True)
class Wall:
    """A candidate of the newest snapshot and how often it was seen before."""

    candidate: WallCandidate
    status: Status
    persistence: Interval | None
    span_ms: int
    why_null: WhyNull | None = None


def wall_candidates(levels: Sequence[PriceLevel], *, thresholds: Thresholds = DEFAULTS) -> tuple[WallCandidate, ...]:
    """Find the levels of one side that are large twice over; many are tested, so some are large by chance."""
    present = [each for each in levels if each.quantity > 0]
    places = wall_places([float(each.quantity) for each in present], thresholds=thresholds)
    return tuple(WallCandidate(present[at].price, present[at].quantity, z, share) for at, z, share in places)


def wall_places(sizes: Sequence[float], *, thresholds: Thresholds = DEFAULTS) -> list[WallPlace]:
    """Do the same for the sizes of one side, best first, and say where the large ones stand."""
    total, reach = sum(sizes), thresholds.wall_neighbours
    least = thresholds.wall_share * total
    found = list[WallPlace]()
    for at, size in enumerate(sizes):
        if size < least:
            continue
        neighbours = [*sizes[max(0, at - reach) : at], *sizes[at + 1 : at + 1 + reach]]
        if len(neighbours) < thresholds.wall_min_neighbours:
            continue
        z = robust_z_of(size, neighbours, "log").z
        if z is not None and z >= thresholds.wall_z:
            found.append(WallPlace(at, z, size / total))
    return found


def judge_walls(sightings: Sequence[WallSighting], *, thresholds: Thresholds = DEFAULTS) -> tuple[Wall, ...]:
    """Confirm the candidates of the newest snapshot that were there most of the time, for long enough."""
    if not sightings:
        return ()
    span = sightings[-1].time_ms - sightings[0].time_ms
    enough = len(sightings) >= thresholds.wall_min_snapshots and span >= thresholds.wall_min_s * 1000
    walls = list[Wall]()
    for candidate in sightings[-1].walls:
        seen = sum(any(each.price == candidate.price for each in sighting.walls) for sighting in sightings)
        persistence = wilson(seen, len(sightings))
        lasting = enough and seen >= thresholds.wall_persistence * len(sightings)
        why = None if enough else "insufficient_snapshots"
        walls.append(Wall(candidate, "confirmed" if lasting else "candidate", persistence, span, why))
    return tuple(walls)


@dataclass(frozen=True, slots=True)
class BookReport:
    """Everything one snapshot tells, and two measures of the hour and of the days before it.

    `walks` are by amount, a purchase and then a sale.
    """

    top: TopOfBook
    five: Imbalance
    twenty: Imbalance
    near: BandImbalance
    bid_volume: float
    ask_volume: float
    bid_walls: tuple[WallCandidate, ...]
    ask_walls: tuple[WallCandidate, ...]
    walks: dict[int, tuple[BookWalk, BookWalk]]
    microprice: Microprice | Unknown | None = None
    illiquidity: IlliquidityRank | Unknown | None = None


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
