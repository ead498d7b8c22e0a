"""Which thresholds a user may change, within what bounds, and what each one decides.

Those that no answer rests on (Kyle's lambda, Amihud, gaps) are not offered: a setting without effect would mislead.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Knob(NamedTuple):
    """The least and the most a threshold may be, both included, and its meaning."""

    low: float
    high: float
    meaning: str


_KNOBS: dict[str, Knob] = {
    "profile_bins": Knob(5, 200, "bins of a volume profile over its price range"),
    "profile_area": Knob(0.01, 1, "share of the volume that the value area holds"),
    "profile_rows": Knob(1, 2, "rows by which the value area grows"),
    "vol_edges": Knob(0, 100, "annual volatility from which an asset is low, medium, medium-high and high"),
    "vol_min_n": Knob(2, 89, "daily returns needed to class an asset's volatility"),
    "swing_side": Knob(1, 50, "bars on each side that a swing must exceed"),
    "cluster_atr": Knob(0.01, 10, "distance in ATR within which levels are one"),
    "cluster_min_strength": Knob(1, 100, "strength that support and resistance should have"),
    "bias_min_votes": Knob(1, 4, "votes of four that make a bias"),
    "momentum_percent": Knob(0, 100, "change of a day, in per cent, that counts as momentum"),
    "hhi_edges": Knob(0, 1, "HHI from which a portfolio is moderate, and concentrated"),
    "var_level": Knob(50, 99, "level of VaR and ES in per cent"),
    "var_min_n": Knob(20, 89, "daily returns needed for VaR and ES"),
    "corr_min_n": Knob(3, 89, "daily returns needed for a correlation"),
    "risk_max_assets": Knob(1, 50, "largest holdings whose history is read"),
    "heavy_share": Knob(0, 1, "share of volatile assets called heavy"),
    "moderate_share": Knob(0, 1, "share of volatile assets called moderate"),
    "stablecoin_floor": Knob(0, 0.95, "share of stablecoins below which more are advised"),
    "effective_assets_floor": Knob(1, 100, "effective assets below which to diversify"),
    "position_ceiling": Knob(0, 1, "share of one asset from which stops are advised"),
    "market_shock": Knob(-1, 0, "what-if: move of every asset that is not stable"),
    "btc_shock": Knob(-1, 0, "what-if: move of bitcoin, the others by beta"),
    "stale_ms": Knob(
        100, 60_000, "age from which a book is called stale, and is asked for instead of read from a stream"
    ),
    "min_events": Knob(2, 4_000, "events needed for OFI, a flow's interval, a baseline"),
    "min_seconds": Knob(4, 3_600, "seconds with trades needed for a flow's interval"),
    "resamples": Knob(100, 5_000, "resamples of the bootstrap"),
    "direction_edges": Knob(0, 100, "buy/sell ratios between strong sell and strong buy"),
    "large_trade_quote": Knob(0, 1_000_000_000, "dollars from which a trade may be called large"),
    "large_trade_percentile": Knob(1, 100, "percentile of the window a large trade must reach too"),
    "large_trade_min_n": Knob(1, 1_000, "trades needed to call some of them large"),
    "vpin_buckets": Knob(1, 1_000, "volume buckets of VPIN, and parts of the day's volume"),
    "wall_z": Knob(0, 100, "robust z of a wall against its neighbours"),
    "wall_share": Knob(0, 1, "share of its side that a wall holds"),
    "wall_neighbours": Knob(1, 100, "levels on each side that a size is compared with"),
    "wall_min_neighbours": Knob(2, 200, "neighbours needed to judge a level"),
    "wall_persistence": Knob(0, 1, "share of snapshots in which a wall was seen"),
    "wall_min_s": Knob(1, 290, "seconds a wall is watched before it is confirmed"),
    "wall_min_snapshots": Knob(1, 290, "snapshots needed to confirm a wall"),
    "vacuum_fraction": Knob(0, 1, "share of the median bin below which a bin is thin"),
    "vacuum_merge_pct": Knob(0, 10, "distance in per cent within which thin runs are one"),
    "vacuum_min_trades": Knob(1, 1_000_000, "trades needed to look for vacuums"),
    "vacuum_min_bars": Knob(1, 1_440, "bars needed to look for vacuums"),
    "vacuum_edges": Knob(0, 1, "deficit above which a vacuum is medium, high, critical"),
    "iceberg_ratio": Knob(1, 1_000, "executed over displayed size of an iceberg"),
    "iceberg_high_ratio": Knob(1, 1_000, "the ratio from which it is of high severity"),
    "iceberg_refills": Knob(1, 1_000, "refills of an iceberg"),
    "refill_ms": Knob(100, 60_000, "time within which a level is refilled"),
    "absorption_drop": Knob(0.01, 1, "share of a level traded off in an absorption"),
    "absorption_times": Knob(1, 1_000, "how often that happens"),
    "spoof_z": Knob(0, 100, "robust z of a spoof-like level"),
    "spoof_life_ms": Knob(100, 300_000, "life below which a level is passing"),
    "spoof_traded": Knob(0, 1, "share of it that may be traded"),
    "stuffing_z": Knob(0, 100, "robust z of a flood of quotes"),
    "stuffing_per_s": Knob(0, 1_000_000, "level changes a second of a flood of quotes"),
    "stuffing_edges": Knob(0, 1_000_000, "rates above which it is high, critical"),
    "baseline_ms": Knob(300_000, 3_600_000, "how far back quote stuffing and flash-crash flags compare"),
    "crash_depth_percentile": Knob(1, 99, "percentile of depth below which a market is thin"),
    "crash_spread_percentile": Knob(1, 99, "percentile of the spread above which it is wide"),
    "crash_volatility_ratio": Knob(0, 1_000, "volatility of a minute over that of the hour"),
    "crash_ofi_z": Knob(0, 100, "robust z of one-sided quotes"),
    "health_min_weight": Knob(0.05, 1, "weight of known parts needed for a health score"),
    "health_floor": Knob(0.000001, 0.5, "least a part can count"),
    "fresh_ms": Knob(0, 60_000, "age up to which a book is fully fresh"),
    "dead_ms": Knob(1_000, 300_000, "age from which a live book is not shown any more"),
    "depletion_drop": Knob(0.01, 1, "loss of depth that counts as a depletion"),
    "depletion_ms": Knob(1_000, 60_000, "time within which it is lost"),
    "recovery_share": Knob(0.01, 1, "share of the depth that counts as recovered"),
    "recovery_ms": Knob(1_000, 300_000, "time within which it comes back"),
    "min_depletions": Knob(1, 1_000, "depletions needed to score resilience"),
}
TUNABLE: Mapping[str, Knob] = MappingProxyType(_KNOBS)

# Pairs of which the first may not exceed the second; with equal ages freshness would have no slope.
ORDERED = (
    ("moderate_share", "heavy_share"),
    ("iceberg_ratio", "iceberg_high_ratio"),
    ("stale_ms", "dead_ms"),
    ("fresh_ms", "dead_ms"),
)
