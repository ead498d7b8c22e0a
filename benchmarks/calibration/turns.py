"""Hourly walks around one price, with or without a level at it that turns a share of the approaches."""

from math import sqrt
from random import Random
from typing import NamedTuple

BARS, STEPS = 1_000, 12
LEVEL, STEP = 10_000.0, 60.0
# In deviations of a bar: an approach begins beyond `AWAY`, and comes as near as `NEAR`.
AWAY, NEAR = 1.6, 0.32
# Pull towards the middle of the walk, and drift of the steps after an approach.
PULL, DRIFT = 0.0013, 0.12


class Bar(NamedTuple):
    """The prices of one hour."""

    high: float
    low: float
    close: float


class Turns(NamedTuple):
    """A walk, and how often it approached its level."""

    bars: tuple[Bar, ...]
    approaches: int


def turning(seed: int, share: float | None) -> Turns:
    """Return a walk whose level turns a share of the approaches; with None there is no level."""
    random = Random(seed)
    at, approaches, came_from, leaves_to = random.uniform(-6, 6), 0, 0, 0
    bars: list[Bar] = []
    for _ in range(BARS):
        high = low = at
        for _ in range(STEPS):
            step = random.gauss(0, 1 / sqrt(STEPS)) - PULL * at
            if leaves_to:
                step += DRIFT * leaves_to
                if abs(at) >= 1.3 * AWAY:
                    came_from, leaves_to = 1 if at > 0 else -1, 0
            elif share is not None and came_from and abs(at) <= NEAR:
                leaves_to = came_from if random.random() < share else -came_from
                approaches += 1
            elif abs(at) >= AWAY:
                came_from = 1 if at > 0 else -1
            at += step
            high, low = max(high, at), min(low, at)
        bars.append(Bar(*(LEVEL + STEP * each for each in (high, low, at))))
    return Turns(tuple(bars), approaches)
