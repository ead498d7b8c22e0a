"""Bias, sentiment, labels and levels of the trading analysis, for one series of minutes."""

from decimal import Decimal

from calibration.candles import Floats, bars
from calibration.records import TrendWords
from mcp_binance_server.analytics.trend.levels import TradeLevels
from mcp_binance_server.analytics.trend.outlook import Outlook, Trend, judge
from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

MINUTE_MS, DAY = 60_000, 1_440
NAME = Symbol("XUSDT")
RULES = SymbolRules(
    NAME, "X", "USDT", "TRADING", Price(Decimal("0.01")), Quantity(Decimal("0.00001")), Quantity(Decimal(5))
)
ONE = Quantity(Decimal(1))


def trend(path: Floats) -> TrendWords:
    """Judge prices of minutes, of which the last 1,440 are the day, as the page does."""
    outlook = judge(
        _ticker(path),
        RULES,
        hourly=_candles(path, 60, 0),
        day_bars=_candles(path[-DAY - 1 :], 3, (len(path) - 1 - DAY) * MINUTE_MS),
        strategy="balanced",
        risk="medium",
    )
    assert isinstance(outlook.trend, Trend)
    assert outlook.levels is not None
    return TrendWords(
        bias={"up": 1, "down": -1}.get(outlook.trend.bias.direction or "", 0),
        sentiment={"bullish": 1, "bearish": -1}.get(outlook.day.sentiment, 0),
        false_resistance=outlook.target_level is not None and not _level_within(outlook, entry=False),
        false_support=outlook.entry_level is not None and not _level_within(outlook, entry=True),
        level_claim=any(each.stands_out for each in outlook.levels.clusters),
        levels=[(float(each.price), each.strength) for each in outlook.levels.clusters],
    )


def _level_within(outlook: Outlook, *, entry: bool) -> bool:
    """Look again, by the words of the rule: a quarter of the ATR, or three ticks."""
    assert isinstance(outlook.trend, Trend)
    assert isinstance(outlook.by_range, TradeLevels)
    assert outlook.levels is not None
    assert outlook.trend.atr is not None
    by, reach = outlook.by_range, max(0.25 * outlook.trend.atr, 0.03)
    low, high = (by.entry_low, by.entry_high) if entry else (by.target, by.target)
    return any(float(low) - reach <= float(each.price) <= float(high) + reach for each in outlook.levels.clusters)


def _ticker(path: Floats) -> Ticker:
    day = path[-DAY - 1 :]
    last, opened = _price(path[-1]), _price(day[0])
    return Ticker(
        symbol=NAME,
        last_price=last,
        change=Price(last - opened),
        change_percent=(last / opened - 1) * 100,
        open_price=opened,
        high=_price(float(day.max())),
        low=_price(float(day.min())),
        weighted_average=_price(float(day.mean())),
        volume=ONE,
        quote_volume=ONE,
        bid=last,
        ask=Price(last + RULES.tick),
        trade_count=1_000,
        open_time_ms=(len(path) - 1 - DAY) * MINUTE_MS,
        close_time_ms=(len(path) - 1) * MINUTE_MS,
    )


def _candles(path: Floats, step: int, from_ms: int) -> list[Candle]:
    span_ms = step * MINUTE_MS
    return [
        Candle(
            open_time_ms=from_ms + at * span_ms,
            close_time_ms=from_ms + (at + 1) * span_ms - 1,
            open=_price(opened),
            high=_price(high),
            low=_price(low),
            close=_price(close),
            volume=ONE,
            quote_volume=ONE,
            trade_count=1,
            taker_buy_volume=ONE,
        )
        for at, (opened, high, low, close) in enumerate(zip(*bars(path, step), strict=True))
    ]


def _price(value: float) -> Price:
    return Price(Decimal(f"{value:.2f}"))
