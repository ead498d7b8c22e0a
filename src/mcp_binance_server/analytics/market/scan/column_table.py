"""Table of the columns that a scan can use: meaning, unit, source, and required bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from mcp_binance_server.domain.board import BoardMarket

ScanInterval = Literal["15m", "1h", "4h", "1d"]
SCAN_INTERVALS: tuple[ScanInterval, ...] = get_args(ScanInterval)
INTERVAL_MS: Mapping[ScanInterval, int] = MappingProxyType(
    {"15m": 900_000, "1h": 3_600_000, "4h": 14_400_000, "1d": 86_400_000}
)

Stage = Literal["board", "daily", "interval", "interest"]
"""The step of a screen at which a column is known; the first needs no reads beyond the board."""
ColumnUnit = Literal["price", "quote", "count", "percent", "bps", "ratio", "score_0_100"]


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. Pairs with fewer closed bars than `bars` have no value."""

    name: str
    stage: Stage
    unit: ColumnUnit
    meaning: str
    bars: int = 0
    perpetual_only: bool = False

    @property
    def takes_interval(self) -> bool:
        return self.stage == "interval"


_ENTRIES = (
    ColumnSpec("price", "board", "price", "last price"),
    ColumnSpec("change_24h", "board", "percent", "change of the last 24 hours"),
    ColumnSpec("range_24h", "board", "percent", "(high - low) / low of the last 24 hours"),
    ColumnSpec("quote_volume_24h", "board", "quote", "volume of the last 24 hours in the quote asset"),
    ColumnSpec("trades_24h", "board", "count", "trades of the last 24 hours"),
    ColumnSpec("spread_bps", "board", "bps", "(ask - bid) / mid"),
    ColumnSpec("funding_rate", "board", "percent", "funding estimate per interval", perpetual_only=True),
    ColumnSpec(
        "funding_apr", "board", "percent", "estimate for a year: rate x settlements a year of the contract, not "
            "compounded",
        perpetual_only=True,
    ),
    ColumnSpec("mark_vs_index_bps", "board", "bps", "mark price against index price", perpetual_only=True),
    ColumnSpec(
        "rel_volume_24h", "daily", "ratio", "24-hour volume divided by the median volume of the last 20 closed UTC "
            "days", bars=10
    ),
    ColumnSpec("change", "interval", "percent", "change of the last closed candle against the one before", bars=2),
    ColumnSpec("change_7", "interval", "percent", "change over 7 closed candles", bars=8),
    ColumnSpec("change_30", "interval", "percent", "change over 30 closed candles", bars=31),
    ColumnSpec(
        "rel_volume", "interval", "ratio", "volume of the last closed candle divided by the median of the 20 candles "
            "before it", bars=21
    ),
    ColumnSpec("rsi_14", "interval", "score_0_100", "relative strength index (Wilder)", bars=15),
    ColumnSpec("atr_14", "interval", "percent", "average true range (Wilder) in % of the close", bars=15),
    ColumnSpec("volatility_20", "interval", "percent", "standard deviation of 20 log returns, per candle", bars=21),
    ColumnSpec("vs_sma_20", "interval", "percent", "price now against the average of 20 closes", bars=20),
    ColumnSpec("vs_sma_50", "interval", "percent", "price now against the average of 50 closes", bars=50),
    ColumnSpec("vs_sma_200", "interval", "percent", "price now against the average of 200 closes", bars=200),
    ColumnSpec("vs_high_20", "interval", "percent", "price now against the highest high of 20 candles", bars=20),
    ColumnSpec("vs_low_20", "interval", "percent", "price now against the lowest low of 20 candles", bars=20),
    ColumnSpec("oi_value", "interest", "quote", "open contracts x mark price", perpetual_only=True),
    ColumnSpec(
        "oi_change_24h", "interest", "percent", "change of open contracts over 24 hours, from hourly values",
        perpetual_only=True,
    ),
)  # fmt: skip

COLUMNS: Mapping[str, ColumnSpec] = MappingProxyType({each.name: each for each in _ENTRIES})


def columns_of(market: BoardMarket) -> tuple[str, ...]:
    """Return the names of a market's columns, in the order of the table."""
    return tuple(name for name, each in COLUMNS.items() if market == "perpetual" or not each.perpetual_only)
