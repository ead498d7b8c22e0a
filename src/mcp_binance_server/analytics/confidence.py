"""Statistical confidence: 95 % intervals and shrinkage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from math import sqrt
from struct import iter_unpack
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.thresholds import DEFAULTS

IntervalMethod = Literal["wilson_lower_bound_on_uncertainty", "block_bootstrap_by_second"]

_Z = 1.959963984540054  # two-sided 95 % quantile of the normal distribution
_TAIL_PER_MILLE = 25
_SEED_BYTES = 16
_DRAW_BYTES = 4


class Block(NamedTuple):
    """Contribution of one second to the numerator and the denominator of a ratio."""

    part: float
    whole: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float
    n: int
    method: IntervalMethod


def wilson(successes: int, trials: int) -> Interval | None:
    """Return Wilson's interval of a proportion. Trades come in clusters, so their true interval is wider."""
    if not trials:
        return None
    share = successes / trials
    shrink = 1 + _Z * _Z / trials
    centre = (share + _Z * _Z / (2 * trials)) / shrink
    reach = _Z / shrink * sqrt(share * (1 - share) / trials + _Z * _Z / (4 * trials * trials))
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return Interval(share, min(low, share), max(high, share), trials, "wilson_lower_bound_on_uncertainty")


def shrunk_share(successes: float, trials: int, long_run: float, worth: float = 10.0) -> float:
    """Shrink a share towards its long-run rate (Efron and Morris 1975). The rate weighs as much as `worth` trials."""
    return (successes + worth * long_run) / (trials + worth)


def bootstrap_ratio(blocks: Sequence[Block], seed: int, *, resamples: int = DEFAULTS.resamples) -> Interval | None:
    """Return the block bootstrap interval of a ratio of sums. Blocks with a denominator of 0 are left out."""
    used = [block for block in blocks if block.whole > 0]
    if not used:
        return None
    value = sum(block.part for block in used) / sum(block.whole for block in used)
    ratios = _resample(used, seed, resamples)
    tail = resamples * _TAIL_PER_MILLE // 1000
    low, high = min(ratios[tail], value), max(ratios[-1 - tail], value)
    return Interval(value, low, high, len(used), "block_bootstrap_by_second")


def redraws(places: int, times: int, seed: int, *, resamples: int) -> Iterator[list[int]]:
    """Yield bootstrap draws: lists of `times` indices below `places`, drawn with replacement.

    The random numbers are a hash stream of the seed. Equal seeds give equal draws on every machine and version.
    """
    stream = shake_128(seed.to_bytes(_SEED_BYTES, "little", signed=True)).digest(_DRAW_BYTES * times * resamples)
    for words in iter_unpack(f"<{times}I", stream):
        yield list(map(places.__rmod__, words))


def _resample(blocks: Sequence[Block], seed: int, resamples: int) -> list[float]:
    parts, wholes = [block.part for block in blocks], [block.whole for block in blocks]
    ratios = list[float]()
    # The inner loops run inside map and sum, because 500 resamples of 300 seconds are 150,000 draws.
    for drawn in redraws(len(blocks), len(blocks), seed, resamples=resamples):
        ratios.append(sum(map(parts.__getitem__, drawn)) / sum(map(wholes.__getitem__, drawn)))
    ratios.sort()
    return ratios
