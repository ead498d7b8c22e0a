"""Daily closes of several assets, brought to the days they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.envelope import Window
from mcp_binance_server.domain.candles import Candle
from mcp_binance_server.domain.money import Price

DAY_MS = 86_400_000

# The close of each day by the time the day opened.
History = Mapping[int, Price]


@dataclass(frozen=True, slots=True)
class AlignedReturns:
    """Simple daily returns of each asset on the same days; coverage is the share of the days between that they have."""

    returns: tuple[tuple[float, ...], ...]
    n: int
    coverage: float
    window: Window | None


def daily_closes(candles: Sequence[Candle], *, until_ms: int) -> dict[int, Price]:
    """Return the closes of days that had ended by then: today's candle has none yet."""
    return {each.open_time_ms: each.close for each in candles if each.close_time_ms <= until_ms}


def chained(first: History, second: History) -> dict[int, Price]:
    """Multiply two histories where a price comes by way of another asset."""
    return {day: Price(close * second[day]) for day, close in first.items() if day in second}


def inverted(history: History) -> dict[int, Price]:
    """Turn a history quoted the other way round."""
    return {day: Price(1 / close) for day, close in history.items()}


def ordered_closes(history: History) -> list[float]:
    """Return the closes, oldest first."""
    return [float(history[day]) for day in sorted(history)]


def align(histories: Sequence[History]) -> AlignedReturns:
    """Return each asset's change on every day that all have, and have the day before: no return spans a gap."""
    common = set(histories[0]).intersection(*histories[1:]) if histories else set[int]()
    days = sorted(day for day in common if day - DAY_MS in common)
    returns = tuple(
        tuple(float(history[day]) / float(history[day - DAY_MS]) - 1 for day in days) for history in histories
    )
    if not days:
        return AlignedReturns(returns, 0, 0.0, None)
    span = (max(common) - min(common)) // DAY_MS
    window = Window(min(common), max(common) + DAY_MS - 1)
    return AlignedReturns(returns, len(days), len(days) / span, window)
