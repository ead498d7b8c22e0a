"""Minutes without drift: GARCH(1,1) with Student t shocks (Bollerslev 1986, 1987), many series at once."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
YEAR_MINUTES = 365 * 24 * 60
ALPHA, BETA, FREEDOM = 0.06, 0.93, 4.0


def paths(
    series: int, minutes: int, seed: int, *, annual: float = 0.5, drift_sigmas: float = 0.0, over: int = 1440
) -> Floats:
    """Return prices, a row a series; `drift_sigmas` deviations of the last `over` minutes are spread over them."""
    rng = np.random.default_rng(seed)
    base = annual**2 / YEAR_MINUTES
    shocks = rng.standard_t(FREEDOM, (minutes, series)) * sqrt((FREEDOM - 2) / FREEDOM)
    variance, returns = np.full(series, base), np.empty((minutes, series))
    for i in range(minutes):
        step = np.sqrt(variance) * shocks[i]
        returns[i] = step
        variance = base * (1 - ALPHA - BETA) + ALPHA * step * step + BETA * variance
    if drift_sigmas:
        returns[-over:] += drift_sigmas * sqrt(base * over) / over
    log_price = np.vstack([np.zeros(series), np.cumsum(returns, axis=0)])
    return (60_000.0 * np.exp(log_price)).T


def bars(path: Floats, step: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return open, high, low, close of each `step` minutes."""
    n = (len(path) - 1) // step
    rows = np.lib.stride_tricks.sliding_window_view(path, step + 1)[::step][:n]
    return rows[:, 0], rows.max(axis=1), rows.min(axis=1), rows[:, -1]
