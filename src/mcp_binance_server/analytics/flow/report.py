"""Taker flow over the whole seconds of a window. Trades and candles give equal figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from mcp_binance_server.analytics.book.impact import KyleLambda, PaidSpread
from mcp_binance_server.analytics.flow.book_events import OrderFlowImbalance, QueueFlow
from mcp_binance_server.analytics.flow.direction import FlowDirection
from mcp_binance_server.analytics.flow.volume import (
    LargeTrades,
    SecondFlow,
    SignedFlow,
    flow_of_candles,
    flow_of_trades,
    seconds_of_candles,
    seconds_of_trades,
)
from mcp_binance_server.analytics.flow.vpin import Vpin
from mcp_binance_server.analytics.market.glance import TakerFlow, TouchReport
from mcp_binance_server.analytics.metric import Source, Unknown, Window
from mcp_binance_server.analytics.swings import find_swings
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.price_reading import PriceReading, contradicts
from mcp_binance_server.domain.symbols import SymbolRules

SECOND_MS = 1_000
_NONE = Quantity(Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSample:
    """Exact volumes by aggressor, in total and per second. `gaps` counts the unknown seconds in the window."""

    window: Window
    bought: Quantity
    sold: Quantity
    flow: SignedFlow
    seconds: tuple[SecondFlow, ...]
    trades: int
    gaps: int
    source: Source

    @property
    def known_ms(self) -> int:
        return self.window.to_ms - self.window.from_ms - self.gaps * SECOND_MS


class LevelRates(NamedTuple):
    """Mean number of level updates per second on each side over `seconds` seconds. Removals count."""

    bids: float
    asks: float
    seconds: int


@dataclass(frozen=True, slots=True)
class References:
    """Reference prices for a trade: the last swing low and high of one-minute bars, and the value area of the day."""

    swing_low: Price | None
    swing_high: Price | None
    val: Price | None
    vah: Price | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """Order flow of one window. Only pages request `references`, and only the tool requests VPIN."""

    rules: SymbolRules
    requested_ms: int
    sample: FlowSample
    direction: FlowDirection
    large: LargeTrades | Unknown
    ofi: OrderFlowImbalance | Unknown
    queues: QueueFlow | None
    paid: PaidSpread | Unknown
    impact: KyleLambda | Unknown
    rates: LevelRates | Unknown
    now_ms: int
    mid: float | None = None
    vpin: Vpin | Unknown | None = None
    references: References | None = None
    reading: PriceReading | None = None
    touch: TouchReport | None = None
    """The best bid and ask next to the flow; only a page shows them."""
    closed_ms: int | None = None
    """End of the bars that the references come from."""
    close: Price | None = None
    """Close of the newest of these bars, to compare with the book."""
    missing: tuple[str, ...] = ()
    thresholds: Thresholds = DEFAULTS

    @property
    def is_contradictory(self) -> bool:
        return contradicts(self.close, self.touch.top.middle if self.touch else None)

    @property
    def taken(self) -> TakerFlow | None:
        """Summary of the flow, or None if no second of the window is known."""
        sample = self.sample
        if not sample.known_ms:
            return None
        window_ms = sample.window.to_ms - sample.window.from_ms
        return TakerFlow(float(sample.bought), float(sample.sold), sample.trades, window_ms, sample.window.to_ms)

    @property
    def coverage(self) -> float:
        return self.sample.known_ms / self.requested_ms


def sample_of_trades(trades: Sequence[Trade], window: Window) -> FlowSample:
    """Sum the trades of a window. `trades` must hold all of them."""
    bought = sum((each.quantity for each in trades if not each.buyer_is_maker), _NONE)
    sold = sum((each.quantity for each in trades if each.buyer_is_maker), _NONE)
    return FlowSample(
        window=window,
        bought=Quantity(bought),
        sold=Quantity(sold),
        flow=flow_of_trades(trades),
        seconds=tuple(seconds_of_trades(trades)),
        # Count fills, as candles do: one aggregate trade holds all fills of an order at one price.
        trades=sum(each.last_id - each.first_id + 1 for each in trades),
        gaps=0,
        source="aggTrade",
    )


def sample_of_candles(candles: Sequence[Candle], window: Window) -> FlowSample:
    """Sum one-second candles. If the first ones are missing, the window starts later."""
    inside = [each for each in candles if window.from_ms <= each.open_time_ms < window.to_ms]
    known = Window(inside[0].open_time_ms if inside else window.to_ms, window.to_ms)
    bought = sum((each.taker_buy_volume for each in inside), _NONE)
    volume = sum((each.volume for each in inside), _NONE)
    return FlowSample(
        window=known,
        bought=Quantity(bought),
        sold=Quantity(volume - bought),
        flow=flow_of_candles(inside),
        seconds=tuple(seconds_of_candles(inside)),
        trades=sum(each.trade_count for each in inside),
        gaps=(known.to_ms - known.from_ms) // SECOND_MS - len(inside),
        source="klines_1s",
    )


def reference_levels(
    minutes: Sequence[Candle],
    val: Price | None,
    vah: Price | None,
    *,
    price: Price | None = None,
    thresholds: Thresholds = DEFAULTS,
) -> References:
    """Return the last swing low and high of one-minute bars, and the value area.

    Levels on the wrong side of the price are left out. The default price is the close of the newest bar.
    """
    swings = find_swings(minutes, thresholds.swing_side)
    last = price if price is not None or not minutes else minutes[-1].close
    lows = [minutes[at].low for at in swings.lows]
    highs = [minutes[at].high for at in swings.highs]
    return References(
        next((each for each in reversed(lows) if last is not None and each < last), None),
        next((each for each in reversed(highs) if last is not None and each > last), None),
        val if val is not None and last is not None and val < last else None,
        vah if vah is not None and last is not None and vah > last else None,
    )
