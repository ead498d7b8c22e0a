"""Sizes of one trade by plain numbers."""

from decimal import Decimal

from analytics.samples import price, quantity
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.analytics.trend.levels import TradeLevels
from mcp_binance_server.analytics.trend.size import NoOrder, OwnFunds, SizeBasis, SizedOrder, size_order
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel, Ticker
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

TAKER = Decimal("0.001")


def day(last: Decimal, volume: Decimal) -> Ticker:
    """Return a day of which only the last price and the volume matter."""
    at = price(last)
    return Ticker(
        symbol=Symbol("BTCUSDT"), last_price=at, change=price(0), change_percent=Decimal(0), open_price=at, high=at,
        low=at, weighted_average=at, volume=quantity(volume), quote_volume=quantity(0), bid=at, ask=at, trade_count=1,
        open_time_ms=0, close_time_ms=0,
    )  # fmt: skip


def sized(  # noqa: PLR0917 - one row of a table
    equity: Decimal, fraction: Decimal, low: Decimal, high: Decimal, stop: Decimal, step: Decimal, least: Decimal,
    free: Decimal, held: Decimal, ordered: Decimal, asks: Decimal, volume: Decimal, *, has_account: bool,
) -> SizedOrder | NoOrder:  # fmt: skip
    """Size a trade with the last price at the upper end of the band, and all asks at that price too."""
    levels = TradeLevels("24h_range", price(low), price(high), price(stop), price(high * 2), "range")
    rules = SymbolRules(
        Symbol("BTCUSDT"), "BTC", "USDT", "TRADING", price("0.01"), quantity(step), quantity(least),
        max_quantity=quantity(10**6),
    )  # fmt: skip
    own = OwnFunds(
        free=quantity(free), held=quantity(held), ordered=quantity(ordered), ordered_value=ordered * high, taker=TAKER
    )
    book = BookSnapshot(1, (), (PriceLevel(price(high), quantity(asks)),))
    basis = SizeBasis(book=book, equity=equity, funds=own if has_account else None)
    return size_order(levels, day(high, volume), rules, basis, fraction=fraction, ceiling=DEFAULTS.position_ceiling)
