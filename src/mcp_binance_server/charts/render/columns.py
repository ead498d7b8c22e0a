"""The candles of the picture as columns of floats, and what a style makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from mcp_binance_server.domain.candles import Candle

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Columns:
    """One value per bar in each."""

    times: list[int]
    opens: list[float]
    highs: list[float]
    lows: list[float]
    closes: list[float]
    volumes: list[float]

    def __len__(self) -> int:
        return len(self.times)

    def last(self, bars: int) -> "Columns":
        """Return the newest bars."""
        return Columns(
            self.times[-bars:], self.opens[-bars:], self.highs[-bars:], self.lows[-bars:], self.closes[-bars:],
            self.volumes[-bars:],
        )  # fmt: skip

    def merged(self, edges: Sequence[int]) -> "Columns":
        """Return one bar for all from each edge to the next."""
        spans = list(pairwise(edges))
        return Columns(
            times=[self.times[first] for first, _ in spans],
            opens=[self.opens[first] for first, _ in spans],
            highs=[max(self.highs[first:end]) for first, end in spans],
            lows=[min(self.lows[first:end]) for first, end in spans],
            closes=[self.closes[end - 1] for _, end in spans],
            volumes=[sum(self.volumes[first:end]) for first, end in spans],
        )

    def rose(self, bar: int) -> bool:
        return self.closes[bar] >= self.opens[bar]

    @property
    def step_ms(self) -> int:
        """The usual distance of two bars; the gaps of a halted market do not count."""
        steps = [after - before for before, after in pairwise(self.times)]
        return int(median(steps)) if steps else HOUR_MS


def columns_of(candles: Sequence[Candle]) -> Columns:
    """Turn candles into columns."""
    return Columns(
        times=[each.open_time_ms for each in candles],
        opens=[float(each.open) for each in candles],
        highs=[float(each.high) for each in candles],
        lows=[float(each.low) for each in candles],
        closes=[float(each.close) for each in candles],
        volumes=[float(each.volume) for each in candles],
    )


def heikin_ashi(bars: Columns) -> Columns:
    """Average each bar with the one before it, so that a trend is one colour."""
    opens, highs, lows, closes = list[float](), list[float](), list[float](), list[float]()
    for opened, high, low, close in zip(bars.opens, bars.highs, bars.lows, bars.closes, strict=True):
        mean = (opened + high + low + close) / 4
        start = (opens[-1] + closes[-1]) / 2 if opens else (opened + close) / 2
        opens.append(start)
        closes.append(mean)
        highs.append(max(high, start, mean))
        lows.append(min(low, start, mean))
    return Columns(bars.times, opens, highs, lows, closes, bars.volumes)
