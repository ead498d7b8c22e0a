"""Candles and the intervals they come in."""

from dataclasses import dataclass
from typing import Literal, get_args

from mcp_binance_server.domain.money import Price, Quantity

# Case matters: 1m is a minute, 1M a month.
Interval = Literal["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"]
INTERVALS: tuple[str, ...] = get_args(Interval)


@dataclass(frozen=True, slots=True)
class Candle:
    """Open, high, low and close of one interval, and what was traded in it."""

    open_time_ms: int
    close_time_ms: int
    open: Price
    high: Price
    low: Price
    close: Price
    volume: Quantity
    quote_volume: Quantity
    trade_count: int
    taker_buy_volume: Quantity
