"""How often the bootstrap ranges of VaR and ES hold the true values of simulated markets."""

from collections.abc import Callable
from math import sqrt
from random import Random

import pytest

from mcp_binance_server.analytics.portfolio.tail import ES_COVERAGE, VAR_COVERAGE, tail_range

DAYS = 89
DAILY = 0.03
BURN_IN = 200
# GARCH(1,1): weight of the last move and of the last variance; VaR and ES of 400,000 days.
MARKETS = ((0.08, 0.90, 0.0415, 0.0690), (0.15, 0.80, 0.0406, 0.0682))


def garch(chance: Random, days: int, alpha: float, beta: float) -> list[float]:
    """Return daily returns with t(4) shocks of variance one."""
    variance = DAILY * DAILY
    moves: list[float] = []
    for _ in range(days + BURN_IN):
        shock = chance.gauss(0, 1) / sqrt(chance.gammavariate(2, 0.5)) / sqrt(2)
        moves.append(sqrt(variance) * shock)
        variance = (1 - alpha - beta) * DAILY * DAILY + alpha * moves[-1] ** 2 + beta * variance
    return moves[BURN_IN:]


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta", "var", "es"), MARKETS)
def test_a_range_holds_the_truth_as_often_as_the_page_says(
    alpha: float, beta: float, var: float, es: float, sized: Callable[[int, int], int]
) -> None:
    markets = sized(1000, 40)
    chance = Random(7)

    ranges = [tail_range(garch(chance, DAYS, alpha, beta)) for _ in range(markets)]

    held_var = sum(each.var_low <= var <= each.var_high for each in ranges) / markets
    held_es = sum(each.es_low <= es <= each.es_high for each in ranges) / markets
    doubt = 3 * sqrt(0.25 / markets)
    assert VAR_COVERAGE[0] - doubt <= held_var <= VAR_COVERAGE[1] + doubt
    assert ES_COVERAGE[0] - doubt <= held_es <= ES_COVERAGE[1] + doubt
