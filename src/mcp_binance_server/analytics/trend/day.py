"""Words for the last 24 hours. They need a move beyond a usual day and beyond the noise of the day itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Literal

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.trend.bias import WEEK_HOURS, self_normalised
from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.money import Price

Momentum = Literal["positive", "negative", "little", "not_judged", "stale"]
Sentiment = Literal["bullish", "bearish", "unclear"]
Yardstick = Literal["usual_day", "own_noise"]

DAY_HOURS = 24
# The three weeks before the day define a usual day. Market conditions before that were different.
USUAL_HOURS = 21 * DAY_HOURS
MIDDLE = 0.5


@dataclass(frozen=True, slots=True)
class DaySummary:
    """Words for the last 24 hours. `position` is 0 at the low and 1 at the high.

    `strength` is the move relative to a usual day or to the noise of this day, whichever gives less.
    """

    momentum: Momentum
    position: float | None
    sentiment: Sentiment
    strength: float | None = None
    against: Yardstick | None = None


def position_in_range(price: Price, high: Price, low: Price) -> float | None:
    """Return the position of the price between low and high, from 0 to 1. Return None without a range."""
    return float((price - low) / (high - low)) if high > low else None


def summarise_day(ticker: Ticker, hourly_returns: Sequence[float], *, thresholds: Thresholds = DEFAULTS) -> DaySummary:
    """Choose the words for the day. With less than a week of hourly bars the day is not judged."""
    position = position_in_range(ticker.last_price, ticker.high, ticker.low)
    if len(hourly_returns) < WEEK_HOURS or not ticker.open_price or not ticker.last_price:
        return DaySummary("not_judged", position, "unclear")
    move = log(ticker.last_price / ticker.open_price)
    strength, against = _strength(move, hourly_returns)
    if strength < thresholds.momentum_sigmas:
        return DaySummary("little", position, "unclear", strength, against)
    momentum: Momentum = "positive" if move > 0 else "negative"
    sentiment: Sentiment = "unclear"
    if strength >= thresholds.sentiment_sigmas and position is not None:
        if move > 0 and position >= MIDDLE:
            sentiment = "bullish"
        elif move < 0 and position <= MIDDLE:
            sentiment = "bearish"
    return DaySummary(momentum, position, sentiment, strength, against)


def _strength(move: float, hourly_returns: Sequence[float]) -> tuple[float, Yardstick]:
    day, before = hourly_returns[-DAY_HOURS:], hourly_returns[-DAY_HOURS - USUAL_HOURS : -DAY_HOURS]
    usual = sqrt(sum(each * each for each in before) / len(before) * DAY_HOURS)
    by_usual = move / usual if usual else inf * move if move else 0.0
    by_noise = self_normalised(day)
    if by_usual * by_noise <= 0:  # the ticker and the closed bars have opposite directions
        return 0.0, "own_noise"
    return min((abs(by_usual), "usual_day"), (abs(by_noise), "own_noise"))
