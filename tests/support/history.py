"""Real candles: hours of two spot pairs from 2017 to 2021, and months of minutes of perpetuals. Not published."""

import csv
import gzip
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from support.fixtures import MARKET_HISTORY, UNPUBLISHED

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
_ONE = Quantity(Decimal(1))


def hours_of(symbol: str) -> list[Candle]:
    """Return the hourly candles of BTCUSDT or ETHUSDT, oldest first, one an hour, each with a hundred trades."""
    (path,) = _folder().glob(f"{symbol}-1h-*.csv.gz")
    rows: dict[int, Candle] = {}
    for row in _rows(path):
        opened_ms = int(row["open_ms"])
        opened, high, low, close = (Price(Decimal(row[name])) for name in ("open", "high", "low", "close"))
        candle = Candle(opened_ms, opened_ms + HOUR_MS - 1, opened, high, low, close, _ONE, _ONE, 100, _ONE)
        rows.setdefault(opened_ms, candle)
    return [rows[opened_ms] for opened_ms in sorted(rows)]


def months_of_minutes() -> list[Path]:
    """Return a file for each month of a perpetual."""
    return sorted(_folder().glob("futures-*-1m-*.csv.gz"))


def minutes_of(path: Path) -> list[Mapping[str, float]]:
    """Return the minutes of a month: open time, close, volume, trades and volume bought by takers."""
    names = ("open_time", "close", "volume", "count", "taker_buy_volume")
    return [{name: float(row[name]) for name in names} for row in _rows(path)]


def _folder() -> Path:
    return UNPUBLISHED[MARKET_HISTORY].path


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)
