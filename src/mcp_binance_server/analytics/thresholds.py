"""Thresholds of all analytics rules. They are defaults of this project, not facts about the market."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, NamedTuple

Strategy = Literal["aggressive", "balanced", "conservative"]
RiskTolerance = Literal["low", "medium", "high"]
Rows = Literal[1, 2]


class RangeFactors(NamedTuple):
    """Entry band and target of a strategy, as shares of the 24-hour range.

    The band is measured from the low and the target from the high.
    """

    entry_low: Decimal
    entry_high: Decimal
    target: Decimal


def _factors(entry_low: str, entry_high: str, target: str) -> RangeFactors:
    return RangeFactors(Decimal(entry_low), Decimal(entry_high), Decimal(target))


_RANGE: Mapping[Strategy, RangeFactors] = MappingProxyType(
    {
        "aggressive": _factors("0.50", "0.75", "0.75"),
        "balanced": _factors("0.25", "0.50", "0.50"),
        "conservative": _factors("0", "0.25", "0.25"),
    }
)
_RANGE_STOP: Mapping[RiskTolerance, Decimal] = MappingProxyType(
    {"low": Decimal("0.10"), "medium": Decimal("0.25"), "high": Decimal("0.50")}
)
_ATR_BAND: Mapping[Strategy, Decimal] = MappingProxyType(
    {"aggressive": Decimal("0.25"), "balanced": Decimal("0.50"), "conservative": Decimal("0.25")}
)
_ATR_STOP: Mapping[RiskTolerance, Decimal] = MappingProxyType(
    {"low": Decimal("1.0"), "medium": Decimal("1.5"), "high": Decimal("2.5")}
)
_REWARD_RISK: Mapping[Strategy, Decimal] = MappingProxyType(
    {"aggressive": Decimal("1.5"), "balanced": Decimal("2.0"), "conservative": Decimal("2.5")}
)
_RISK_FRACTION: Mapping[RiskTolerance, Decimal] = MappingProxyType(
    {"low": Decimal("0.005"), "medium": Decimal("0.01"), "high": Decimal("0.02")}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds with their defaults: profile and levels, portfolio, and then book, flow and health."""

    profile_bins: int = 50
    profile_max_bins: int = 1000
    profile_area: Decimal = Decimal("0.70")
    profile_rows: Rows = 1

    vol_edges: tuple[float, float, float, float] = (0.05, 0.30, 0.50, 0.75)
    vol_min_n: int = 30

    swing_side: int = 3
    cluster_atr: Decimal = Decimal("0.4")
    level_atr: Decimal = Decimal("0.5")
    range_factors: Mapping[Strategy, RangeFactors] = field(default_factory=lambda: _RANGE)
    range_stop: Mapping[RiskTolerance, Decimal] = field(default_factory=lambda: _RANGE_STOP)
    atr_band: Mapping[Strategy, Decimal] = field(default_factory=lambda: _ATR_BAND)
    atr_stop: Mapping[RiskTolerance, Decimal] = field(default_factory=lambda: _ATR_STOP)
    min_reward_risk: Mapping[Strategy, Decimal] = field(default_factory=lambda: _REWARD_RISK)
    risk_fraction: Mapping[RiskTolerance, Decimal] = field(default_factory=lambda: _RISK_FRACTION)
    bias_t: float = 2.1
    momentum_sigmas: float = 1.0
    sentiment_sigmas: float = 1.96

    hhi_edges: tuple[float, float] = (0.15, 0.25)
    var_level: int = 95
    var_min_n: int = 60
    corr_min_n: int = 30
    risk_max_assets: int = 20
    heavy_share: Decimal = Decimal("0.60")
    moderate_share: Decimal = Decimal("0.30")
    stablecoin_floor: Decimal = Decimal("0.25")
    effective_assets_floor: float = 5.0
    position_ceiling: Decimal = Decimal("0.25")
    market_shock: Decimal = Decimal("-0.20")
    btc_shock: Decimal = Decimal("-0.10")

    stale_ms: int = 2000
    min_events: int = 30
    min_seconds: int = 8
    resamples: int = 500
    large_trade_percentile: int = 99
    large_trade_min_n: int = 200
    vpin_buckets: int = 50
    kyle_min_n: int = 30
    kyle_min_t: float = 2.0
    amihud_min_n: int = 20

    vacuum_fraction: float = 0.10
    vacuum_min_trades: int = 300
    vacuum_min_bars: int = 240

    dead_ms: int = 5000
    depletion_drop: float = 0.3
    depletion_ms: int = 1000
    recovery_share: float = 0.9
    recovery_ms: int = 5000


DEFAULTS = Thresholds()
