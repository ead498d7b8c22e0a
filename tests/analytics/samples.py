"""Candles, walks, books and trades for the tests of the measures."""

import random
from collections.abc import Iterable, Sequence
from decimal import Decimal

from hypothesis import strategies as st

from mcp_binance_server.domain.market import PriceLevel, Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle

HOUR_MS = 3_600_000
Number = int | float | str | Decimal


def exact(number: Number) -> Decimal:
    return number if isinstance(number, Decimal) else Decimal(str(number))


def price(number: Number) -> Price:
    return Price(exact(number))


def quantity(number: Number) -> Quantity:
    return Quantity(exact(number))


def candle(
    opened: Number, high: Number, low: Number, close: Number, volume: Number = 1, *, at: int = 0, span_ms: int = HOUR_MS
) -> Candle:
    """Return bar number `at` of a series; what it traded for is volume times the middle of its range."""
    return Candle(
        open_time_ms=at * span_ms,
        close_time_ms=(at + 1) * span_ms - 1,
        open=price(opened),
        high=price(high),
        low=price(low),
        close=price(close),
        volume=quantity(volume),
        quote_volume=Quantity(exact(volume) * (exact(high) + exact(low)) / 2),
        trade_count=1,
        taker_buy_volume=Quantity(exact(volume) / 2),
    )


def walk(seed: int, bars: int = 600) -> list[Candle]:
    """Return a random walk in cents whose opens jump away from the close before in one bar of ten."""
    chance = random.Random(seed)
    last, candles = 10_000.0, list[Candle]()
    for at in range(bars):
        opened = last * (1 + (chance.gauss(0, 0.03) if chance.random() < 0.1 else 0))
        close = opened * (1 + chance.gauss(0, 0.01))
        high = max(opened, close) * (1 + abs(chance.gauss(0, 0.004)))
        low = min(opened, close) * (1 - abs(chance.gauss(0, 0.004)))
        cents = [Decimal(round(each)) / 100 for each in (opened, high, low, close)]
        candles.append(candle(*cents, volume=Decimal(chance.randrange(1, 10**6)) / 1000, at=at))
        last = max(close, 500.0)
    return candles


@st.composite
def bars(draw: st.DrawFn, low: int = 1, high: int = 10_000) -> tuple[int, int, int, int]:
    """Draw open, high, low and close of one bar, in whole ticks."""
    four = sorted(draw(st.lists(st.integers(low, high), min_size=4, max_size=4)))
    opened, close = draw(st.permutations(four[1:3]))
    return opened, four[3], four[0], close


@st.composite
def series(draw: st.DrawFn, min_size: int = 1, max_size: int = 40) -> list[Candle]:
    """Draw candles of whole prices and of volumes that may be zero."""
    shapes = draw(st.lists(bars(), min_size=min_size, max_size=max_size))
    volumes = draw(
        st.lists(st.decimals(min_value=0, max_value=10**6, places=8), min_size=len(shapes), max_size=len(shapes))
    )
    return [
        candle(*shape, volume=volume, at=at) for at, (shape, volume) in enumerate(zip(shapes, volumes, strict=True))
    ]


def levels(rows: Iterable[Sequence[Number]]) -> list[PriceLevel]:
    return [PriceLevel(price(each[0]), quantity(each[1])) for each in rows]


def trade(paid: Number, size: Number, *, sold: bool = False, at_ms: int = 0) -> Trade:
    """Return one print; `sold` when the seller was the aggressor, so the buyer was the maker."""
    return Trade(at_ms, price(paid), quantity(size), at_ms, buyer_is_maker=sold, first_id=at_ms, last_id=at_ms)


@st.composite
def books(draw: st.DrawFn, min_size: int = 1, max_size: int = 30) -> tuple[list[PriceLevel], list[PriceLevel]]:
    """Draw an uncrossed book in ticks of a cent: bids descending, asks ascending."""
    bid = draw(st.integers(5_000, 20_000))
    steps = st.lists(st.integers(1, 20), min_size=min_size, max_size=max_size)
    sizes = st.integers(1, 10**6)
    bids, at = list[PriceLevel](), bid
    for step in draw(steps):
        at -= step
        bids.append(PriceLevel(price(Decimal(at) / 100), quantity(Decimal(draw(sizes)) / 1000)))
    asks, at = list[PriceLevel](), bid
    for step in draw(steps):
        at += step
        asks.append(PriceLevel(price(Decimal(at) / 100), quantity(Decimal(draw(sizes)) / 1000)))
    return bids, asks
