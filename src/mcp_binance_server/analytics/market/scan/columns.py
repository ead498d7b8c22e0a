"""Columns computed from one candle series. Only closed candles count; with too few of them a column is None."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat
from math import isfinite, log, sqrt
from operator import le, mul, sub
from statistics import median

from mcp_binance_server.analytics.derivatives.hourly import by_hour, hours_before, is_fresh
from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, INTERVAL_MS
from mcp_binance_server.domain.derivatives import InterestPoint

SeriesLine = tuple[int, float, float, float, float, float]
"""Opening time, open, high, low, close, and volume in the quote asset."""

# Maximum candles, read by one request. After that many, the seed of a Wilder average of 14 weighs only 3e-8.
MOST_BARS = 250
MEDIAN_DAYS = 20
_WILDER_BARS = 14
# Bounds beyond any market's price or volume. Within them no sum or quotient of prices overflows a float.
_LEAST, _MOST = 1e-30, 1e30
_LEVELS = {f"vs_{level}": level for level in ("sma_20", "sma_50", "sma_200", "high_20", "low_20")}


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """The stored columns of a series: close time of the last candle, number of candles, and 13 numbers or None.

    Changes, range and deviation are in %. The five levels are prices, because the `vs_` columns compare them with the
    current price.
    """

    closed_ms: int | None
    n: int
    close: float | None = None
    change: float | None = None
    change_7: float | None = None
    change_30: float | None = None
    rel_volume: float | None = None
    rsi_14: float | None = None
    atr_14: float | None = None
    volatility_20: float | None = None
    sma_20: float | None = None
    sma_50: float | None = None
    sma_200: float | None = None
    high_20: float | None = None
    low_20: float | None = None

    def value(self, column: str, price: float | None) -> float | None:
        """Return a column of stage `interval`. `price` is the price on the board.

        Raises:
            KeyError: there is no such column.
        """
        if column in _LEVELS:
            return change_percent(price, getattr(self, _LEVELS[column]))
        if not COLUMNS[column].takes_interval:
            raise KeyError(column)
        found: float | None = getattr(self, column)
        return found


@dataclass(frozen=True, slots=True)
class DayColumns:
    """Median volume of the last 20 closed UTC days of a pair, or None if there are fewer than 10."""

    closed_ms: int | None
    n: int
    median_volume: float | None

    def rel_volume_24h(self, quote_volume_24h: float | None) -> float | None:
        """Return the volume of the last 24 hours as a multiple of the median day."""
        return _ratio(quote_volume_24h, self.median_volume)


@dataclass(frozen=True, slots=True)
class InterestColumns:
    """Open contracts in the newest hourly row, and their change over 24 hours in %."""

    stamp_ms: int | None
    n: int
    contracts: float | None
    oi_change_24h: float | None

    def oi_value(self, mark: float | None) -> float | None:
        """Return the value of the contracts at a mark price."""
        return None if self.contracts is None or mark is None else _finite(self.contracts * mark)


def series_columns(rows: Sequence[SeriesLine], now_ms: int, interval_ms: int) -> SeriesColumns:
    """Compute the columns of one series.

    The running candle and all candles before an invalid candle are ignored.
    """
    bars = closed_bars(rows, now_ms, interval_ms)
    if not bars:
        return SeriesColumns(None, 0)
    _, _, highs, lows, closes, volumes = zip(*bars, strict=True)
    atr = _atr(highs, lows, closes)
    return SeriesColumns(
        closed_ms=bars[-1][0] + interval_ms,
        n=len(bars),
        close=closes[-1],
        change=_change(closes, 1),
        change_7=_change(closes, 7),
        change_30=_change(closes, 30),
        rel_volume=_relative_volume(volumes[-21:]),
        rsi_14=_rsi(closes),
        atr_14=None if atr is None else 100 * atr / closes[-1],
        volatility_20=_deviation(closes[-21:]),
        sma_20=_average(closes, 20),
        sma_50=_average(closes, 50),
        sma_200=_average(closes, 200),
        high_20=max(highs[-20:]) if len(bars) >= 20 else None,
        low_20=min(lows[-20:]) if len(bars) >= 20 else None,
    )


def day_columns(rows: Sequence[SeriesLine], now_ms: int) -> DayColumns:
    """Return the median daily volume."""
    day_ms = INTERVAL_MS["1d"]
    bars = closed_bars(rows, now_ms, day_ms)[-MEDIAN_DAYS:]
    enough = len(bars) >= COLUMNS["rel_volume_24h"].bars
    usual = _finite(median(bar[5] for bar in bars)) if enough else None
    return DayColumns(bars[-1][0] + day_ms if bars else None, len(bars), usual)


def interest_columns(points: Sequence[InterestPoint], now_ms: int) -> InterestColumns:
    """Compare open interest in the newest hour with the hour one day before. A stale list gives no values."""
    hours = by_hour(points, now_ms)
    stamp = max(hours, default=None)
    if stamp is None or not is_fresh(stamp, now_ms):
        return InterestColumns(stamp, len(hours), None, None)
    now, before = hours[stamp], hours_before(hours, stamp, 24)
    change = None if before is None else change_percent(float(now.contracts), float(before.contracts))
    return InterestColumns(stamp, len(hours), _finite(float(now.contracts)), change)


def closed_bars(rows: Sequence[SeriesLine], now_ms: int, interval_ms: int) -> list[SeriesLine]:
    """Return the newest closed candles by time, without duplicates, back to the last invalid candle."""
    closed = [row for row in rows if row[0] + interval_ms <= now_ms]
    times = [row[0] for row in closed]
    if times != sorted(set(times)):
        closed = [row for _, row in sorted({row[0]: row for row in closed}.items())]
    bars = closed[-MOST_BARS:]
    if _are_whole(bars):
        return bars
    broken = next(back for back, row in enumerate(reversed(bars)) if not _are_whole([row]))
    return bars[len(bars) - broken :]


def change_percent(now: float | None, before: float | None) -> float | None:
    """Return the difference of two prices in percent of the second price.

    It is None if a price is missing or not positive.
    """
    if now is None or before is None or not (now > 0 and before > 0):
        return None
    return _finite(100 * (now - before) / before)


def _are_whole(bars: Sequence[SeriesLine]) -> bool:
    if not bars:
        return True
    _, _, highs, lows, closes, volumes = zip(*bars, strict=True)
    # NaN fails every comparison here. In min and max it could pass unnoticed.
    in_order = all(map(le, lows, closes)) and all(map(le, closes, highs)) and all(map(le, repeat(0.0), volumes))
    return in_order and min(lows) >= _LEAST and max(highs) <= _MOST and max(volumes) <= _MOST


def _ratio(part: float | None, whole: float | None) -> float | None:
    if part is None or whole is None or whole <= 0:
        return None
    return _finite(part / whole)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _change(closes: Sequence[float], back: int) -> float | None:
    return change_percent(closes[-1], closes[-1 - back]) if len(closes) > back else None


def _average(closes: Sequence[float], n: int) -> float | None:
    return _finite(sum(closes[-n:]) / n) if len(closes) >= n else None


def _relative_volume(volumes: Sequence[float]) -> float | None:
    return _ratio(volumes[-1], median(volumes[:-1])) if len(volumes) == 21 else None


def _deviation(closes: Sequence[float]) -> float | None:
    if len(closes) < 21:
        return None
    returns = [log(after / before) for before, after in pairwise(closes)]
    mean = sum(returns) / 20
    return 100 * sqrt(sum((each - mean) ** 2 for each in returns) / 19)


def _rsi(closes: Sequence[float]) -> float | None:
    if len(closes) <= _WILDER_BARS:
        return None
    moves = list(map(sub, closes[1:], closes))
    # (gains - losses) / (gains + losses) gives the RSI, because both averages have equal weights.
    rise, way = _wilder(moves), _wilder(list(map(abs, moves)))
    return 50 * (1 + rise / way) if way else 50.0


def _atr(highs: Sequence[float], lows: Sequence[float], closes: Sequence[float]) -> float | None:
    if len(closes) <= _WILDER_BARS:
        return None
    tops, bottoms = map(max, highs[1:], closes), map(min, lows[1:], closes)
    return _wilder(list(map(sub, tops, bottoms)))


def _wilder(values: Sequence[float]) -> float:
    return sum(map(mul, values, _wilder_weights(len(values))))


@lru_cache(maxsize=MOST_BARS)
def _wilder_weights(count: int) -> tuple[float, ...]:
    """Return the weight of each value in Wilder's average. Its seed is the mean of the first 14 values."""
    kept = [(1 - 1 / _WILDER_BARS) ** back / _WILDER_BARS for back in range(count - _WILDER_BARS + 1)]
    return (*[kept[-1]] * _WILDER_BARS, *kept[-2::-1])
