"""The figures of the live analyses computed again, by other code, from what the exchange answers."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from binance_simulator.exchange import SimulatedExchange
from support.desk import raw


@dataclass(frozen=True, slots=True)
class Flow:
    """What takers did in a window."""

    bought: Decimal
    sold: Decimal
    vwap: float
    trades: int
    ratio: float
    low: float
    high: float


async def seconds_of(exchange: SimulatedExchange, symbol: str, from_ms: int, to_ms: int) -> list[list[Any]]:
    """Return the raw one-second candles of a window."""
    span = f"startTime={from_ms}&endTime={to_ms - 1}&limit=1000"
    return await raw(exchange, f"klines?symbol={symbol}&interval=1s&{span}")


async def trades_of(exchange: SimulatedExchange, symbol: str, from_ms: int, to_ms: int) -> list[dict[str, Any]]:
    """Return the raw aggregate trades of a window."""
    found: list[dict[str, Any]] = []
    query = f"startTime={from_ms}&endTime={to_ms - 1}"
    while batch := await raw(exchange, f"aggTrades?symbol={symbol}&limit=1000&{query}"):
        found += [each for each in batch if each["T"] < to_ms]
        if batch[-1]["T"] >= to_ms or len(batch) < 1000:
            break
        query = f"fromId={batch[-1]['a'] + 1}"
    return found


def flow_of(rows: Sequence[Sequence[Any]]) -> Flow:
    """Add up raw candles, and bound the buyers' share by drawing its seconds anew, with another generator."""
    volume = sum((Decimal(row[5]) for row in rows), Decimal(0))
    bought = sum((Decimal(row[9]) for row in rows), Decimal(0))
    parts = [(float(row[9]), float(row[5])) for row in rows if float(row[5])]
    generator = random.Random(1)
    drawn = [generator.choices(parts, k=len(parts)) for _ in range(2000)]
    ratios = sorted(sum(each[0] for each in draw) / sum(each[1] for each in draw) for draw in drawn)
    return Flow(
        bought,
        volume - bought,
        sum(float(row[7]) for row in rows) / float(volume),
        sum(row[8] for row in rows),
        float(bought / volume),
        ratios[50],
        ratios[-51],
    )


def order_flow_imbalance(quotes: Sequence[dict[str, Any]]) -> float:
    """Add up what each change of the best quotes put on the bid and took off the ask."""
    total = 0.0
    for before, after in pairwise(quotes):
        bid, ask = float(after["b"]), float(after["a"])
        old_bid, old_ask = float(before["b"]), float(before["a"])
        more_bid = float(after["B"]) * (bid >= old_bid) - float(before["B"]) * (bid <= old_bid)
        more_ask = float(after["A"]) * (ask <= old_ask) - float(before["A"]) * (ask >= old_ask)
        total += more_bid - more_ask
    return total


def thin_bins(trades: Sequence[dict[str, Any]], tick: Decimal) -> tuple[list[Decimal], list[Decimal]]:
    """Put raw aggregate trades into a fiftieth of their range each; return the low edges and the volumes."""
    prices = [Decimal(each["p"]) for each in trades]
    width = max(1, round((max(prices) - min(prices)) / tick / 50)) * tick
    first = int(min(prices) / width)
    volumes = [Decimal(0)] * (int(max(prices) / width) - first + 1)
    for trade, price in zip(trades, prices, strict=True):
        volumes[int(price / width) - first] += Decimal(trade["q"])
    return [(first + at) * width for at in range(len(volumes))], volumes


def middle_of(values: Sequence[Decimal]) -> Decimal:
    """Return the median."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def cost_bps(levels: Sequence[Sequence[str]], notional: float, mid: float) -> float | None:
    """Return what taking a sum costs against the mid; None when the levels do not hold it."""
    left, bought = notional, 0.0
    for price, quantity in levels:
        taken = min(left, float(price) * float(quantity))
        bought += taken / float(price)
        left -= taken
        if left <= notional * 1e-12:
            return abs(notional / bought - mid) / mid * 10_000
    return None
