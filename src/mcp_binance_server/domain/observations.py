"""What a caller gets to see of the market: a value, whose rules it follows, who answered, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from mcp_binance_server.domain.market import MarketView, Origin
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle, Interval, Period
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

ValueT = TypeVar("ValueT")

# More than this the exchange does not answer at once.
MOST_CANDLES = 1000


@dataclass(frozen=True, slots=True)
class Observation(Generic[ValueT]):
    """A value of one symbol, the symbol's rules, who answered, and the exchange's time."""

    value: ValueT
    rules: SymbolRules
    host: str
    origin: Origin
    at_ms: int


@dataclass(frozen=True, slots=True)
class TickerBoard:
    """The tickers of several symbols, as asked for, and the symbols the exchange left out."""

    views: tuple[MarketView, ...]
    missing: tuple[Symbol, ...]
    host: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class AveragePrice:
    """The exchange's own average price, over how many minutes it takes it, and when the last trade of it was."""

    price: Price
    minutes: int
    last_trade_ms: int


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """The exchange's time when its answer arrived, ours at that moment, and how long asking took."""

    exchange_ms: int
    ours_ms: int
    round_trip_ms: int

    @property
    def difference_ms(self) -> int:
        """How far our clock is ahead of the exchange's; negative when it is behind."""
        return self.ours_ms - self.exchange_ms


@dataclass(frozen=True, slots=True)
class CandleSeries:
    """The newest candles of a period, oldest first, and whether the period holds older ones."""

    interval: Interval
    candles: tuple[Candle, ...]
    limit: int
    period: Period
    has_older: bool

    @classmethod
    def of(cls, interval: Interval, answered: Sequence[Candle], limit: int, period: Period) -> "CandleSeries":
        start_ms = period.start_ms or 0
        inside = [candle for candle in answered if candle.open_time_ms >= start_ms]
        if not inside:
            # A period shorter than a candle lies within one: better that one than nothing.
            inside = [candle for candle in answered[-1:] if candle.close_time_ms >= start_ms]
        kept = tuple(inside[-limit:])
        is_full = len(inside) == MOST_CANDLES and inside[0].open_time_ms > start_ms
        return cls(interval, kept, limit, period, has_older=len(inside) > limit or is_full)

    @property
    def has_gaps(self) -> bool:
        return any(before.close_time_ms + 1 != after.open_time_ms for before, after in pairwise(self.candles))
