"""Microprice: the mid plus its expected move, from the sizes at the best prices. It is used if it beats the mid."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.metrics import price_adjustment

STATES = 5
LEAST_IN_STATE = 50
TEST_SECONDS = 600
HORIZON_SECONDS = 10
# One-sided 5 % quantile of the normal distribution.
LEAST_T = 1.645
_SECOND_MS = 1000
# Moves of the mid in half ticks. Larger moves count as the largest.
_STEPS = (-2, -1, 1, 2)

NoMicroprice = Literal["not_fitted", "no_gain"]


class TouchMoment(NamedTuple):
    """The mid at the end of a second, and the share of the bid in the size at the best prices."""

    time_ms: int
    mid: float
    lean: float


@dataclass(frozen=True, slots=True)
class Microprice:
    """Fitted price adjustments of the mid, by the bid's share of the size at the best prices.

    Without a fit `why_null` says why the weighted mid is used instead.
    """

    adjustments: tuple[float, ...]
    n: int
    t: float | None = None
    why_null: NoMicroprice | None = None

    def at(self, mid: float, lean: float) -> float | None:
        """Return the microprice for a best bid and ask. Return None if no fit beats the mid."""
        return None if self.why_null else mid + self.adjustments[_state(lean)]


def fit_microprice(moments: Sequence[TouchMoment], tick: float) -> Microprice:
    """Fit the microprice (Stoikov 2018) to all but the last ten minutes.

    The last ten minutes are the test set. The fit is kept only if it predicts them better than the mid.
    """
    train, test = moments[:-TEST_SECONDS], moments[-TEST_SECONDS:]
    adjustments = _fit(train, tick)
    if adjustments is None or len(test) < TEST_SECONDS:
        return Microprice((), len(train), why_null="not_fitted")
    t = _gain(test, adjustments)
    return Microprice(adjustments, len(train), t, None if t is not None and t >= LEAST_T else "no_gain")


def _state(lean: float) -> int:
    return min(STATES - 1, int(lean * STATES))


def _fit(moments: Sequence[TouchMoment], tick: float) -> tuple[float, ...] | None:
    """Count the transitions between states and fit the adjustments.

    Each transition also counts with bid and ask exchanged, because the fit needs symmetrised data.
    """
    quiet = [[0.0] * STATES for _ in range(STATES)]
    moving = [[0.0] * len(_STEPS) for _ in range(STATES)]
    after = [[0.0] * STATES for _ in range(STATES)]
    seen = [0] * STATES
    for before, now in pairwise(moments):
        if now.time_ms - before.time_ms != _SECOND_MS:
            continue
        halves = max(-2, min(2, round((now.mid - before.mid) / tick * 2)))
        here, there = _state(before.lean), _state(now.lean)
        seen[here] += 1
        for state, other, move in ((here, there, halves), (STATES - 1 - here, STATES - 1 - there, -halves)):
            if move:
                moving[state][_STEPS.index(move)] += 1
                after[state][other] += 1
            else:
                quiet[state][other] += 1
    if min(seen) < LEAST_IN_STATE:
        return None
    for state in range(STATES):
        total = sum(quiet[state]) + sum(moving[state])
        for row in (quiet[state], moving[state], after[state]):
            row[:] = [each / total for each in row]
    got = price_adjustment(quiet, moving, [step / 2 for step in _STEPS], after)
    return None if got.why_null else tuple(each * tick for each in got.total)


def _gain(moments: Sequence[TouchMoment], adjustments: Sequence[float]) -> float | None:
    """Return the t-statistic of the reduction in squared error compared with the mid.

    Neighbouring intervals overlap, so the standard error is the one of Newey and West (1987).
    """
    gains = list[float]()
    for now, later in zip(moments, moments[HORIZON_SECONDS:], strict=False):
        if later.time_ms - now.time_ms == HORIZON_SECONDS * _SECOND_MS:
            move = later.mid - now.mid
            gains.append(move * move - (move - adjustments[_state(now.lean)]) ** 2)
    n = len(gains)
    if n <= HORIZON_SECONDS:
        return None
    mean = fmean(gains)
    off = [each - mean for each in gains]
    spread = sum(each * each for each in off)
    for lag in range(1, HORIZON_SECONDS):
        shared = sum(one * other for one, other in zip(off, off[lag:], strict=False))
        spread += 2 * (1 - lag / HORIZON_SECONDS) * shared
    return mean * n / sqrt(spread) if spread > 0 else None
