"""A map of liquidity: where hardly anything trades, where orders stand, and where a stop is out of their way."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.metrics import BookWalk, top_of_book, walk
from mcp_binance_server.analytics.book.report import Wall, WallCandidate, WallSighting, judge_walls, wall_candidates
from mcp_binance_server.analytics.envelope import Progress, Source, Window
from mcp_binance_server.analytics.liquidity.vacuums import Vacuum, VacuumMap
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.money import Price, round_to_places
from mcp_binance_server.domain.symbols import SymbolRules

StopFrom = Literal["vacuum", "wall", "percent"]

# A stop stands a little beyond what may be run over, and two per cent away where nothing is known.
BEYOND = Decimal("0.002")
NOTHING_NEAR = Decimal("0.02")
ROUND_SUMS = (10_000, 100_000, 1_000_000, 10_000_000)


class StopPrice(NamedTuple):
    """Where a stop is out of the way, and of what: the edge of a vacuum, a wall, or nothing that is near."""

    price: Price
    origin: StopFrom
    edge: Price | None


class StopGuidance(NamedTuple):
    """For those who hold, and for those who sold short."""

    long: StopPrice
    short: StopPrice


class SidedWall(NamedTuple):
    side: Literal["Bid", "Ask"]
    wall: Wall


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumReport:
    """The vacuums of a window, and what they were read from."""

    rules: SymbolRules
    found: VacuumMap
    window: Window
    requested_ms: int
    coverage: float
    trades: int
    source: Source
    price: Price | None
    stops: StopGuidance | None
    now_ms: int
    thresholds: Thresholds = DEFAULTS

    @property
    def around(self) -> Vacuum | None:
        """The vacuum that the price is in."""
        price = self.price
        return next((each for each in self.found.vacuums or () if price is not None and each.contains(price)), None)


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
    vacuums: VacuumReport | None
    walls: WallReport | None
    costs: Costs | None
    stops: StopGuidance | None
    lookback_minutes: int
    now_ms: int
    touch: tuple[Price, Price] | None = None
    """The best bid and ask, which the price is held against."""
    no_vacuums: str = ""
    no_book: str = ""
    thresholds: Thresholds = DEFAULTS


def stop_guidance(price: Price, vacuums: Sequence[Vacuum], walls: Sequence[Price], tick: Price) -> StopGuidance:
    """Put each stop beyond the nearest vacuum or wall on its side, whichever comes first."""
    below = [(price - min(each.high, price), "vacuum", each.low) for each in vacuums if each.low < price]
    above = [(max(each.low, price) - price, "vacuum", each.high) for each in vacuums if each.high > price]
    below += [(price - each, "wall", each) for each in walls if each < price]
    above += [(each - price, "wall", each) for each in walls if each > price]
    return StopGuidance(_stop(price, below, -1, tick), _stop(price, above, 1, tick))


def _stop(price: Price, near: Sequence[tuple[Decimal, str, Price]], sign: int, tick: Price) -> StopPrice:
    if not near:
        return StopPrice(_on_tick(price * (1 + sign * NOTHING_NEAR), tick), "percent", None)
    _, origin, edge = min(near)
    return StopPrice(_on_tick(edge * (1 + sign * BEYOND), tick), "wall" if origin == "wall" else "vacuum", edge)


def _on_tick(price: Decimal, tick: Price) -> Price:
    return Price(round(price / tick) * tick if tick else round_to_places(price, 8))


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
