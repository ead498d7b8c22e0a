"""Whether moves tend to go on or to turn back, read off how they grow with time; in no default answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull


@dataclass(frozen=True, slots=True)
class Hurst:
    """The exponent by which the mean absolute move grows with the lag; about 0.5 is no evidence of anything."""

    value: float | None
    n: int
    method: Literal["structure_function"] = "structure_function"
    why_null: WhyNull | None = None


def hurst(path: Sequence[float], lags: Sequence[int]) -> Hurst:
    """Fit a line to the logarithms of mean absolute moves over several lags."""
    n = len(path)
    if n <= max(lags) or len(lags) < 2:
        return Hurst(None, n, why_null="insufficient_history")
    moves = [fmean(abs(path[at + lag] - path[at]) for at in range(n - lag)) for lag in lags]
    if not all(moves):
        return Hurst(None, n, why_null="degenerate")
    xs, ys = [log(lag) for lag in lags], [log(move) for move in moves]
    middle_x, middle_y = fmean(xs), fmean(ys)
    over = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return Hurst(over / sum((x - middle_x) ** 2 for x in xs), n)
