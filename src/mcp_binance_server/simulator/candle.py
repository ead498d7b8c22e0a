"""What trades add up to, in ticks and lots: the one record every tier of the market is made of."""

from collections.abc import Iterable
from typing import NamedTuple


class Candle(NamedTuple):
    """Trades of a span of time; value is ticks times lots, buy and sell name the taker's side."""

    start_ms: int
    open: int
    high: int
    low: int
    close: int
    buy_lots: int
    buy_value: int
    sell_lots: int
    sell_value: int
    aggregates: int
    trades: int
    first_aggregate: int
    first_trade: int

    @property
    def lots(self) -> int:
        return self.buy_lots + self.sell_lots

    @property
    def value(self) -> int:
        return self.buy_value + self.sell_value


class Trade(NamedTuple):
    """One fill; trades of one aggregate share price, side and time."""

    id: int
    aggregate: int
    price: int
    lots: int
    time_ms: int
    buyer_is_maker: bool


def merge(candles: Iterable[Candle]) -> Candle | None:
    """Add candles up in order of time; None when there are none."""
    parts = list(candles)
    if not parts:
        return None
    columns = list(zip(*parts, strict=True))
    starts, opens, highs, lows, closes = columns[:5]
    totals = [sum(column) for column in columns[5:11]]
    first_aggregates, first_trades = columns[11:]
    ends = (starts[0], opens[0], max(highs), min(lows), closes[-1])
    return Candle._make((*ends, *totals, first_aggregates[0], first_trades[0]))


def fold(start_ms: int, trades: list[Trade]) -> Candle | None:
    """Add trades up; None when there are none."""
    if not trades:
        return None
    bought = [trade for trade in trades if not trade.buyer_is_maker]
    sold = [trade for trade in trades if trade.buyer_is_maker]
    prices = [trade.price for trade in trades]
    return Candle(
        start_ms,
        prices[0],
        max(prices),
        min(prices),
        prices[-1],
        sum(trade.lots for trade in bought),
        sum(trade.lots * trade.price for trade in bought),
        sum(trade.lots for trade in sold),
        sum(trade.lots * trade.price for trade in sold),
        trades[-1].aggregate - trades[0].aggregate + 1,
        len(trades),
        trades[0].aggregate,
        trades[0].id,
    )
