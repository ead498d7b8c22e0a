"""Kline intervals, streams, and the protocols of market data sources."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from binance_simulator.market.book import Level, Top
from binance_simulator.market.candles import Candle, Trade
from binance_simulator.market.history import MINUTE_MS
from binance_simulator.market.listing import Symbol
from binance_simulator.market.noise import Lru
from binance_simulator.market.prices import DAY_MS, HOUR_MS

MONTH = "1M"
WEEK_OFFSET_MS = 4 * DAY_MS  # the epoch was a Thursday, and weeks start on Monday

LENGTHS_MS = {
    "1s": 1_000,
    **{f"{count}m": count * MINUTE_MS for count in (1, 3, 5, 15, 30)},
    **{f"{count}h": count * HOUR_MS for count in (1, 2, 4, 6, 8, 12)},
    "1d": DAY_MS,
    "3d": 3 * DAY_MS,
    "1w": 7 * DAY_MS,
}

FAST_MS = 100
SLOW_MS = 1_000
KLINE_MS = 2_000
NAME = re.compile(r"(?P<symbol>[^@]+)@(?P<kind>[A-Za-z]+)(?P<detail>\d+|_[^@]+)?(?:@(?P<option>[^@]+))?")
PLAIN = {"aggTrade": FAST_MS, "trade": FAST_MS, "bookTicker": FAST_MS, "miniTicker": SLOW_MS, "ticker": SLOW_MS}
PARTIAL = {"5": 5, "10": 10, "20": 20}


@dataclass(frozen=True, slots=True)
class Interval:
    """One kline interval in one time zone."""

    name: str
    offset_ms: int = 0

    def opening(self, at_ms: int) -> int:
        """Return the opening time of the candle at a time."""
        if self.name == MONTH:
            local = datetime.fromtimestamp((at_ms + self.offset_ms) // 1000, UTC)
            return _month_ms(local.year, local.month) - self.offset_ms
        length = LENGTHS_MS[self.name]
        shift = self.offset_ms - (WEEK_OFFSET_MS if self.name == "1w" else 0)
        return (at_ms + shift) // length * length - shift

    def following(self, opening_ms: int) -> int:
        """Return the opening time of the next candle."""
        if self.name == MONTH:
            return self.opening(opening_ms + 32 * DAY_MS)
        return opening_ms + LENGTHS_MS[self.name]

    def preceding(self, opening_ms: int) -> int:
        """Return the opening time of the previous candle."""
        if self.name == MONTH:
            return self.opening(opening_ms - 1)
        return opening_ms - LENGTHS_MS[self.name]


def known(name: str) -> bool:
    """Return whether Binance has the interval. Names are case-sensitive: 1m is a minute and 1M is a month."""
    return name == MONTH or name in LENGTHS_MS


def zone_offset_ms(text: str) -> int | None:
    """Parse a time zone such as 0, 8, -1:00 or 05:45. Return None if it is invalid or outside -12:00 to +14:00."""
    match = re.fullmatch(r"([+-]?)(\d{1,2})(?::([0-5]\d))?", text)
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    offset_ms = sign * (int(match[2]) * HOUR_MS + int(match[3] or 0) * MINUTE_MS)
    return offset_ms if -12 * HOUR_MS <= offset_ms <= 14 * HOUR_MS else None


def _month_ms(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of one symbol. `levels` is for partial depth, and `interval` for klines."""

    name: str
    symbol: Symbol
    kind: str
    every_ms: int
    levels: int = 0
    interval_name: str = ""
    interval: Interval | None = None


def parse_stream(name: str, symbols: Mapping[str, Symbol]) -> Stream | None:
    """Return the stream with this name, or None. Names are in lower case."""
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


class Span(NamedTuple):
    """A time span after `start_ms`, up to and including `end_ms`."""

    start_ms: int
    end_ms: int


class Event(NamedTuple):
    """One event in wire format, without an envelope. It also has the number of its update IDs."""

    text: str
    ids: int = 1


@dataclass(frozen=True, slots=True)
class Depth:
    """A snapshot of the book, best levels first."""

    update_id: int
    bids: list[Level]
    asks: list[Level]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a book in a span: the range of update IDs, and the last quantity of each changed level."""

    first_id: int
    last_id: int
    bids: dict[int, int]
    asks: dict[int, int]


class Tape(Protocol):
    """The trades of a symbol, accessible by time and by ID."""

    def until(self, now_ms: int) -> int:
        """Return the time before which all trades are visible at `now_ms`."""
        ...

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        ...

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        ...

    def time_of_trade(self, identity: int) -> int:
        """Return a time at or shortly before that of the trade."""
        ...

    def time_of_aggregate(self, identity: int) -> int:
        """Return a time at or shortly before that of the aggregate trade."""
        ...


class Chronicle(Protocol):
    """Candles of a symbol over any time span."""

    @property
    def symbol(self) -> Symbol: ...

    @property
    def ended_ms(self) -> int | None: ...

    def until(self, now_ms: int) -> int:
        """Return the time before which all trades are visible at `now_ms`."""
        ...

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Return one candle for the trades with start <= time < end, or None if there are none."""
        ...

    def last(self, end_ms: int) -> Trade | None:
        """Return the newest trade before `end_ms`."""
        ...

    def price_at(self, hour: int) -> int:
        """Return the price in ticks at a full hour."""
        ...


class Source(Protocol):
    """Source of a symbol's book and trades. Candles and 24-hour statistics still come from the simulated market."""

    @property
    def unit(self) -> Symbol:
        """The symbol, with this source's tick and lot."""
        ...

    @property
    def tape(self) -> Tape: ...

    def top(self, now_ms: int) -> Top | None:
        """Return the best bid and ask."""
        ...

    def update_id(self, now_ms: int) -> int:
        """Return the ID of the newest change to the book."""
        ...

    def depth(self, limit: int, now_ms: int) -> Depth:
        """Return up to `limit` levels per side."""
        ...

    def changes(self, start_ms: int, end_ms: int) -> Changes | None:
        """Return the changes after `start_ms`, up to and including `end_ms`, or None if there are none."""
        ...

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        """Return the events of a stream in this source's own format. Return None if they are generated as usual."""
        ...


Sources = dict[str, Source]
Said = Lru[tuple[str, Span], tuple[Event, ...]]
