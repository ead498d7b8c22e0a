"""Support, resistance and the ATR rule on the page of trading_analysis, worked out again from the raw candles.

Nothing here calls the production code: the rules are written a second time, plainly, in floats.
"""

import re
from itertools import pairwise
from typing import NamedTuple

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
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


class Level(NamedTuple):
    price: float
    known_from: int


def clusters(bars: list[Bar], more: list[float], reach: float, tick: float) -> list[Level]:
    """Return each level, and the bar from which on it was known."""
    never = len(bars)
    found = [Level(price, never) for price in more]
    for at in range(3, len(bars) - 3):
        around = bars[at - 3 : at] + bars[at + 1 : at + 4]
        found += [Level(bars[at].high, at + 4)] if all(bars[at].high > bar.high for bar in around) else []
        found += [Level(bars[at].low, at + 4)] if all(bars[at].low < bar.low for bar in around) else []
    last, low, high = bars[-1].close, min(bar.low for bar in bars), max(bar.high for bar in bars)
    steps = [digit * 10.0**place for place in range(-9, 9) for digit in (1, 2, 5)]
    beside = [max(each for each in steps if each <= last), min(each for each in steps if each > last)]
    found += [Level(each, 0) for each in beside if low - 4 * reach <= each <= high + 4 * reach]
    groups: list[list[Level]] = []
    for level in sorted(found):
        if groups and level.price - sum(each.price for each in groups[-1]) / len(groups[-1]) < reach:
            groups[-1].append(level)
        else:
            groups.append([level])
    return [
        Level(
            # Rounded twice: a half tick is one only without the last digits of floats.
            round(round(sum(each.price for each in group) / len(group) / tick, 6)) * tick,
            min(each.known_from for each in group),
        )
        for group in groups
    ]


def held(level: Level, bars: list[Bar], atr: float) -> tuple[int, int]:
    """Return how often the price was turned away, and how often it came."""
    outcomes: list[bool] = []
    far: int | None = None
    coming: int | None = None
    for bar in bars[level.known_from :]:
        above = bar.close - level.price
        if abs(above) >= atr:
            if coming is not None:
                outcomes.append((above > 0) == (coming > 0))
                coming, far = None, (1 if above > 0 else -1)
                continue
        elif coming is not None:
            continue
        if far is not None and bar.low - atr / 4 <= level.price <= bar.high + atr / 4:
            coming = far
        elif abs(above) >= atr:
            far = 1 if above > 0 else -1
    return sum(outcomes), len(outcomes)


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
        "trading_analysis", {"symbol": symbol, "strategy": strategy, "risk_tolerance": risk, "detail": "true"}
    )
    assert isinstance(result.messages[0].content, types.TextContent)
    lines = result.messages[0].content.text.split("\n")
    day = await raw(exchange, f"ticker/24hr?symbol={symbol}")
    price = float(day["lastPrice"])
    hourly = await closed(exchange, symbol, "1h", 1_000)

    ranges = [max(bar.high, before.close) - min(bar.low, before.close) for before, bar in pairwise(hourly)]
    atr = sum(ranges[:14]) / 14
    for each in ranges[14:]:
        atr = (atr * 13 + each) / 14
    area = value_area(await closed(exchange, symbol, "3m", 480), tick)
    levels = clusters(hourly, [float(day["highPrice"]), float(day["lowPrice"]), *area], 0.4 * atr, tick)
    support = next((each for each in reversed(levels) if price - each.price >= max(atr / 2, 3 * tick)), None)
    resistance = next((each for each in levels if each.price - price >= max(atr / 2, 3 * tick)), None)
    for name, level in (("| R1 |", resistance), ("| S1 |", support)):
        row = next((line for line in lines if line.startswith(name)), None)
        assert (row is None) is (level is None)
        if row is not None and level is not None:
            assert figures(row)[0] == pytest.approx(level.price, abs=2 * tick)
            turned, came = held(level, hourly, atr)
            said = re.search(r"held ([0-9]+) of ([0-9]+) tests \(a random level holds [0-9]+ % of the time", row)
            assert said is None or (int(said[1]), int(said[2])) == (turned, came)
    at_price = [each.price for each in levels if abs(each.price - price) < max(atr / 2, 3 * tick)]
    shown = [figures(line)[0] for line in lines if line.startswith("| At the price |")]
    table = [line for line in lines if re.match(r"\| (R1|S1|At the [a-z]+) \|", line)]
    assert len(table) <= 4
    assert all(any(abs(each - level) <= 2 * tick for level in at_price) for each in shown)
    assert support is not None
    low, high = (price - BANDS[strategy] * atr, price)
    if strategy != "aggressive":
        low, high = support.price, min(support.price + BANDS[strategy] * atr, price)
    stop, entry = low - STOPS[risk] * atr, (low + high) / 2
    target = entry + REWARDS[strategy] * (entry - stop)
    if resistance is not None and resistance.price >= target:
        target = resistance.price
    row = next(line for line in lines if line.startswith("| ATR |"))
    assert figures(row) == [pytest.approx(value, abs=2.1 * tick) for value in (low, high, stop, target)]
    odds = r"([0-9.]+) reward:risk; with no trend, the stop is hit before the target ([0-9]+) % of the time"
    ratio, chance = re.findall(odds, row)[0]
    assert float(ratio) == pytest.approx((target - entry) / (entry - stop), abs=0.03)
    assert float(chance) == pytest.approx(100 * (target - entry) / (target - stop), abs=1.1)
