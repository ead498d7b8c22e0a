"""How far a market is from its own last hour."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from mcp_binance_server.analytics.envelope import Severity, WhyNull
from mcp_binance_server.analytics.flow.volume import Rate, rate
from mcp_binance_server.analytics.market.volatility import log_returns
from mcp_binance_server.analytics.robust import robust_z_of
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

_LEVELS: tuple[Severity, ...] = ("Low", "Medium", "High", "Critical")

SECOND_MS = 1_000
MINUTE_MS = 60_000
OFI_MS = 10_000


@dataclass(frozen=True, slots=True)
class QuoteStuffing:
    """Level changes per second and per trade against the symbol's own last hour."""

    rate: Rate
    z: float | None
    z_per_trade: float | None
    flag: bool
    severity: Severity | None = None
    why_null: WhyNull | None = None


class Baseline(NamedTuple):
    """A measure now and what it was over the last hour; a current value of None is not assessed."""

    current: float | None
    history: Sequence[float]


@dataclass(frozen=True, slots=True)
class CrashFlags:
    """Four flags, counted, not a probability; None is a flag that could not be assessed."""

    thin_depth: bool | None
    wide_spread: bool | None
    volatile: bool | None
    one_sided_flow: bool | None
    severity: Severity | None = None
    why_null: WhyNull | None = None

    @property
    def raised(self) -> int:
        return sum(flag is True for flag in self._flags)

    @property
    def assessed(self) -> int:
        return sum(flag is not None for flag in self._flags)

    @property
    def _flags(self) -> tuple[bool | None, ...]:
        return self.thin_depth, self.wide_spread, self.volatile, self.one_sided_flow


def quote_stuffing(
    now: Rate, baseline: Sequence[Rate], baseline_ms: int, *, thresholds: Thresholds = DEFAULTS
) -> QuoteStuffing:
    """Flag a rate that is high at all and unusual for the symbol; without trades only the rate itself is judged."""
    if now.per_second is None:
        return QuoteStuffing(now, None, None, flag=False, why_null="no_events")
    if baseline_ms < thresholds.baseline_ms:
        return QuoteStuffing(now, None, None, flag=False, why_null="insufficient_baseline")
    usual = [each.per_second for each in baseline if each.per_second is not None]
    z = robust_z_of(now.per_second, usual).z
    z_per_trade = None
    if now.per_trade is not None:
        z_per_trade = robust_z_of(now.per_trade, [each.per_trade for each in baseline if each.per_trade is not None]).z
    if z is None:
        return QuoteStuffing(now, None, z_per_trade, flag=False, why_null="degenerate")
    unusual = z >= thresholds.stuffing_z and (
        now.per_trade is None or (z_per_trade is not None and z_per_trade >= thresholds.stuffing_z)
    )
    if not unusual or now.per_second <= thresholds.stuffing_per_s:
        return QuoteStuffing(now, z, z_per_trade, flag=False)
    severity = _LEVELS[1 + sum(now.per_second > edge for edge in thresholds.stuffing_edges)]
    return QuoteStuffing(now, z, z_per_trade, flag=True, severity=severity)


def crash_flags(
    depth: Baseline,
    spread: Baseline,
    ofi: Baseline,
    *,
    minute_volatility: float | None,
    hour_volatility: float | None,
    thresholds: Thresholds = DEFAULTS,
) -> CrashFlags:
    """Raise each flag that can be assessed; the depth is that within 50 bps of the mid."""
    low, high = thresholds.crash_depth_percentile, thresholds.crash_spread_percentile
    thin = wide = volatile = one_sided = None
    if depth.current is not None and (edge := _percentile(depth.history, low, thresholds)) is not None:
        thin = depth.current < edge
    if spread.current is not None and (edge := _percentile(spread.history, high, thresholds)) is not None:
        wide = spread.current > edge
    if minute_volatility is not None and hour_volatility:
        volatile = minute_volatility / hour_volatility > thresholds.crash_volatility_ratio
    if ofi.current is not None and len(ofi.history) >= thresholds.min_events:
        z = robust_z_of(ofi.current, ofi.history).z
        one_sided = None if z is None else abs(z) > thresholds.crash_ofi_z
    flags = CrashFlags(thin, wide, volatile, one_sided)
    if not flags.assessed:
        return CrashFlags(None, None, None, None, why_null="insufficient_baseline")
    return CrashFlags(thin, wide, volatile, one_sided, _LEVELS[flags.raised - 1] if flags.raised else None)


def _percentile(history: Sequence[float], percentile: int, thresholds: Thresholds) -> float | None:
    if len(history) < thresholds.min_events:
        return None
    return sorted(history)[-(-len(history) * percentile // 100) - 1]


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
