"""Our levels that stand out, asked by the yardstick."""

from decimal import Decimal

from calibration.turns import Turns
from mcp_binance_server.analytics.indicators.basic import atr, latest
from mcp_binance_server.analytics.trend.support import support_and_resistance
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle

HOUR_MS = 3_600_000
TICK = Price(Decimal("0.01"))
ONE = Quantity(Decimal(1))


def standing_out(walk: Turns) -> list[tuple[float, float]]:
    """Return the levels that stand out, each with half an ATR as its reach."""
    candles = list[Candle]()
    opened = walk.bars[0].close
    for at, (high, low, close) in enumerate(walk.bars):
        prices = (Price(Decimal(f"{each:.2f}")) for each in (opened, high, low, close))
        candles.append(_candle(at, *prices))
        opened = close
    unit = latest(atr(candles, 14))
    assert unit is not None
    found = support_and_resistance(
        candles,
        candles[-1].close,
        unit,
        high_24h=max(each.high for each in candles[-24:]),
        low_24h=min(each.low for each in candles[-24:]),
        profile=None,
        tick=TICK,
    )
    return [(float(each.price), unit / 2) for each in found.clusters if each.stands_out]


def _candle(at: int, opened: Price, high: Price, low: Price, close: Price) -> Candle:
    return Candle(at * HOUR_MS, (at + 1) * HOUR_MS - 1, opened, high, low, close, ONE, ONE, 1, ONE)
