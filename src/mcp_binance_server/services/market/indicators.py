"""Indicators of a symbol, computed from as many candles as they need."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.analytics.indicators.basic import obv
from mcp_binance_server.analytics.indicators.table import INDICATORS, Indicator, IndicatorReading
from mcp_binance_server.analytics.indicators.talipp_adapter import (
    ANCHORS,
    CLOSED_BARS,
    ONE_REQUEST,
    Anchor,
    anchor_of,
    span_of,
    usual_anchor,
    vwap,
    window,
)
from mcp_binance_server.domain.market import MOST_CANDLES, CandleSeries, Observation
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import InvalidArguments, echo
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.market.service import MarketService

# Three requests. They reach back two days in 1-minute bars, and a year in 4-hour bars.
MOST_OLDER_BARS: Final = 3000
_WRITTEN = re.compile(r"([a-z]+) ?(?:\(([a-z0-9., ]*)\)|([0-9]*))")
_ALIASES = {"bb": "bollinger", "bbands": "bollinger", "stoch": "stochastic"}


async def candles_before(
    client: SpotClient, symbol: Symbol, interval: Interval, missing: int, *, until_ms: int | None
) -> tuple[Candle, ...]:
    """Return `missing` candles that opened until a moment, oldest first. A younger market has fewer."""
    candles: tuple[Candle, ...] = ()
    while missing > 0:
        asked = min(missing, MOST_CANDLES)
        page = (await client.candles(symbol, interval, asked, until_ms=until_ms)).value
        candles = (*page, *candles)
        if len(page) < asked:
            break
        missing, until_ms = missing - asked, candles[0].open_time_ms - 1
    return candles


@dataclass(frozen=True, slots=True)
class AskedIndicator:
    """A requested indicator with its arguments. The indicator restarts with each `anchor`, such as each day."""

    indicator: Indicator
    arguments: Mapping[str, float]
    anchor: Anchor | None = None

    @property
    def label(self) -> str:
        numbers = ",".join(f"{value:g}" for value in self.arguments.values())
        told = numbers or self.anchor
        return f"{self.indicator.name}({told})" if told else self.indicator.name

    def lines(self, candles: Sequence[Candle], shown: int) -> dict[str, list[float | None]]:
        """Return each line by name, as long as the candles.

        The name is the indicator's label. If there are several lines, the line's own name is added.
        """
        if self.indicator.anchored and candles:
            anchor = self.anchor or usual_anchor(span_of(candles[-1]))
            return {f"{self.indicator.name}({anchor})": vwap(candles, anchor)}
        if self.indicator.running:
            first = 0 if self.anchor else len(candles) - shown
            return {self.label: obv(candles, first=first, anchor=self.anchor)}
        return {self._named(name): line for name, line in self.indicator.compute(candles, self.arguments).items()}

    def seed_weights(self, bars: Sequence[int]) -> dict[str, tuple[float, ...]]:
        """Return the remaining weight of each line's seed value at these bars. Bars are counted from one."""
        seeds = self.indicator.seeds(self.arguments)
        return {self._named(name): tuple(map(seed.weight, bars)) for name, seed in seeds.items()}

    @property
    def reaches_back(self) -> bool:
        """Whether the indicator starts at an anchor. The anchor can be before the window."""
        return self.indicator.anchored or self.anchor is not None

    def _named(self, line: str) -> str:
        return self.label if len(self.indicator.lines) == 1 else f"{self.label}.{line}"


async def read_indicators(
    market: MarketService, text: str, interval: Interval, written: Sequence[str], last_n: int
) -> Observation[IndicatorReading]:
    """Compute the last values of indicators in a caller's spelling.

    A value does not depend on the other requested indicators.

    Raises:
        InvalidArguments: an indicator is unknown, its numbers are out of range, or its anchor is too far away.
    """
    asked = list({each.label: each for each in map(asked_indicator, written)}.values())
    seen = await market.candles(text, interval, ONE_REQUEST)
    candles = window(seen.value.candles, seen.at_ms)
    shown = tuple(candles[-last_n:])
    lines: dict[str, tuple[float | None, ...]] = {}
    weights: dict[str, tuple[float, ...]] = {}
    for each in asked:
        await market.client.pace.step()  # ten indicators in a row would block other requests for too long
        bars = await _since_anchor(market, seen, candles, shown, each) if each.reaches_back else candles
        lines |= {name: tuple(line[len(line) - len(shown) :]) for name, line in each.lines(bars, len(shown)).items()}
        weights |= each.seed_weights(range(len(candles) - len(shown) + 1, len(candles) + 1))
    first_open_ms = candles[0].open_time_ms if candles else None
    reading = IndicatorReading(interval, len(candles), first_open_ms, shown, lines, weights)
    return Observation(reading, seen.rules, seen.host, seen.origin, seen.at_ms)


async def _since_anchor(
    market: MarketService,
    seen: Observation[CandleSeries],
    candles: Sequence[Candle],
    shown: Sequence[Candle],
    asked: AskedIndicator,
) -> Sequence[Candle]:
    if not shown or len(candles) < CLOSED_BARS:
        return candles
    first = candles[0]
    missing = -((anchor_of(shown[0], asked.anchor) - first.open_time_ms) // span_of(first))
    if missing > MOST_OLDER_BARS:
        name = asked.anchor or usual_anchor(span_of(first))
        # A ratio of two volumes is equal on every interval. A sum of signed volumes is not.
        same = ": the value is the same there" if asked.indicator.anchored else ""
        raise _refused(
            f"{asked.indicator.name}({name}) needs {missing:,} older bars of {seen.value.interval}; "
            f"use a longer interval{same}"
        )
    older = await candles_before(
        market.client, seen.rules.symbol, seen.value.interval, missing, until_ms=first.open_time_ms - 1
    )
    return (*older, *candles)


def asked_indicator(written: str) -> AskedIndicator:
    """Parse one indicator. Missing numbers get their defaults."""
    match = _WRITTEN.fullmatch(" ".join(written.lower().split()))
    name = _ALIASES.get(match[1], match[1]) if match else ""
    indicator = INDICATORS.get(name)
    if match is None or indicator is None:
        known = ", ".join(_usage(each) for each in INDICATORS.values())
        raise _refused(f"'{echo(written)}' is not an indicator; available: {known}")
    inside = (match[2] or match[3] or "").strip()
    if indicator.anchored or indicator.running:
        return AskedIndicator(indicator, {}, _anchor(inside, indicator))
    return AskedIndicator(indicator, {**indicator.defaults, **_numbers(inside, indicator)})


def _anchor(text: str, indicator: Indicator) -> Anchor | None:
    if not text:
        return None
    for named in ANCHORS:
        if named == text:
            return named
    raise _refused(f"{indicator.name} takes {_usage(indicator)}")


def _numbers(text: str, indicator: Indicator) -> dict[str, float]:
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


def _usage(indicator: Indicator) -> str:
    if indicator.anchored or indicator.running:
        return f"{indicator.name} or {indicator.name}({'|'.join(ANCHORS)})"
    usual = ",".join(f"{each.default:g}" for each in indicator.parameters)
    return f"{indicator.name}({usual})" if usual else indicator.name


def _refused(problem: str) -> InvalidArguments:
    return InvalidArguments(
        summary=f"Invalid indicator: {problem}", errors=({"argument": "indicators", "problem": problem},)
    )
