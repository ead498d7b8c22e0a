"""Thin ranges: runs of prices with hardly any volume, tested against a null model.

Every random walk crosses some prices fast, so an empty range alone is not evidence. The null model shuffles the steps
of the path. A range counts if it is wider than every range in every shuffled path.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from itertools import accumulate
from statistics import median
from struct import unpack
from typing import NamedTuple

from mcp_binance_server.analytics.liquidity.path import PathPiece, TradedPath
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import Price

SHUFFLES = 59
# The outer bins are excluded: a random walk turns there, so most of its thin bins are there.
EDGE_SHARE = 0.02
LEAST_TICKS, LEAST_SPREADS, LEAST_DEVIATIONS = 3, 2, 0.15
# Cap of a step in median moves, which is six standard deviations. Without it a jump would leave the same gap elsewhere
# in a shuffled path.
TEMPERED = 6 / 0.6745
_KEY_BYTES = 8


class ThinRange(NamedTuple):
    """A range of prices from `low` up to, not including, `high`, with its width and volume."""

    low: Price
    high: Price
    deviations: float
    """The width, in units of the window's usual move."""
    spreads: float | None
    volume: float
    of_median: float
    """Volume of the range, relative to the volume of the same number of median bins."""

    def contains(self, price: Price) -> bool:
        return self.low <= price < self.high

    def distance_percent(self, price: Price) -> float:
        """Return the distance of the nearer edge from a price in percent.

        It is negative below the price and 0 inside.
        """
        if self.contains(price):
            return 0.0
        edge = self.low if self.low > price else self.high
        return float((edge - price) / price * 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinRanges:
    """The ranges found, from low to high. None means not judged, and `why_null` is the reason.

    `widest` is the widest run of thin bins in usual moves, found or not. Of `shuffles` shuffled paths, `as_wide` had a
    run at least as wide. Shuffling stops at the first such path. So a range that is found has 59 shuffles, and
    `as_wide` is 0.
    """

    found: tuple[ThinRange, ...] | None
    widest: float | None = None
    shuffles: int = 0
    as_wide: int = 0
    bins: int = 0
    n: int = 0
    why_null: WhyNull | None = None

    @property
    def p(self) -> float | None:
        """Upper bound of the p-value, or None without a full number of shuffles."""
        return 1 / (SHUFFLES + 1) if self.found else None


# Plain tuples in whole ticks, because millions are created. A turn is a step, low and high relative to its end, and
# volume.
_Turn = tuple[int, int, int, float]
_Stretch = tuple[int, int, float]


class _Run(NamedTuple):
    low: int
    high: int
    volume: float
    of_median: float

    @property
    def width(self) -> int:
        return self.high - self.low


class _Histogram(NamedTuple):
    first: int
    width: int
    volumes: list[float]


def thin_ranges(path: TradedPath, spread: Price | None, *, thresholds: Thresholds = DEFAULTS) -> ThinRanges:
    """Find the runs that are wider than the widest run of every shuffle, and wide enough to matter."""
    if path.why_null is not None:
        return ThinRanges(found=None, n=path.n, why_null=path.why_null)
    histogram = _histogram([each[1:] for each in path.pieces], thresholds.profile_bins)
    runs = _runs(histogram, thresholds.vacuum_fraction)
    unit, ticks = path.deviation, float(path.tick)
    widest = max((each.width for each in runs), default=0)
    if not unit:
        return ThinRanges(found=None, n=path.n, bins=len(histogram.volumes), why_null="degenerate")
    quoted = float(spread) / ticks if spread else 0.0
    least = max(LEAST_TICKS, LEAST_SPREADS * quoted, LEAST_DEVIATIONS * unit)
    limit, tried = _widest_by_chance(path, widest, thresholds) if widest > least else (0, 0)
    return ThinRanges(
        found=tuple(
            ThinRange(
                low=Price(each.low * path.tick),
                high=Price(each.high * path.tick),
                deviations=each.width / unit,
                spreads=each.width / quoted if quoted else None,
                volume=each.volume,
                of_median=each.of_median,
            )
            for each in runs
            if each.width > max(limit, least)
        ),
        widest=widest / unit,
        shuffles=tried,
        as_wide=int(tried > 0 and limit >= widest),
        bins=len(histogram.volumes),
        n=path.n,
    )


def _widest_by_chance(path: TradedPath, widest: int, thresholds: Thresholds) -> tuple[int, int]:
    """Return the widest run of thin bins in shuffled paths, and the number of shuffles tried.

    Shuffling stops at the first run as wide as `widest`.
    """
    steps, first = path.steps, path.pieces[0]
    moved = [abs(each) for each in steps if each]
    cap = max(1, round(TEMPERED * median(moved)))
    turns = [_turn(step, piece, cap) for step, piece in zip(steps, path.pieces[1:], strict=True)]
    # The seed comes from the data: equal data give equal results in every process and Python version.
    seed = f"{path.n} {first.close} {path.pieces[-1].close} {sum(moved)}"
    limit = 0
    for tried in range(1, SHUFFLES + 1):
        drawn = unpack(f"<{len(turns)}Q", shake_128(f"{seed} {tried}".encode()).digest(_KEY_BYTES * len(turns)))
        shuffled = [turns[at] for at in sorted(range(len(turns)), key=drawn.__getitem__)]
        runs = _runs(_histogram(_walked(first, shuffled), thresholds.profile_bins), thresholds.vacuum_fraction)
        limit = max(limit, *(each.width for each in runs), 0)
        if limit >= widest:
            return limit, tried
    return limit, SHUFFLES


def _turn(step: int, piece: PathPiece, cap: int) -> _Turn:
    low, high = max(-cap, piece.low - piece.close), min(cap, piece.high - piece.close)
    return max(-cap, min(cap, step)), low, high, piece.volume


def _walked(first: PathPiece, turns: Iterable[_Turn]) -> list[_Stretch]:
    stretches, close = [first[1:]], first.close
    for step, low, high, volume in turns:
        close += step
        stretches.append((close + low, close + high, volume))
    return stretches


def _histogram(stretches: Sequence[_Stretch], bins: int) -> _Histogram:
    """Spread the volume of each piece evenly over its bins. A bin is at least one tick."""
    first, last = min(stretches)[0], max(high for _, high, _ in stretches)
    width = max(1, round((last - first) / bins))
    changes = [0.0] * ((last - first) // width + 2)
    for low, high, volume in stretches:
        start, end = (low - first) // width, (high - first) // width + 1
        share = volume / (end - start)
        changes[start] += share
        changes[end] -= share
    return _Histogram(first, width, [*accumulate(changes)][:-1])


def _runs(histogram: _Histogram, fraction: float) -> list[_Run]:
    """Return runs of thin bins between busy bins. The outer bins of the volume distribution are excluded."""
    first, width, volumes = histogram
    total = sum(volumes)
    # Rounding errors of float sums are not volume.
    crumb = total * 1e-12
    traded = [each for each in volumes if each > crumb]
    if not traded:
        return []
    middle = median(traded)
    below = [*accumulate(volumes)]
    inner = [
        at
        for at, sum_to in enumerate(below)
        if sum_to / total > EDGE_SHARE and (sum_to - volumes[at]) / total < 1 - EDGE_SHARE
    ]
    runs, start = list[_Run](), None
    for at in range(inner[0], inner[-1] + 1):
        if volumes[at] < fraction * middle:
            start = at if start is None else start
        elif start is not None:
            if start > inner[0]:
                held = max(0.0, sum(volumes[start:at]))
                runs.append(_Run(first + start * width, first + at * width, held, held / middle / (at - start)))
            start = None
    return runs
