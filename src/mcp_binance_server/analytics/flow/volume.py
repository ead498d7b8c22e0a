"""Taker volume: volume by side, balance over a window, and unusually large trades."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.periods import Candle

FlowMethod = Literal["trade_flags", "klines_taker_volume"]


class SecondFlow(NamedTuple):
    """Taker buys and sells of one second, and the number of trades."""

    second: int
    buy: float
    sell: float
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedFlow:
    """Base volume by aggressor.

    Without trades the volumes are 0 and the ratios are None. The cumulative delta is relative to the start of the
    window.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTrades:
    """Trades of a window whose value reaches a high percentile of earlier trades.

    `of_window` means that there were too few earlier trades. Then the percentile comes from the window itself, and
    `expected` is None.
    """

    threshold_quote: float | None = None
    buys: int | None = None
    sells: int | None = None
    signed_quote: float | None = None
    expected: float | None = None
    n: int
    reference_n: int
    of_window: bool = False
    why_null: WhyNull | None = None


def flow_of_trades(trades: Sequence[Trade]) -> SignedFlow:
    """Sum trades by aggressor. If the buyer was the maker, the seller was the aggressor."""
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
    """Sum the taker volumes of candles. They are as exact as trades, but have no quote value by side."""
    buy = sum(float(each.taker_buy_volume) for each in candles)
    sell = sum(float(each.volume - each.taker_buy_volume) for each in candles)
    quote = sum(float(each.quote_volume) for each in candles)
    n = sum(each.trade_count for each in candles)
    return _signed(buy, sell, quote, delta_quote=None, n=n, buys=None, method="klines_taker_volume")


def cvd_path(trades: Iterable[Trade]) -> list[float]:
    """Return the cumulative volume delta after each trade."""
    return list(accumulate(-float(each.quantity) if each.buyer_is_maker else float(each.quantity) for each in trades))


def seconds_of_trades(trades: Iterable[Trade]) -> list[SecondFlow]:
    """Group trades by second in time order. Seconds without trades are left out."""
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
    """Convert one-second candles to flow. Seconds without trades are left out."""
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


def large_trades(
    trades: Sequence[Trade], before: Sequence[Trade] = (), *, thresholds: Thresholds = DEFAULTS
) -> LargeTrades:
    """Count the trades that reach a percentile of earlier trade values, and the count expected by chance."""
    of_window = len(before) < thresholds.large_trade_min_n
    reference = sorted(map(_value, trades if of_window else before))
    n, known = len(trades), len(reference)
    if known < thresholds.large_trade_min_n:
        return LargeTrades(n=n, reference_n=known, of_window=True, why_null="insufficient_events")
    least = reference[-(-known * thresholds.large_trade_percentile // 100) - 1]
    signed = [(-1 if each.buyer_is_maker else 1) * _value(each) for each in trades]
    large = [each for each in signed if abs(each) >= least]
    buys = sum(each > 0 for each in large)
    return LargeTrades(
        threshold_quote=least,
        buys=buys,
        sells=len(large) - buys,
        signed_quote=sum(large),
        expected=None if of_window else n * sum(each >= least for each in reference) / known,
        n=n,
        reference_n=known,
        of_window=of_window,
    )


def _value(trade: Trade) -> float:
    return float(trade.price) * float(trade.quantity)


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
