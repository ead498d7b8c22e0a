"""Signs that a market is not itself: floods of quotes, and the flags that tend to stand before a fast fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mcp_binance_server.analytics.envelope import Severity, WhyNull
from mcp_binance_server.analytics.flow import Rate
from mcp_binance_server.analytics.robust import robust_z_of
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

_LEVELS: tuple[Severity, ...] = ("Low", "Medium", "High", "Critical")


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
