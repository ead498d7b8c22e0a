"""How often noise reached a stop on real hours, beside how often the rule says so."""

from math import exp

import pytest

from mcp_binance_server.analytics.confidence import wilson
from mcp_binance_server.analytics.liquidity.stops import chance_of_touch, noise_of
from mcp_binance_server.domain.periods import DAY_MS
from support.fixtures import MARKET_HISTORY, needs
from support.history import hours_of

HOURS = 1_000
DAY = 24


@needs(MARKET_HISTORY)
@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("symbol", ["BTCUSDT", "ETHUSDT"])
def test_a_stop_two_usual_moves_away_is_reached_as_often_as_its_chance_says(symbol: str) -> None:
    hours = hours_of(symbol)
    said, reached = list[float](), 0
    for at in range(HOURS, len(hours) - DAY, DAY):
        past = hours[at - HOURS : at]
        noise = noise_of(past[-DAY:], past)
        assert noise is not None
        distance = 2 * noise.day
        said.append(noise.chance(distance, DAY_MS))
        reached += float(min(each.low for each in hours[at : at + DAY])) <= float(past[-1].close) * exp(-distance)

    seen = wilson(reached, len(said))
    assert seen is not None
    assert len(said) > 1_000
    mean = sum(said) / len(said)
    assert seen.low <= mean <= seen.high, (mean, seen)
    assert chance_of_touch(2, 1) < seen.low
