"""Outlook of one symbol for a long trade: day, trend, and the levels of two rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from mcp_binance_server.analytics.indicators.basic import atr, closes, ema, latest, rsi
from mcp_binance_server.analytics.indicators.table import INDICATORS, SETTLED
from mcp_binance_server.analytics.indicators.talipp_adapter import vwap
from mcp_binance_server.analytics.liquidity.stops import Noise
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles
from mcp_binance_server.analytics.market.volatility import (
    RealisedVolatility,
    annualise,
    log_returns,
    realised_volatility,
)
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.analytics.trend.bias import Bias, find_bias, offers_entry
from mcp_binance_server.analytics.trend.day import DaySummary, summarise_day
from mcp_binance_server.analytics.trend.levels import NoLevels, TradeLevels, atr_levels, placeable, range_levels
from mcp_binance_server.analytics.trend.size import SizeReport
from mcp_binance_server.analytics.trend.support import Cluster, SupportResistance, support_and_resistance
from mcp_binance_server.domain.market import MarketView, Ticker
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import SymbolRules

HOUR_MS = 3_600_000
# Bars that a page reports on. Earlier bars only warm up the averages.
BARS = 200
# Bars in which levels are looked for and tested.
LEVEL_BARS = 1_000
LEAST_BARS = 15
FAST, SLOW, LONG, WILDER = 20, 50, 200, 14


@dataclass(frozen=True, slots=True)
class Trend:
    """Measures of the hourly bars. `expected` is the number of bars in a series without gaps."""

    ema_fast: float | None
    ema_slow: float | None
    ema_long: float | None
    vwap: float | None
    rsi: float | None
    atr: float | None
    volatility: RealisedVolatility
    annual_volatility: float | None
    bias: Bias
    bars: int
    expected: int
    to_ms: int
    warming: Mapping[str, float]  # remaining weight of the seed of each average, if not negligible


@dataclass(frozen=True, slots=True)
class TooFewBars:
    """A listing with too few bars for any statement."""

    bars: int
    needed: int = LEAST_BARS


@dataclass(frozen=True, slots=True)
class Outlook:
    """Complete outlook. Sections without data are None."""

    strategy: Strategy
    risk: RiskTolerance
    day: DaySummary
    by_range: TradeLevels | NoLevels
    buys: bool
    trend: Trend | TooFewBars | None
    profile: VolumeProfile | None
    levels: SupportResistance | None
    by_atr: TradeLevels | NoLevels | None
    risk_fraction: Decimal
    is_stale: bool = False
    """Whether the data are too old to be judged. Then no word is given for them."""
    noise: Noise | None = None
    """Usual move of the pair, or None if it could not be measured."""

    @property
    def entry_level(self) -> Cluster | None:
        """The support or resistance level in the entry band or near it."""
        band = self.by_range
        if self.levels is None or self.is_stale or isinstance(band, NoLevels):
            return None
        return self.levels.level_at(band.entry_low, band.entry_high)

    @property
    def target_level(self) -> Cluster | None:
        """The support or resistance level at the target or near it."""
        band = self.by_range
        if self.levels is None or self.is_stale or isinstance(band, NoLevels):
            return None
        return self.levels.level_at(band.target, band.target)


@dataclass(frozen=True, slots=True)
class TradingReport:
    """An outlook, its market, and the parts that could not be read."""

    view: MarketView
    outlook: Outlook
    size: SizeReport
    missing: tuple[str, ...]
    thresholds: Thresholds = DEFAULTS
    newest_close: Price | None = None
    """Close of the running candle; it equals the last price if both are current."""
    candles_ms: int | None = None
    """Time of the request for the hourly candles."""


def trend_of(hourly: Sequence[Candle], *, thresholds: Thresholds = DEFAULTS) -> Trend | TooFewBars:
    """Measure the last 200 closed hourly bars. Earlier bars only warm up the averages."""
    if len(hourly) < LEAST_BARS:
        return TooFewBars(len(hourly))
    values, recent = closes(hourly), hourly[-BARS:]
    moves = realised_volatility(closes(recent))
    return Trend(
        ema_fast=latest(ema(values, FAST)),
        ema_slow=latest(ema(values, SLOW)),
        ema_long=latest(ema(values, LONG)),
        vwap=latest(vwap(hourly)),
        rsi=latest(rsi(values, WILDER)),
        atr=latest(atr(hourly, WILDER)),
        volatility=moves,
        annual_volatility=None if moves.stdev is None else annualise(moves.stdev, 60),
        bias=find_bias(log_returns(values), edge=thresholds.bias_t),
        bars=len(recent),
        expected=(recent[-1].open_time_ms - recent[0].open_time_ms) // HOUR_MS + 1,
        to_ms=recent[-1].close_time_ms + 1,
        warming=_warming(len(hourly)),
    )


def _warming(bars: int) -> dict[str, float]:
    lengths = {"EMA20": ("ema", FAST), "EMA50": ("ema", SLOW), "EMA200": ("ema", LONG)}
    averages = lengths | {"RSI14": ("rsi", WILDER), "ATR14": ("atr", WILDER)}
    seeds = {label: INDICATORS[name].seeds({"n": n})[name] for label, (name, n) in averages.items()}
    return {
        label: seed.weight(bars) for label, seed in seeds.items() if bars >= seed.bar and seed.weight(bars) > SETTLED
    }


def judge(
    ticker: Ticker,
    rules: SymbolRules,
    *,
    hourly: Sequence[Candle] | None,
    day_bars: Sequence[Candle] | None,
    strategy: Strategy,
    risk: RiskTolerance,
    thresholds: Thresholds = DEFAULTS,
    is_stale: bool = False,
    noise: Noise | None = None,
) -> Outlook:
    """Judge a symbol by its ticker, its hourly bars and finer bars of the day. None means that a read failed.

    With `is_stale` the data are too old: they are measured, but not judged.
    """
    price, spread = ticker.last_price, ticker.ask - ticker.bid
    by_range = range_levels(
        price, ticker.high, ticker.low,
        strategy=strategy, risk=risk, tick=rules.tick, spread=spread, thresholds=thresholds,
    )  # fmt: skip
    by_range = placeable(by_range, rules, price)
    # Without recent trades there is no current price to compare with the old bars.
    bars = hourly if hourly is not None and ticker.has_traded else ()
    trend = trend_of(bars, thresholds=thresholds) if hourly is not None and ticker.has_traded else None
    measured = trend if isinstance(trend, Trend) else None
    profile = profile_of_candles(day_bars, rules.tick, thresholds=thresholds) if day_bars else None
    levels = by_atr = None
    if measured is not None:
        levels = support_and_resistance(
            bars[-LEVEL_BARS:], price, measured.atr, high_24h=ticker.high, low_24h=ticker.low,
            profile=profile, tick=rules.tick, thresholds=thresholds,
        )  # fmt: skip
        by_atr = atr_levels(
            price, measured.atr,
            support=levels.support.price if levels.support else None,
            resistance=levels.resistance.price if levels.resistance else None,
            tick=rules.tick, strategy=strategy, risk=risk, spread=spread, thresholds=thresholds,
        )  # fmt: skip
        by_atr = placeable(by_atr, rules, price)
    day = summarise_day(ticker, log_returns(closes(bars)), thresholds=thresholds)
    return Outlook(
        strategy=strategy,
        risk=risk,
        day=replace(day, momentum="stale", sentiment="unclear") if is_stale else day,
        by_range=by_range,
        buys=measured is None or offers_entry(strategy, measured.bias),
        trend=trend,
        profile=profile,
        levels=levels,
        by_atr=by_atr,
        risk_fraction=thresholds.risk_fraction[risk],
        is_stale=is_stale,
        noise=noise,
    )
