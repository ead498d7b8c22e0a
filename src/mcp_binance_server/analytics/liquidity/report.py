"""A map of liquidity: where hardly anything was traded, where orders stand, what they cost, and where a stop may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.cost import MarketOrderCost
from mcp_binance_server.analytics.book.metrics import BookWalk, top_of_book, walk
from mcp_binance_server.analytics.book.report import Wall, WallCandidate, WallSighting, judge_walls, wall_candidates
from mcp_binance_server.analytics.envelope import Progress, Source, WhyNull, Window
from mcp_binance_server.analytics.liquidity.low_volume import LowVolumeRange
from mcp_binance_server.analytics.liquidity.stops import Noise, StopPrice
from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRange, ThinRanges
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import SymbolRules

ROUND_SUMS = (10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """A stop and the noise it was measured by; without one `why_null` says what is not known."""

    stop: StopPrice | None
    noise: Noise | None
    why_null: WhyNull | None = None


class SidedWall(NamedTuple):
    side: Literal["Bid", "Ask"]
    wall: Wall


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinRangeReport:
    """The thin traded ranges of a window, and what they were read from; `low_volume` only where it was asked for."""

    rules: SymbolRules
    found: ThinRanges
    low_volume: tuple[LowVolumeRange, ...] | None
    window: Window
    requested_ms: int
    coverage: float
    trades: int
    source: Source
    price: Price | None
    stop: StopReport
    now_ms: int
    thresholds: Thresholds = DEFAULTS

    @property
    def nearest_first(self) -> tuple[ThinRange, ...]:
        """What was found, sorted by its distance from the price."""
        found, price = self.found.found or (), self.price
        return found if price is None else tuple(sorted(found, key=lambda each: abs(each.distance_percent(price))))

    @property
    def around(self) -> ThinRange | None:
        """The range that the price is in."""
        price = self.price
        return next((each for each in self.found.found or () if price is not None and each.contains(price)), None)


class SlippageRow(NamedTuple):
    """What taking a round sum would cost on each side."""

    notional: Decimal
    buy: BookWalk
    sell: BookWalk


@dataclass(frozen=True, slots=True, kw_only=True)
class WallReport:
    """Large levels of a book, how long they were watched for, and how far that has come."""

    walls: tuple[SidedWall, ...]
    snapshots: int
    span_ms: int
    progress: Progress | None
    thresholds: Thresholds = DEFAULTS

    @property
    def standing(self) -> tuple[SidedWall, ...]:
        """Those that lasted; before that can be told, every candidate."""
        judged = self.progress is None and self.snapshots > 1
        return tuple(each for each in self.walls if each.wall.status == "confirmed" or not judged)

    @property
    def confirmed(self) -> tuple[Price, ...]:
        """The prices of those that lasted: a candidate may be gone before anything reaches it."""
        return tuple(each.wall.candidate.price for each in self.walls if each.wall.status == "confirmed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The price of immediacy now, and what the known book holds in all, in quote units."""

    rows: tuple[SlippageRow, ...]
    held_bids: float
    held_asks: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiquidityReport:
    """Everything the page of one market shows; a part that could not be had is None, and `missing` says why."""

    rules: SymbolRules
    price: Price | None
    thin: ThinRangeReport | None
    walls: WallReport | None
    costs: Costs | None
    order_cost: MarketOrderCost | None
    stop: StopReport
    lookback_minutes: int
    now_ms: int
    touch: tuple[Price, Price] | None = None
    """The best bid and ask, which the price is held against."""
    no_trades: str = ""
    no_book: str = ""
    thresholds: Thresholds = DEFAULTS


def walls_of_book(book: BookSnapshot, *, thresholds: Thresholds = DEFAULTS) -> tuple[SidedWall, ...]:
    """Return the candidates of a single book."""
    return (
        *(SidedWall("Bid", _candidate(each)) for each in wall_candidates(book.bids, thresholds=thresholds)),
        *(SidedWall("Ask", _candidate(each)) for each in wall_candidates(book.asks, thresholds=thresholds)),
    )


def _candidate(found: WallCandidate) -> Wall:
    return Wall(found, "candidate", None, 0, "insufficient_snapshots")


def walls_of_sightings(
    bids: Sequence[WallSighting], asks: Sequence[WallSighting], *, thresholds: Thresholds = DEFAULTS
) -> tuple[SidedWall, ...]:
    """Judge the large levels of both sides by how long they were seen."""
    return (
        *(SidedWall("Bid", each) for each in judge_walls(bids, thresholds=thresholds)),
        *(SidedWall("Ask", each) for each in judge_walls(asks, thresholds=thresholds)),
    )


def costs_of(book: BookSnapshot, *, is_dollar: bool) -> Costs:
    """Walk round sums through a book: dollars, or powers of ten of another quote asset that the book can hold."""
    mid = top_of_book(book.bids, book.asks).mid
    held_bids = sum(float(each.price * each.quantity) for each in book.bids)
    held_asks = sum(float(each.price * each.quantity) for each in book.asks)
    sums = [Decimal(each) for each in ROUND_SUMS] if is_dollar else _sums_of(min(held_bids, held_asks))
    rows = tuple(
        SlippageRow(each, walk(book.asks, float(each), mid, "buy"), walk(book.bids, float(each), mid, "sell"))
        for each in sums
    )
    return Costs(rows=rows, held_bids=held_bids, held_asks=held_asks)


def _sums_of(held: float) -> list[Decimal]:
    largest = Decimal(repr(held)).adjusted() if held else 0
    return [Decimal(1).scaleb(largest + power) for power in (-3, -2, -1, 0)]
