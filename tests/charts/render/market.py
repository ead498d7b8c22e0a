"""A seeded market for the pictures: candles at any price, with trends, bursts and quiet."""

import math
import random
from decimal import Decimal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
END_MS = 1_794_693_600_000  # 2026-11-14 22:00 UTC


def candle(at_ms: int, span_ms: int, prices: tuple[Decimal, Decimal, Decimal, Decimal], volume: Decimal) -> Candle:
    opened, high, low, close = (Price(each) for each in prices)
    return Candle(
        open_time_ms=at_ms,
        close_time_ms=at_ms + span_ms - 1,
        open=opened,
        high=high,
        low=low,
        close=close,
        volume=Quantity(volume),
        quote_volume=Quantity(volume * (high + low) / 2),
        trade_count=1,
        taker_buy_volume=Quantity(volume / 2),
    )


def market(
    *,
    bars: int = 460,
    price: float = 68_000.0,
    decimals: int = 2,
    seed: int = 7,
    step_ms: int = HOUR_MS,
    volatility: float = 0.006,
    drift: float = 0.0,
) -> list[Candle]:
    """Return candles that end at the price, or near it, on a grid of ticks; trends come and go."""
    chance, level = random.Random(seed), volatility
    moves: list[tuple[float, float, float, float]] = []
    for bar in range(bars):
        level = min(max(level * math.exp(chance.gauss(0, 0.15)), volatility * 0.4), volatility * 2.2)
        tide = math.sin(bar / 23.0) * volatility * 0.35 + drift
        moves.append((chance.gauss(tide, level), abs(chance.gauss(0, level * 0.45)), abs(chance.gauss(0, level * 0.45)),
                      abs(chance.gauss(1, 0.35)) * (1 + 60 * level)))  # fmt: skip
    at = math.log(price) - sum(move for move, _, _, _ in moves)
    tick = Decimal(1).scaleb(-decimals)
    candles: list[Candle] = []
    last = _tick(math.exp(at), tick)
    for bar, (move, over, under, traded) in enumerate(moves):
        at += move
        opened, close = last, _tick(math.exp(at), tick)
        high = max(opened, close, _tick(float(max(opened, close)) * (1 + over), tick))
        low = max(tick, min(opened, close, _tick(float(min(opened, close)) * (1 - under), tick)))
        volume = Decimal(round(traded * (1 + abs(move) / volatility) * 8e7 / price)) / 1000
        start = END_MS - (bars - 1 - bar) * step_ms
        candles.append(candle(start, step_ms, (opened, high, low, close), volume))
        last = close
    return candles


def _tick(price: float, tick: Decimal) -> Decimal:
    return max(tick, (Decimal(repr(price)) / tick).to_integral_value() * tick)
