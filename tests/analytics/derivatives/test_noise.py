"""A market of pure chance: a contract lies beyond its own 95th percentile as often as the word says."""

from collections.abc import Iterator
from decimal import Decimal
from random import Random

import pytest

from analytics.perpetuals import NOW_MS, THIS_HOUR, interest_hours, open_interest, premium, rule, settled, share_hours
from analytics.samples import HOUR_MS, Number
from mcp_binance_server.analytics.derivatives.basis import mark_vs_index
from mcp_binance_server.analytics.derivatives.funding import funding_report
from mcp_binance_server.analytics.derivatives.interest import interest_report
from mcp_binance_server.analytics.derivatives.positioning import share_report
from mcp_binance_server.analytics.ranks import Percentile
from mcp_binance_server.domain.derivatives import BasisPoint

pytestmark = pytest.mark.flood

SEEDS = 50
CONTRACTS = 30
HOURS = 500


def chances() -> Iterator[Random]:
    return (Random(1_000 * seed + number) for seed in range(SEEDS) for number in range(CONTRACTS))


def share_above(ranks: list[Percentile], percent: float = 95) -> float:
    known = [rank.value for rank in ranks if rank.value is not None]
    assert len(known) == SEEDS * CONTRACTS
    return sum(value > percent for value in known) / len(known)


def walked(chance: Random, step: float) -> list[float]:
    level, levels = 1.0, list[float]()
    for _ in range(HOURS):
        level *= 1 + chance.gauss(0, step)
        levels.append(level)
    return levels


@pytest.mark.night
def test_changes_of_open_interest_are_beyond_their_95th_percentile_in_one_of_twenty() -> None:
    changes: list[Percentile] = []
    levels: list[Percentile] = []
    for chance in chances():
        rows: list[Number] = [f"{1e6 * each:.3f}" for each in walked(chance, 0.01)]
        got = interest_report(open_interest(), premium(), interest_hours(rows), NOW_MS)
        changes.append(got.change_24h_percentile)
        levels.append(got.percentile)

    assert 0.03 <= share_above(changes) <= 0.07
    # Why the level's own percentile says little: a walk is near its highest point far more often.
    assert share_above(levels) > 0.09


@pytest.mark.night
def test_changes_of_a_long_share_are_beyond_their_95th_percentile_in_one_of_twenty() -> None:
    ranks: list[Percentile] = []
    for chance in chances():
        rows: list[Number] = [f"{0.5 * each / (1 + 0.5 * each):.4f}" for each in walked(chance, 0.01)]
        ranks.append(share_report(share_hours(rows), NOW_MS).change_24h_percentile)

    assert 0.03 <= share_above(ranks) <= 0.07


@pytest.mark.night
def test_independent_funding_and_premiums_are_beyond_their_95th_percentile_in_one_of_twenty() -> None:
    funding: list[Percentile] = []
    basis: list[Percentile] = []
    hours = range(THIS_HOUR - 8 * 200, THIS_HOUR + 1, 8)
    for chance in chances():
        rates: list[Number] = [f"{chance.gauss(0.0001, 0.0001):.8f}" for _ in hours]
        funding.append(funding_report(premium(), rule(8), settled(hours, rates), NOW_MS).percentile)
        points = [
            BasisPoint((THIS_HOUR - back) * HOUR_MS, Decimal(f"{chance.gauss(0, 0.0004):.8f}")) for back in range(480)
        ]
        mark = f"{100 * (1 + chance.gauss(0, 0.0004)):.8f}"
        basis.append(mark_vs_index(premium(mark=mark, index=100), points, NOW_MS).percentile)

    assert 0.03 <= share_above(funding) <= 0.07
    assert 0.03 <= share_above(basis) <= 0.07
