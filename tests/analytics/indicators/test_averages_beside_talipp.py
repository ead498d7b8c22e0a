"""What we compute in floats is to the last digit what talipp gives, warm-up included."""

from random import Random
from typing import Any

import pytest

from mcp_binance_server.analytics.indicators.basic import bollinger, ema, macd, sma
from mcp_binance_server.analytics.indicators.talipp_adapter import column, library, wilder


def prices(draw: Random) -> list[float]:
    price, line = 10 ** draw.uniform(-6, 5), list[float]()
    for _ in range(draw.choice((0, 1, 19, 20, 21, 300))):
        price *= 1 + draw.gauss(0, 0.01)
        line.append(price if draw.random() < 0.9 or not line else line[-1])
    return line


@pytest.mark.parametrize("seed", range(30))
def test_averages_and_bands_are_those_of_the_library(seed: int) -> None:
    draw = Random(seed)
    values, n = prices(draw), draw.randint(1, 40)
    fast, slow, signal = draw.randint(1, 30), draw.randint(1, 60), draw.randint(1, 20)

    bands, distance = bollinger(values, n, 2.5), macd(values, fast, slow, signal)

    theirs: Any = library()
    bars, rows = theirs.BB(n, 2.5, values).output_values, theirs.MACD(fast, slow, signal, values).output_values
    assert sma(values, n) == list(theirs.SMA(n, values).output_values)
    assert ema(values, n) == list(theirs.EMA(n, values).output_values)
    assert wilder(values, n) == list(theirs.SMMA(n, values).output_values)
    assert (bands.lower, bands.middle, bands.upper) == (column(bars, "lb"), column(bars, "cb"), column(bars, "ub"))
    assert distance.macd == column(rows, "macd")
    assert distance.signal == column(rows, "signal")
    assert distance.histogram == column(rows, "histogram")
