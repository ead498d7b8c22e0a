"""Support, resistance and the ATR rule on the page of trading_analysis, worked out again from the raw candles.

Nothing here calls the production code: the rules are written a second time, plainly, in floats.
"""

import re
from itertools import pairwise
from typing import NamedTuple

import pytest
from mcp import Client, types

from mcp_binance_server.simulator.exchange import SimulatedExchange
from support.desk import raw

BANDS = {"aggressive": 0.25, "balanced": 0.5, "conservative": 0.25}
STOPS = {"low": 1.0, "medium": 1.5, "high": 2.5}
REWARDS = {"aggressive": 1.5, "balanced": 2.0, "conservative": 2.5}


class Bar(NamedTuple):
    at: int
    high: float
    low: float
    close: float
    volume: float


async def closed(exchange: SimulatedExchange, symbol: str, interval: str, limit: int) -> list[Bar]:
    rows = await raw(exchange, f"klines?symbol={symbol}&interval={interval}&limit={limit}")
    return [
        Bar(row[0], float(row[2]), float(row[3]), float(row[4]), float(row[5]))
        for row in rows
        if row[6] < exchange.now_ms()
    ]


def value_area(bars: list[Bar], tick: float) -> tuple[float, float, float]:
    low, high = (round(value / tick) for value in (min(b.low for b in bars), max(b.high for b in bars)))
    width = max(1, round((high - low) / 50))
    bins = [0.0] * (high // width - low // width + 1)
    for bar in bars:
        first, last = round(bar.low / tick), round(bar.high / tick)
        for place in range(first // width, last // width + 1):
            ticks = min(last, (place + 1) * width - 1) - max(first, place * width) + 1
            bins[place - low // width] += bar.volume * ticks / (last - first + 1)
    poc = bins.index(max(bins))
    start = end = poc
    while sum(bins[start : end + 1]) < 0.7 * sum(bins):
        above = bins[end + 1] if end + 1 < len(bins) else -1.0
        below = bins[start - 1] if start else -1.0
        start, end = (start, end + 1) if above >= below else (start - 1, end)
    edge = low // width * width
    return (
        (edge + poc * width + (width - 1) // 2) * tick,
        (edge + (end + 1) * width) * tick,
        (edge + start * width) * tick,
    )


def clusters(bars: list[Bar], more: list[float], reach: float, tick: float) -> list[tuple[float, int]]:
    """Return price and strength of each level."""
    found: list[tuple[float, int | None]] = [(price, None) for price in more]
    for at in range(3, len(bars) - 3):
        around = bars[at - 3 : at] + bars[at + 1 : at + 4]
        found += [(bars[at].high, bars[at].at)] if all(bars[at].high > bar.high for bar in around) else []
        found += [(bars[at].low, bars[at].at)] if all(bars[at].low < bar.low for bar in around) else []
    groups: list[list[tuple[float, int | None]]] = []
    for price, at in sorted(found, key=lambda each: each[0]):
        if groups and price - sum(p for p, _ in groups[-1]) / len(groups[-1]) < reach:
            groups[-1].append((price, at))
        else:
            groups.append([(price, at)])
    levels: list[tuple[float, int]] = []
    for group in groups:
        price = round(sum(p for p, _ in group) / len(group) / tick) * tick
        own = {at for _, at in group}
        touches = sum(b.at not in own and min(abs(b.high - price), abs(b.low - price)) <= reach for b in bars)
        levels.append((price, len(group) + touches))
    return levels


def next_level(levels: list[tuple[float, int]]) -> tuple[float, int] | None:
    return next((each for each in levels if each[1] >= 2), levels[0] if levels else None)


def figures(text: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(r"\$([0-9,.]+[0-9])", text)]


@pytest.mark.parametrize(
    ("symbol", "strategy", "risk"),
    [
        ("BTCUSDT", "balanced", "medium"),
        ("SOLUSDT", "aggressive", "high"),
        ("DOGEUSDT", "conservative", "low"),
        ("LINKUSDT", "balanced", "low"),
    ],
)
async def test_levels_are_those_the_rules_give_for_the_raw_candles(
    client: Client, exchange: SimulatedExchange, symbol: str, strategy: str, risk: str
) -> None:
    tick = 0.00001 if symbol == "DOGEUSDT" else 0.01
    result = await client.get_prompt(
        "trading_analysis", {"symbol": symbol, "strategy": strategy, "risk_tolerance": risk}
    )
    assert isinstance(result.messages[0].content, types.TextContent)
    lines = result.messages[0].content.text.split("\n")
    day = await raw(exchange, f"ticker/24hr?symbol={symbol}")
    price = float(day["lastPrice"])
    hourly = await closed(exchange, symbol, "1h", 500)

    ranges = [max(bar.high, before.close) - min(bar.low, before.close) for before, bar in pairwise(hourly)]
    atr = sum(ranges[:14]) / 14
    for each in ranges[14:]:
        atr = (atr * 13 + each) / 14
    area = value_area(await closed(exchange, symbol, "3m", 480), tick)
    levels = clusters(hourly[-200:], [float(day["highPrice"]), float(day["lowPrice"]), *area], atr / 4, tick)
    support = next_level([each for each in reversed(levels) if each[0] < price])
    resistance = next_level([each for each in levels if each[0] > price])
    for name, level in (("| R1 |", resistance), ("| S1 |", support)):
        row = next((line for line in lines if line.startswith(name)), None)
        assert (row is None) is (level is None)
        if row is not None and level is not None:
            assert figures(row)[0] == pytest.approx(level[0], abs=2 * tick)
            assert int(row.rstrip("| ").rpartition("| ")[2]) == level[1]
    assert support is not None
    low, high = (price - BANDS[strategy] * atr, price)
    if strategy != "aggressive":
        low, high = support[0], min(support[0] + BANDS[strategy] * atr, price)
    stop, entry = low - STOPS[risk] * atr, (low + high) / 2
    target = entry + REWARDS[strategy] * (entry - stop)
    if resistance is not None and resistance[0] >= target:
        target = resistance[0]
    row = next(line for line in lines if line.startswith("| ATR |"))
    assert figures(row) == [pytest.approx(value, abs=2.1 * tick) for value in (low, high, stop, target)]
    ratio = float(row.rstrip("| ").rpartition("| ")[2])
    assert ratio == pytest.approx((target - entry) / (entry - stop), abs=0.03)
