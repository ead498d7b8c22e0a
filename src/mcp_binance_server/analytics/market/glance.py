"""Key figures of a market: spread, depth near the mid, taker flow, and cost of market orders."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.book.cost import MarketOrderCost
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.metrics import BandImbalance, TopOfBook, imbalance_of_band, top_of_book
from mcp_binance_server.analytics.book.report import BookView
from mcp_binance_server.analytics.market.minute import NEAR_BPS
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.periods import Candle

# Window of the taker flow at the top of every page of a live market. The default of order_flow_trading is the same.
FLOW_MS = 300_000


@dataclass(frozen=True, slots=True)
class TakerFlow:
    """Taker buys and sells within a window, in the base asset."""

    bought: float
    sold: float
    trades: int
    window_ms: int
    to_ms: int

    @property
    def bought_share(self) -> float | None:
        total = self.bought + self.sold
        return self.bought / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchReport:
    """One book: best prices, depth within 10 bps, and the size that a market order can fill cheaply."""

    top: TopOfBook
    band: BandImbalance
    cost: MarketOrderCost | None
    is_live: bool
    as_of_ms: int
    age_ms: int
    levels: tuple[int, int]
    is_stale: bool = False
    silent_since_ms: int | None = None
    """Time of the newest change, if it is unusually long ago."""


def touch_of(view: BookView, cost: MarketOrderCost | None) -> TouchReport:
    """Describe the best prices and the depth of a book that was just read."""
    bids, asks = view.snapshot.bids, view.snapshot.asks
    top = top_of_book(bids, asks)
    return TouchReport(
        top=top,
        band=near_band(view, top, PriceGrid.of(view.rules)),
        cost=cost,
        is_live=view.is_live,
        as_of_ms=view.as_of_ms,
        age_ms=view.age_ms,
        levels=(len(bids), len(asks)),
        is_stale=view.is_stale,
        silent_since_ms=view.silent_since_ms,
    )


def near_band(view: BookView, top: TopOfBook, grid: PriceGrid) -> BandImbalance:
    """Compute the depth of both sides within 10 bps of the mid, or within three ticks if that is wider."""
    bps = NEAR_BPS if top.mid is None else 10_000 * grid.band(top.mid, NEAR_BPS) / top.mid
    return imbalance_of_band(view.snapshot.bids, view.snapshot.asks, bps)


def flow_of_tape(trades: Sequence[Trade], window_ms: int, to_ms: int) -> TakerFlow:
    """Sum the trades of a window. `trades` must hold all of them."""
    bought = sum(float(each.quantity) for each in trades if not each.buyer_is_maker)
    sold = sum(float(each.quantity) for each in trades if each.buyer_is_maker)
    # Count fills, as candles do: one aggregate trade holds all fills of an order at one price.
    return TakerFlow(bought, sold, sum(each.last_id - each.first_id + 1 for each in trades), window_ms, to_ms)


def flow_of_bars(bars: Sequence[Candle], window_ms: int, to_ms: int) -> TakerFlow:
    """Sum the taker volumes of bars. They are exact."""
    bought = sum(float(each.taker_buy_volume) for each in bars)
    volume = sum(float(each.volume) for each in bars)
    return TakerFlow(bought, volume - bought, sum(each.trade_count for each in bars), window_ms, to_ms)
