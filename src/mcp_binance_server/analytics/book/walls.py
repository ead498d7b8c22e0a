"""Levels that stand out by size, whether they last, and the empty prices between levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.confidence import Interval, wilson
from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.robust import robust_z_of, robust_zs
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity

Status = Literal["candidate", "confirmed"]


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


class LevelGap(NamedTuple):
    """Two neighbouring levels and the ticks between them; `z` is None where all gaps are alike."""

    low: Price
    high: Price
    ticks: int
    z: float | None


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


def gaps(prices: Sequence[Price], tick: Price) -> tuple[LevelGap, ...]:
    """Measure the distance between neighbouring levels; beyond the last one nothing is known."""
    ordered = sorted(prices)
    ticks = [round((after - before) / tick) for before, after in pairwise(ordered)]
    return tuple(
        LevelGap(ordered[at], ordered[at + 1], count, z)
        for at, (count, z) in enumerate(zip(ticks, robust_zs(ticks), strict=True))
    )


def wide_gaps(prices: Sequence[Price], tick: Price, *, thresholds: Thresholds = DEFAULTS) -> tuple[LevelGap, ...]:
    """Return the gaps that stand out."""
    return tuple(each for each in gaps(prices, tick) if each.z is not None and each.z >= thresholds.gap_z)
