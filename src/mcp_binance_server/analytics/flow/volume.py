"""What takers bought and sold: volumes by side, their balance over a window, and the trades that stand out by size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.periods import Candle

FlowMethod = Literal["trade_flags", "klines_taker_volume"]


class SecondFlow(NamedTuple):
    """What takers bought and sold within one second, and in how many trades."""

    second: int
    buy: float
    sell: float
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedFlow:
    """Base volumes by aggressor; the volumes of no trades are a true 0, their ratios are unknown.

    The cumulative delta has no level, only a change since the window began.
    """

    buy: float
    sell: float
    cvd: float | None
    cvd_quote: float | None
    buy_ratio: float | None
    imbalance: float | None
    vwap: float | None
    n: int
    n_buy: int | None
    method: FlowMethod
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class LargeTrades:
    """The trades of a window that are large for it and large at all; size is all that is known about them."""

    threshold_quote: float | None
    buys: int | None
    sells: int | None
    signed_quote: float | None
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, per second and per trade."""

    per_second: float | None
    per_trade: float | None
    why_null: WhyNull | None = None


def flow_of_trades(trades: Sequence[Trade]) -> SignedFlow:
    """Add up trades by their exact flag: where the buyer was the maker, the seller was the aggressor."""
    buy = sell = buy_quote = sell_quote = 0.0
    buys = 0
    for trade in trades:
        quantity = float(trade.quantity)
        if trade.buyer_is_maker:
            sell += quantity
            sell_quote += quantity * float(trade.price)
        else:
            buy += quantity
            buy_quote += quantity * float(trade.price)
            buys += 1
    quote, delta = buy_quote + sell_quote, buy_quote - sell_quote
    return _signed(buy, sell, quote, delta_quote=delta, n=len(trades), buys=buys, method="trade_flags")


def flow_of_candles(candles: Sequence[Candle]) -> SignedFlow:
    """Add up the taker volumes of candles: as exact as trades, but without the value of each side."""
    buy = sum(float(each.taker_buy_volume) for each in candles)
    sell = sum(float(each.volume - each.taker_buy_volume) for each in candles)
    quote = sum(float(each.quote_volume) for each in candles)
    n = sum(each.trade_count for each in candles)
    return _signed(buy, sell, quote, delta_quote=None, n=n, buys=None, method="klines_taker_volume")


def cvd_path(trades: Iterable[Trade]) -> list[float]:
    """Return the cumulative volume delta after each trade."""
    return list(accumulate(-float(each.quantity) if each.buyer_is_maker else float(each.quantity) for each in trades))


def seconds_of_trades(trades: Iterable[Trade]) -> list[SecondFlow]:
    """Gather trades by second, in order of time; a second without trades is absent."""
    rows: dict[int, SecondFlow] = {}
    for trade in trades:
        second = trade.time_ms // 1000
        buy, sell = (0.0, float(trade.quantity)) if trade.buyer_is_maker else (float(trade.quantity), 0.0)
        before = rows.get(second)
        if before is not None:
            buy, sell = buy + before.buy, sell + before.sell
        rows[second] = SecondFlow(second, buy, sell, before.trades + 1 if before else 1)
    return [rows[second] for second in sorted(rows)]


def seconds_of_candles(candles: Iterable[Candle]) -> list[SecondFlow]:
    """Return one-second candles as flow; a second without trades is left out."""
    return [
        SecondFlow(
            each.open_time_ms // 1000,
            float(each.taker_buy_volume),
            float(each.volume - each.taker_buy_volume),
            each.trade_count,
        )
        for each in candles
        if each.volume
    ]


def large_trades(trades: Sequence[Trade], *, thresholds: Thresholds = DEFAULTS) -> LargeTrades:
    """Count the trades at or above both the window's percentile of value and the fixed floor."""
    n = len(trades)
    if n < thresholds.large_trade_min_n:
        return LargeTrades(None, None, None, None, n, "insufficient_events")
    signed = [(-1 if each.buyer_is_maker else 1) * float(each.price) * float(each.quantity) for each in trades]
    rank = -(-n * thresholds.large_trade_percentile // 100)
    least = max(sorted(map(abs, signed))[rank - 1], thresholds.large_trade_quote)
    large = [each for each in signed if abs(each) >= least]
    buys = sum(each > 0 for each in large)
    return LargeTrades(least, buys, len(large) - buys, sum(large), n)


def rate(events: int, seconds: float, trades: int) -> Rate:
    """Spread a count over a window, and over its trades where there were any."""
    if seconds <= 0:
        return Rate(None, None, "no_events")
    return Rate(events / seconds, events / trades if trades else None, None if trades else "no_trades")


def _signed(
    buy: float, sell: float, quote: float, *, delta_quote: float | None, n: int, buys: int | None, method: FlowMethod
) -> SignedFlow:
    total = buy + sell
    if not total:
        return SignedFlow(
            buy=0.0, sell=0.0, cvd=None, cvd_quote=None, buy_ratio=None, imbalance=None, vwap=None, n=n, n_buy=buys,
            method=method, why_null="no_trades",
        )  # fmt: skip
    return SignedFlow(
        buy=buy,
        sell=sell,
        cvd=buy - sell,
        cvd_quote=delta_quote,
        buy_ratio=buy / total,
        imbalance=(buy - sell) / total,
        vwap=quote / total,
        n=n,
        n_buy=buys,
        method=method,
    )
