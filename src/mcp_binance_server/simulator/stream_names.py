"""The names of market streams, taken apart: symbol, kind, and how often an event is due."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.simulator.intervals import Interval, known, zone_offset_ms
from mcp_binance_server.simulator.listing import Symbol

FAST_MS = 100
SLOW_MS = 1_000
KLINE_MS = 2_000
NAME = re.compile(r"(?P<symbol>[^@]+)@(?P<kind>[A-Za-z]+)(?P<detail>\d+|_[^@]+)?(?:@(?P<option>[^@]+))?")
PLAIN = {"aggTrade": FAST_MS, "trade": FAST_MS, "bookTicker": FAST_MS, "miniTicker": SLOW_MS, "ticker": SLOW_MS}
PARTIAL = {"5": 5, "10": 10, "20": 20}


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of one symbol; `levels` belongs to partial depth, the interval to klines."""

    name: str
    symbol: Symbol
    kind: str
    every_ms: int
    levels: int = 0
    interval_name: str = ""
    interval: Interval | None = None


def parse_stream(name: str, symbols: Mapping[str, Symbol]) -> Stream | None:
    """Return the stream, or None when there is no such stream; names are lower case."""
    match = NAME.fullmatch(name)
    symbol = (
        None if match is None or match["symbol"] != match["symbol"].lower() else symbols.get(match["symbol"].upper())
    )
    if match is None or symbol is None:
        return None
    kind, detail, option = match["kind"], match["detail"], match["option"]
    if kind == "kline":
        return _kline(name, symbol, (detail or "")[1:], option)
    if kind == "depth":
        every_ms = {None: SLOW_MS, "100ms": FAST_MS, "1000ms": SLOW_MS}.get(option)
        levels = 0 if detail is None else PARTIAL.get(detail)
        if every_ms is None or levels is None:
            return None
        return Stream(name, symbol, "partial" if levels else "depth", every_ms, levels)
    if detail is not None or option is not None or kind not in PLAIN:
        return None
    return Stream(name, symbol, kind, PLAIN[kind])


def _kline(name: str, symbol: Symbol, interval: str, zone: str | None) -> Stream | None:
    offset_ms = 0 if zone is None else zone_offset_ms(zone)
    if not known(interval) or offset_ms is None:
        return None
    every_ms = SLOW_MS if interval == "1s" else KLINE_MS
    return Stream(name, symbol, "kline", every_ms, 0, interval, Interval(interval, offset_ms))
