"""One symbol judged for one long trade: the day, the trend, the levels, and what two rules make of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.indicators.basic import atr, closes, ema, latest, rsi
from mcp_binance_server.analytics.indicators.talipp_adapter import vwap
from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles
from mcp_binance_server.analytics.market.volatility import RealisedVolatility, annualise, realised_volatility
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.analytics.trend.bias import Bias, DaySummary, find_bias, offers_entry, summarise_day
from mcp_binance_server.analytics.trend.levels import (
    NoLevels,
    NoPosition,
    PositionSize,
    TradeLevels,
    atr_levels,
    position_size,
    range_levels,
)
from mcp_binance_server.analytics.trend.support import SupportResistance, support_and_resistance
from mcp_binance_server.domain.market import MarketView, Ticker
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import SymbolRules

HOUR_MS = 3_600_000
# The bars a page speaks of; those before them only warm the averages up.
BARS = 200
LEAST_BARS = 15
FAST, SLOW, LONG, WILDER = 20, 50, 200, 14


@dataclass(frozen=True, slots=True)
class Trend:
    """What the hourly bars say; `expected` counts the bars a gapless series would have."""

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


@dataclass(frozen=True, slots=True)
class TooFewBars:
    """A listing so new that nothing can be said yet."""

    bars: int
    needed: int = LEAST_BARS


@dataclass(frozen=True, slots=True)
class Outlook:
    """The whole judgement; sections that miss their data are None."""

    strategy: Strategy
    risk: RiskTolerance
    day: DaySummary
    by_range: TradeLevels | NoLevels
    buys: bool
    trend: Trend | TooFewBars | None
    profile: VolumeProfile | None
    levels: SupportResistance | None
    by_atr: TradeLevels | NoLevels | None
    size: PositionSize | NoPosition | None
    risk_fraction: Decimal


@dataclass(frozen=True, slots=True)
class Equity:
    """The money a position size is counted from: the account's own, or a round figure to scale."""

    amount: Decimal
    is_own: bool


@dataclass(frozen=True, slots=True)
class TradingReport:
    """A judgement, the market it is about, and the parts that could not be had."""

    view: MarketView
    outlook: Outlook
    equity: Equity | None
    missing: tuple[str, ...]
    thresholds: Thresholds = DEFAULTS
    newest_close: Price | None = None
    """The close of the candle that is not over, which is the last price if both are of now."""


def trend_of(hourly: Sequence[Candle], ticker: Ticker, *, thresholds: Thresholds = DEFAULTS) -> Trend | TooFewBars:
    """Measure the last 200 closed hourly bars, with the averages warmed up by those before."""
    if len(hourly) < LEAST_BARS:
        return TooFewBars(len(hourly))
    values, recent = closes(hourly), hourly[-BARS:]
    fast, slow, strength = latest(ema(values, FAST)), latest(ema(values, SLOW)), latest(rsi(values, WILDER))
    moves = realised_volatility(closes(recent))
    return Trend(
        ema_fast=fast,
        ema_slow=slow,
        ema_long=latest(ema(values, LONG)),
        vwap=latest(vwap(hourly)),
        rsi=strength,
        atr=latest(atr(hourly, WILDER)),
        volatility=moves,
        annual_volatility=None if moves.stdev is None else annualise(moves.stdev, 60),
        bias=find_bias(
            float(ticker.last_price),
            fast,
            slow,
            rsi=strength,
            change_percent=float(ticker.change_percent),
            min_votes=thresholds.bias_min_votes,
        ),
        bars=len(recent),
        expected=(recent[-1].open_time_ms - recent[0].open_time_ms) // HOUR_MS + 1,
        to_ms=recent[-1].close_time_ms + 1,
    )


def judge(
    ticker: Ticker,
    rules: SymbolRules,
    *,
    hourly: Sequence[Candle] | None,
    day_bars: Sequence[Candle] | None,
    strategy: Strategy,
    risk: RiskTolerance,
    equity: Decimal | None,
    thresholds: Thresholds = DEFAULTS,
) -> Outlook:
    """Judge a symbol from its day, its hourly bars and the finer bars of the day; None is data nobody could get."""
    by_range = range_levels(
        ticker.last_price, ticker.high, ticker.low,
        strategy=strategy, risk=risk, tick=rules.tick, thresholds=thresholds,
    )  # fmt: skip
    # A market that did not trade has no price to hold against its old bars.
    trend = trend_of(hourly, ticker, thresholds=thresholds) if hourly is not None and ticker.has_traded else None
    measured = trend if isinstance(trend, Trend) else None
    profile = profile_of_candles(day_bars, rules.tick, thresholds=thresholds) if day_bars else None
    levels = by_atr = None
    if measured is not None and hourly is not None:
        levels = support_and_resistance(
            hourly[-BARS:], ticker.last_price, measured.atr, high_24h=ticker.high, low_24h=ticker.low,
            profile=profile, tick=rules.tick, thresholds=thresholds,
        )  # fmt: skip
        by_atr = atr_levels(
            ticker.last_price, measured.atr,
            support=levels.support.price if levels.support else None,
            resistance=levels.resistance.price if levels.resistance else None,
            tick=rules.tick, strategy=strategy, risk=risk, thresholds=thresholds,
        )  # fmt: skip
    return Outlook(
        strategy=strategy,
        risk=risk,
        day=summarise_day(
            ticker.last_price, ticker.high, ticker.low, ticker.change_percent, edge_percent=thresholds.momentum_percent
        ),
        by_range=by_range,
        buys=measured is None or offers_entry(strategy, measured.bias),
        trend=trend,
        profile=profile,
        levels=levels,
        by_atr=by_atr,
        size=_sized(by_range, rules, equity, thresholds.risk_fraction[risk]),
        risk_fraction=thresholds.risk_fraction[risk],
    )


def _sized(
    levels: TradeLevels | NoLevels, rules: SymbolRules, equity: Decimal | None, fraction: Decimal
) -> PositionSize | NoPosition | None:
    if equity is None or isinstance(levels, NoLevels):
        return None
    return position_size(equity, fraction, levels.entry, levels.stop, step=rules.step, min_notional=rules.min_notional)
