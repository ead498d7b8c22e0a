"""Tickers, trades, quotes and order books, and answers with their source and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Generic, Literal, NamedTuple, TypeVar

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle, Interval, Period
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

ValueT = TypeVar("ValueT")
OtherT = TypeVar("OtherT")
Origin = Literal["configured", "rerouted", "simulated", "streamed", "simulated_stream"]

# Price and quantity as the exchange wrote them.
WrittenLevel = tuple[str, str]

# Maximum number of candles in one answer of the exchange.
MOST_CANDLES = 1000


@dataclass(frozen=True, slots=True)
class Sourced(Generic[ValueT]):
    """A value and its source: the configured host, a fallback host, or the offline exchange.

    A value from a market stream has an origin of its own.
    """

    value: ValueT
    host: str
    origin: Origin
    at_ms: int
    """The exchange's time at the request. The value is at least as new."""

    def holding(self, value: OtherT) -> "Sourced[OtherT]":
        """Return another value from the same source."""
        return Sourced(value, self.host, self.origin, self.at_ms)


@dataclass(frozen=True, slots=True)
class Ticker:
    """Statistics of the last 24 hours."""

    symbol: Symbol
    last_price: Price
    change: Price
    change_percent: Decimal
    open_price: Price
    high: Price
    low: Price
    weighted_average: Price
    volume: Quantity
    quote_volume: Quantity
    bid: Price
    ask: Price
    trade_count: int
    open_time_ms: int
    close_time_ms: int

    @property
    def has_traded(self) -> bool:
        return self.trade_count > 0


@dataclass(frozen=True, slots=True)
class MarketView:
    """A ticker, the rules of its symbol, the host that answered, and the age of the data.

    `reading` is set on pages that measure everything from one price. On these pages the ticker's last price is that
    price.
    """

    ticker: Ticker
    rules: SymbolRules
    host: str
    origin: Origin
    age_ms: int
    reading: PriceReading | None = None

    @property
    def last_trade(self) -> Price:
        """Price of the last trade, even on a page that measures from another price."""
        return self.ticker.last_price if self.reading is None else self.reading.last


@dataclass(frozen=True, slots=True)
class Quote:
    """Best bid and ask at one moment."""

    symbol: Symbol
    bid: Price
    bid_quantity: Quantity
    ask: Price
    ask_quantity: Quantity


@dataclass(frozen=True, slots=True)
class Trade:
    """One trade. An aggregate trade covers the trades `first_id` to `last_id`."""

    trade_id: int
    price: Price
    quantity: Quantity
    time_ms: int
    buyer_is_maker: bool
    first_id: int
    last_id: int


class PriceLevel(NamedTuple):
    """Quantity at one price."""

    price: Price
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class BookSnapshot:
    """Price levels of both sides, best first, as of one update ID."""

    last_update_id: int
    bids: tuple[PriceLevel, ...]
    asks: tuple[PriceLevel, ...]


@dataclass(frozen=True, slots=True)
class BookDelta:
    """Book changes of the updates `first_update_id` to `last_update_id`. A quantity of zero removes a level."""

    first_update_id: int
    last_update_id: int
    event_ms: int
    bids: Sequence[WrittenLevel]
    asks: Sequence[WrittenLevel]


@dataclass(frozen=True, slots=True)
class Observation(Generic[ValueT]):
    """A value of one symbol, with the symbol's rules, the host that answered, and the exchange's time."""

    value: ValueT
    rules: SymbolRules
    host: str
    origin: Origin
    at_ms: int


@dataclass(frozen=True, slots=True)
class TickerBoard:
    """Tickers of several symbols in the order of the request, and the symbols that the answer lacked."""

    views: tuple[MarketView, ...]
    missing: tuple[Symbol, ...]
    host: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class AveragePrice:
    """The exchange's average price, its window in minutes, and the time of the last trade in that window."""

    price: Price
    minutes: int
    last_trade_ms: int


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """Comparison of the exchange's clock with the local clock at the arrival of an answer, and the round-trip time."""

    exchange_ms: int
    ours_ms: int
    round_trip_ms: int

    @property
    def difference_ms(self) -> int:
        """Lead of the local clock over the exchange's clock. It is negative if the local clock is behind."""
        return self.ours_ms - self.exchange_ms


@dataclass(frozen=True, slots=True)
class CandleSeries:
    """The newest candles of a period, oldest first. `has_older` means that the period holds more."""

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
            # If the period is shorter than a candle, return the candle that contains it.
            inside = [candle for candle in answered[-1:] if candle.close_time_ms >= start_ms]
        kept = tuple(inside[-limit:])
        is_full = len(inside) == MOST_CANDLES and inside[0].open_time_ms > start_ms
        return cls(interval, kept, limit, period, has_older=len(inside) > limit or is_full)

    @property
    def has_gaps(self) -> bool:
        return any(before.close_time_ms + 1 != after.open_time_ms for before, after in pairwise(self.candles))
