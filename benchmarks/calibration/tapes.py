"""Tapes whose direction means nothing, or is known; and price paths with a hole in what was traded, or none."""

import numpy as np
from numpy.typing import NDArray

from calibration.records import Tape

Floats = NDArray[np.float64]


def signed(
    seed: int, seconds: int, *, rate: float = 8.0, parent_s: float = 0.0, buy: float = 0.5, adhere: float = 0.7
) -> Tape:
    """Return clustered orders with heavy sizes; a sign is a coin, or that of a parent order that lasts a while."""
    g = np.random.default_rng(seed)
    pace = np.exp(0.6 * g.standard_normal(seconds + 1).cumsum() / np.sqrt(np.arange(1, seconds + 2)))
    means: list[float] = (rate * pace / pace.mean()).tolist()
    counts = [int(g.poisson(mean)) for mean in means]
    ms: list[int] = []
    for i, count in enumerate(counts[:seconds]):
        ms += (g.integers(0, 1000, count, dtype=np.int64) + 1000 * i).tolist()
    ms.sort()
    sell: list[bool] = (g.random(len(ms)) >= buy).tolist()
    if parent_s:
        until, current = 0.0, False
        sell = []
        for at in ms:
            if at >= until:
                current, until = bool(g.random() >= buy), at + float(g.exponential(parent_s * 1000))
            sell.append(current if g.random() < adhere else bool(g.random() >= 0.5))
    size: list[float] = g.lognormal(-1.0, 1.5, len(ms)).tolist()
    price: list[float] = (60_000 * np.exp(np.cumsum(g.normal(0, 1e-5, len(ms))))).tolist()
    return Tape(ms, price, size, sell)


def walked(seed: int, minutes: int, per_minute: int, *, annual: float = 0.5, hole: float = 0.0) -> Tape:
    """Return a random walk's trades; a `hole` of so many deviations is cut out of what trades, by one jump."""
    g = np.random.default_rng(seed)
    n = minutes * per_minute
    variance = annual**2 / (365 * 24 * 60) / per_minute
    pace = np.exp(0.4 * np.cumsum(g.standard_normal(minutes)) / np.sqrt(np.arange(1, minutes + 1)))
    deviations = np.repeat(np.sqrt(variance * pace / pace.mean()), per_minute)
    steps: Floats = deviations * g.standard_t(5, n) / np.sqrt(5 / 3)
    if not hole:
        return _tape(g, np.cumsum(steps), minutes, None)
    # Pull the two halves apart, so that the band between them is never traded.
    left, right = np.cumsum(steps[: n // 2]), np.cumsum(steps[n // 2 :])
    low = float(left.max())
    high = low + hole * float(np.sqrt(variance * n))
    log_price = np.concatenate([left, right + high - float(right.min())])
    return _tape(g, log_price, minutes, (60_000 * float(np.exp(low)), 60_000 * float(np.exp(high))))


def _tape(g: np.random.Generator, log_price: Floats, minutes: int, hole: tuple[float, float] | None) -> Tape:
    n = len(log_price)
    price: list[float] = np.round(60_000 * np.exp(log_price), 2).tolist()
    ms: list[int] = (np.arange(n) * (minutes * 60_000 / n)).astype(int).tolist()
    size: list[float] = np.round(g.lognormal(-2, 1.3, n) + 1e-5, 5).tolist()
    sell: list[bool] = (g.random(n) < 0.5).tolist()
    return Tape(ms, price, size, sell, 0.01, hole)
