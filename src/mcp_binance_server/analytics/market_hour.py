"""Up to an hour of one symbol, second by second, and what it says of the present: usual or not."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from mcp_binance_server.analytics.flow import Rate, rate
from mcp_binance_server.analytics.stress import Baseline, CrashFlags, QuoteStuffing, crash_flags, quote_stuffing
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.volatility import log_returns

SECOND_MS = 1_000
MINUTE_MS = 60_000
OFI_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketHour:
    """Columns, oldest first; `times` are the ends of the seconds, and one without an event of the book is absent.

    `from_ms` is when the record begins. Depths are base quantities within 50 bps of the mid.
    """

    from_ms: int
    to_ms: int
    times: Sequence[int]
    mids: Sequence[float]
    spreads_bps: Sequence[float]
    depths: Sequence[float]
    updates: Sequence[int]
    trades: Sequence[int]
    ofis: Sequence[float]
    quotes: Sequence[int]

    @property
    def span_ms(self) -> int:
        return self.to_ms - self.from_ms

    def newest(self, span_ms: int) -> "MarketHour":
        """Return its newest part."""
        from_ms = max(self.from_ms, self.to_ms - span_ms)
        at = bisect_right(self.times, from_ms)
        return MarketHour(
            from_ms=from_ms, to_ms=self.to_ms, times=self.times[at:], mids=self.mids[at:],
            spreads_bps=self.spreads_bps[at:], depths=self.depths[at:], updates=self.updates[at:],
            trades=self.trades[at:], ofis=self.ofis[at:], quotes=self.quotes[at:],
        )  # fmt: skip


def stuffing_in(hour: MarketHour, window_ms: int, *, thresholds: Thresholds = DEFAULTS) -> QuoteStuffing:
    """Compare the level changes of the newest window with those of the windows before it."""
    now, *before = _rates(hour, window_ms)
    return quote_stuffing(now, before, hour.span_ms, thresholds=thresholds)


def crash_flags_in(
    hour: MarketHour, *, usual_volatility: float | None = None, thresholds: Thresholds = DEFAULTS
) -> CrashFlags:
    """Raise the flags of the newest second against the ones before it.

    `usual_volatility`, per minute, takes the place of the hour's own where a longer one is known.
    """
    flows, quotes = _sums(hour, hour.ofis, OFI_MS), _sums(hour, hour.quotes, OFI_MS)
    minute = [mid for time_ms, mid in zip(hour.times, hour.mids, strict=True) if time_ms > hour.to_ms - MINUTE_MS]
    return crash_flags(
        _newest(hour.depths),
        _newest(hour.spreads_bps),
        Baseline(flows[0] if quotes[0] >= thresholds.min_events else None, flows[1:]),
        minute_volatility=minute_volatility(minute, SECOND_MS),
        hour_volatility=usual_volatility or minute_volatility(hour.mids, SECOND_MS),
        thresholds=thresholds,
    )


def minute_volatility(prices: Sequence[float], step_ms: int) -> float | None:
    """Return the root of the mean squared move, scaled to a minute; fewer than two moves tell nothing."""
    returns = log_returns(prices)
    if len(returns) < 2:
        return None
    return sqrt(sum(each * each for each in returns) / len(returns) * MINUTE_MS / step_ms)


def _newest(values: Sequence[float]) -> Baseline:
    return Baseline(values[-1], values[:-1]) if values else Baseline(None, ())


def _rates(hour: MarketHour, window_ms: int) -> list[Rate]:
    updates, trades = _sums(hour, hour.updates, window_ms), _sums(hour, hour.trades, window_ms)
    known_ms = min(window_ms, hour.span_ms)  # less than a window only at the beginning, when there is but one
    return [rate(int(count), known_ms / SECOND_MS, int(n)) for count, n in zip(updates, trades, strict=True)]


def _sums(hour: MarketHour, values: Sequence[float], window_ms: int) -> list[float]:
    """Add up windows from the newest back; the last one that the record does not fill is left out, the first never."""
    sums = [0.0] * max(1, hour.span_ms // window_ms)
    for time_ms, value in zip(hour.times, values, strict=True):
        at = (hour.to_ms - time_ms) // window_ms
        if at < len(sums):
            sums[at] += value
    return sums
