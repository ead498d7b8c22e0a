"""Indicators as a caller writes them, "ema(50)" or "macd", computed on candles with a long warm-up."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_binance_server.domain.candles import Candle, Interval
from mcp_binance_server.domain.observations import MOST_CANDLES, Observation
from mcp_binance_server.errors import InvalidArguments, echo
from mcp_binance_server.services.market import MarketService

if TYPE_CHECKING:
    from mcp_binance_server.analytics.indicator_table import Indicator

# Recursive averages forget how they began only after many bars.
WARM_UP_BARS = 250
_WRITTEN = re.compile(r"([a-z]+) ?(?:\(([0-9., ]*)\)|([0-9]*))")
_ALIASES = {"bb": "bollinger", "bbands": "bollinger", "stoch": "stochastic"}


@dataclass(frozen=True, slots=True)
class AskedIndicator:
    """An entry of the indicator table and the numbers it was asked with."""

    indicator: "Indicator"
    arguments: Mapping[str, float]

    @property
    def label(self) -> str:
        numbers = ",".join(f"{value:g}" for value in self.arguments.values())
        return f"{self.indicator.name}({numbers})" if numbers else self.indicator.name

    @property
    def minimum_bars(self) -> int:
        return self.indicator.minimum_bars(self.arguments)

    def lines(self, candles: Sequence[Candle]) -> dict[str, list[float | None]]:
        """Return each line, as long as the candles, by the indicator's label and, if it has several, the line's."""
        found = self.indicator.compute(candles, self.arguments)
        return {self.label if len(found) == 1 else f"{self.label}.{name}": line for name, line in found.items()}


@dataclass(frozen=True, slots=True)
class IndicatorReading:
    """The last values of each line, the bars they stand on, and how many bars went into them."""

    interval: Interval
    bars_used: int
    first_open_ms: int | None
    bars: tuple[Candle, ...]
    lines: Mapping[str, tuple[float | None, ...]]


async def read_indicators(
    market: MarketService, text: str, interval: Interval, written: Sequence[str], last_n: int
) -> Observation[IndicatorReading]:
    """Compute the last values of the indicators a caller wrote, by one question to the exchange.

    Raises:
        InvalidArguments: an indicator is unknown, or its numbers are out of range.
    """
    asked = list({each.label: each for each in map(asked_indicator, written)}.values())
    needed = max(each.minimum_bars for each in asked) + last_n - 1
    seen = await market.candles(text, interval, min(MOST_CANDLES, needed + WARM_UP_BARS))
    candles = seen.value.candles
    lines = {name: tuple(line[-last_n:]) for each in asked for name, line in each.lines(candles).items()}
    first_open_ms = candles[0].open_time_ms if candles else None
    reading = IndicatorReading(interval, len(candles), first_open_ms, candles[-last_n:], lines)
    return Observation(reading, seen.rules, seen.host, seen.origin, seen.at_ms)


def asked_indicator(written: str) -> AskedIndicator:
    """Read one indicator; numbers that are left out have their defaults."""
    # Loaded late: the library behind it takes a tenth of a second, and only this tool needs it.
    from mcp_binance_server.analytics.indicator_table import INDICATORS  # noqa: PLC0415

    match = _WRITTEN.fullmatch(" ".join(written.lower().split()))
    name = _ALIASES.get(match[1], match[1]) if match else ""
    indicator = INDICATORS.get(name)
    if match is None or indicator is None:
        known = ", ".join(_usage(each) for each in INDICATORS.values())
        raise _refused(f"'{echo(written)}' is no indicator; there are {known}")
    numbers = _numbers(match[2] or match[3] or "", indicator)
    return AskedIndicator(indicator, {**indicator.defaults, **numbers})


def _numbers(text: str, indicator: "Indicator") -> dict[str, float]:
    given = [each.strip() for each in text.split(",")] if text.strip() else []
    if len(given) > len(indicator.parameters):
        raise _refused(f"{indicator.name} takes {_usage(indicator)}")
    numbers: dict[str, float] = {}
    for parameter, each in zip(indicator.parameters, given, strict=False):
        is_number = re.fullmatch(r"[0-9]{1,6}" if parameter.whole else r"[0-9]{1,6}(\.[0-9]{1,6})?", each)
        if is_number is None or not parameter.low <= float(each) <= parameter.high:
            kind = "a whole number" if parameter.whole else "a number"
            raise _refused(f"{indicator.name}: {parameter.name} is {kind} from {parameter.low:g} to {parameter.high:g}")
        numbers[parameter.name] = float(each)
    return numbers


def _usage(indicator: "Indicator") -> str:
    usual = ",".join(f"{each.default:g}" for each in indicator.parameters)
    return f"{indicator.name}({usual})" if usual else indicator.name


def _refused(problem: str) -> InvalidArguments:
    return InvalidArguments(
        summary=f"Invalid indicator: {problem}", errors=({"argument": "indicators", "problem": problem},)
    )
