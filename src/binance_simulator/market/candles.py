"""Candles, and the division of a candle into finer ones."""

from collections.abc import Iterable
from typing import NamedTuple

from binance_simulator.market.noise import draws, shares, signed_unit

LEAST_LOTS = 200  # per side and minute
LEAST_AGGREGATES = 10  # per minute: open, high, low, close, and three more per side

# Limit on the value of each side. The extremes of a value are all lots at the low, and all lots at the high. The value
# must be at least range/ROOM away from both. Then each minute can have trades at its open, high, low and close. If a
# candle keeps this limit, so do its parts.
ROOM = 10


class Candle(NamedTuple):
    """A candle: the trades of a time span. Value is ticks times lots. `buy` and `sell` are the taker's side."""

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
    """One trade. Trades of one aggregate have the same price, side and time."""

    id: int
    aggregate: int
    price: int
    lots: int
    time_ms: int
    buyer_is_maker: bool


def merge(candles: Iterable[Candle]) -> Candle | None:
    """Merge consecutive candles into one. Return None if there are none."""
    parts = list(candles)
    if len(parts) < 2:
        return parts[0] if parts else None
    columns = list(zip(*parts, strict=True))
    starts, opens, highs, lows, closes = columns[:5]
    totals = [sum(column) for column in columns[5:11]]
    first_aggregates, first_trades = columns[11:]
    ends = (starts[0], opens[0], max(highs), min(lows), closes[-1])
    return Candle._make((*ends, *totals, first_aggregates[0], first_trades[0]))


def fold(start_ms: int, trades: list[Trade]) -> Candle | None:
    """Return one candle for the trades, or None if there are none."""
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


def refine(whole: Candle, count: int, minutes: int, *key: str | int) -> tuple[Candle, ...]:
    """Split a candle into `count` candles of `minutes` minutes. The key consists of seed and symbol."""
    noise = draws(count * 7, *key, "refine", minutes, whole.start_ms)
    rows = [noise[row * count : (row + 1) * count] for row in range(7)]
    bought = shares(whole.buy_lots, [100 + draw % 300 for draw in rows[0]], LEAST_LOTS * minutes)
    sold = shares(whole.sell_lots, [100 + draw % 300 for draw in rows[1]], LEAST_LOTS * minutes)
    grouped = shares(whole.aggregates, [70 + draw % 60 for draw in rows[2]], LEAST_AGGREGATES * minutes)
    further = shares(whole.trades - whole.aggregates, [70 + draw % 60 for draw in rows[3]], 0)
    lots = [buy + sell for buy, sell in zip(bought, sold, strict=True)]
    path = _path(whole, lots, rows[4])
    highs, lows = _ranges(whole, path, rows[5], rows[6])
    _widen(whole, highs, lows, [(whole.buy_value, bought), (whole.sell_value, sold)])
    buy_values = _values(whole.buy_value, bought, highs, lows)
    sell_values = _values(whole.sell_value, sold, highs, lows)
    candles: list[Candle] = []
    aggregate, trade = whole.first_aggregate, whole.first_trade
    for part in range(count):
        trades = grouped[part] + further[part]
        candles.append(
            Candle(
                whole.start_ms + part * minutes * 60_000,
                path[part],
                highs[part],
                lows[part],
                path[part + 1],
                bought[part],
                buy_values[part],
                sold[part],
                sell_values[part],
                grouped[part],
                trades,
                aggregate,
                trade,
            )
        )
        aggregate += grouped[part]
        trade += trades
    return tuple(candles)


def _path(whole: Candle, lots: list[int], noise: tuple[int, ...]) -> list[int]:
    count = len(lots)
    stride = (whole.high - whole.low) * 1.1 / count**0.5
    height, heights = 0.0, [0.0]
    for draw in noise:
        height += stride * signed_unit(draw)
        heights.append(height)
    drift = whole.close - whole.open - height
    path = [whole.open + heights[part] + drift * part / count for part in range(count + 1)]
    # Bend the path towards the average price of the whole, so that the values add up without long wicks.
    mean = sum(weight * (path[part] + path[part + 1]) for part, weight in enumerate(lots)) / (2 * whole.lots)
    lift = whole.value / whole.lots - mean
    bent = [
        min(whole.high, max(whole.low, round(price + 6 * lift * part * (count - part) / count**2)))
        for part, price in enumerate(path)
    ]
    bent[0], bent[-1] = whole.open, whole.close
    return bent


def _ranges(
    whole: Candle, path: list[int], ups: tuple[int, ...], downs: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    count = len(ups)
    reach = 1 + (whole.high - whole.low) // count
    highs = [min(whole.high, max(path[part : part + 2]) + draw % reach) for part, draw in enumerate(ups)]
    lows = [max(whole.low, min(path[part : part + 2]) - draw % reach) for part, draw in enumerate(downs)]
    highs[highs.index(max(highs))] = whole.high
    lows[lows.index(min(lows))] = whole.low
    return highs, lows


def _widen(whole: Candle, highs: list[int], lows: list[int], sides: list[tuple[int, list[int]]]) -> None:
    # The loop ends at the latest when each part has the range of the whole, because the whole keeps the bound of ROOM.
    settled = False
    while not settled:
        settled = True
        for value, lots in sides:
            least, most = _bounds(lots, highs, lows)
            if value > most:
                settled = False
                full = _bounds(lots, [whole.high] * len(highs), lows)[1]
                _stretch(highs, whole.high, value - most + len(lots), full - most)
            if value < least:
                settled = False
                full = _bounds(lots, highs, [whole.low] * len(lows))[0]
                _stretch(lows, whole.low, least - value + len(lots), least - full)


def _stretch(edges: list[int], limit: int, missing: int, possible: int) -> None:
    share, total = (missing, possible) if missing < possible else (1, 1)
    for part, edge in enumerate(edges):
        gap = abs(limit - edge)
        moved = -(-gap * share // total)
        edges[part] = edge + moved if limit > edge else edge - moved


def _bounds(lots: list[int], highs: list[int], lows: list[int]) -> tuple[int, int]:
    least = most = 0
    for weight, high, low in zip(lots, highs, lows, strict=True):
        room = (high - low) * weight // ROOM
        least += low * weight + room
        most += high * weight - room
    return least, most


def _values(value: int, lots: list[int], highs: list[int], lows: list[int]) -> list[int]:
    least = [low * weight + (high - low) * weight // ROOM for weight, high, low in zip(lots, highs, lows, strict=True)]
    most = [high * weight - (high - low) * weight // ROOM for weight, high, low in zip(lots, highs, lows, strict=True)]
    spare, room = value - sum(least), sum(most) - sum(least)
    values = [low + (high - low) * spare // max(1, room) for low, high in zip(least, most, strict=True)]
    rest = value - sum(values)
    for part, limit in enumerate(most):
        step = min(rest, limit - values[part])
        values[part] += step
        rest -= step
    return values
